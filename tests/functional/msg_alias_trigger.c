/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An alias with FI_TRIGGER among its default flags: its calls without flags wait for the counter in
 * their context, and its calls with flags do so if they say it; those of the endpoint do not wait.
 */
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include "steps.h"

enum { LEN = 64, CALLS = 7 };

static struct fi_triggered_context contexts[CALLS];

static struct fi_triggered_context *when(struct end *end, int i)
{
	contexts[i] = (struct fi_triggered_context){
		.event_type = FI_TRIGGER_THRESHOLD,
		.trigger.threshold = { end->cntr[CNTR_RECV], (uint64_t)i + 1 },
	};
	return &contexts[i];
}

static void post_by(struct end *end, struct fid_ep *alias)
{
	static uint64_t one = 1, expected = 1, two = 2, fetched[2];
	uint64_t addr = end->peer.addr, key = end->peer.key;
	struct iovec iov = { end->buf, LEN };
	struct fi_msg msg = { .msg_iov = &iov, .desc = &end->desc, .iov_count = 1 };
	void *results = end->buf + 3072;

	memset(fetched, 0, sizeof(fetched));
	OK(fi_send(alias, end->buf, LEN, end->desc, 0, when(end, 0)));
	msg.context = when(end, 1);
	OK(fi_sendmsg(alias, &msg, FI_TRIGGER));
	OK(fi_write(alias, end->buf, LEN, end->desc, 0, addr + 1024, key, when(end, 2)));
	OK(fi_atomic(alias, &one, 1, NULL, 0, addr + 2048, key, FI_UINT64, FI_SUM, when(end, 3)));
	OK(fi_compare_atomic(alias, &two, 1, NULL, &expected, NULL, results, end->desc, 0,
			     addr + 2048, key, FI_UINT64, FI_CSWAP, when(end, 4)));
	OK(fi_fetch_atomic(alias, &one, 1, NULL, results, end->desc, 0, addr + 2048, key, FI_UINT64,
			   FI_SUM, when(end, 5)));
	OK(fi_read(alias, end->buf + 3584, LEN, end->desc, 0, addr + 1024, key, when(end, 6)));
}

static void test(struct pair *pair)
{
	struct part part = { .len = 0 };
	struct end *end = &pair->client;
	struct fid_ep *alias = NULL;
	uint64_t flags = FI_TRANSMIT;
	int i;

	OK(fi_ep_alias(end->ep, &alias, FI_TRANSMIT | FI_TRIGGER));
	OK(fi_control(&alias->fid, FI_GETOPSFLAG, &flags));
	EQUAL(flags, FI_TRIGGER);
	for (i = 0; i < 3; i++)
		at(&pair->server, post_recv, &(struct part){ .len = LEN, .context = 1 },
		   sizeof(part));
	fill(end->buf, LEN, 5);
	RETURNS(fi_send(alias, end->buf, LEN, end->desc, 0, NULL), -FI_EINVAL);
	post_by(end, alias);
	no_comp(end->cq, 20);
	/* The endpoint itself does not wait. */
	OK(fi_send(end->ep, end->buf, LEN, end->desc, 0, end));
	wait_context(end->cq, end);
	no_comp(end->cq, 20);
	for (i = 0; i < CALLS; i++) {
		OK(fi_cntr_add(end->cntr[CNTR_RECV], 1));
		fi_cntr_read(end->cntr[CNTR_RECV]);
		wait_context(end->cq, &contexts[i]);
	}
	CHECK_FILLED(end->buf + 3584, LEN, 5);
	/* Without FI_TRIGGER its calls are those of the endpoint again. */
	flags = FI_TRANSMIT;
	OK(fi_control(&alias->fid, FI_SETOPSFLAG, &flags));
	OK(fi_write(alias, end->buf, LEN, end->desc, 0, end->peer.addr + 1024, end->peer.key, end));
	wait_context(end->cq, end);
	OK(fi_close(&alias->fid));
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_TRIGGER,
		.cntrs = FI_SEND | FI_RECV,
		.cntr_obj = FI_WAIT_UNSPEC,
	};

	return run_pair(argc, argv, &setup, test);
}
