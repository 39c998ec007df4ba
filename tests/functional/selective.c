/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_SELECTIVE_COMPLETION: only operations with FI_COMPLETION give an entry, at both ends and for
 * each kind of operation; errors are reported anyway, including those of fi_inject.
 */
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "steps.h"

static ssize_t send_flags(struct end *end, void *context, uint64_t flags)
{
	struct iovec iov = { end->buf, 8 };
	struct fi_msg msg = {
		.msg_iov = &iov, .desc = &end->desc, .iov_count = 1, .context = context
	};

	return fi_sendmsg(end->ep, &msg, flags);
}

static void step_recv(struct end *end, void *arg)
{
	uint64_t flags = *(uint64_t *)arg;
	struct iovec iov = { end->buf, 8 };
	struct fi_msg msg = { .msg_iov = &iov,
			      .desc = &end->desc,
			      .iov_count = 1,
			      .context = (void *)(uintptr_t)(flags ? 1 : 2) };

	OK(fi_recvmsg(end->ep, &msg, flags));
}

static void silent_ones(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t addr = end->peer.addr, key = end->peer.key, silent = 0, loud = FI_COMPLETION;
	struct fi_cq_tagged_entry entry;
	int i;

	for (i = 0; i < 4; i++)
		at(&pair->server, step_recv, &silent, sizeof(silent));
	at(&pair->server, step_recv, &loud, sizeof(loud));

	OK(fi_send(end->ep, end->buf, 8, end->desc, 0, end));
	OK(send_flags(end, end, 0));
	OK(fi_inject(end->ep, end->buf, 8, 0));
	OK(fi_senddata(end->ep, end->buf, 8, end->desc, 1, 0, end));
	OK(fi_write(end->ep, end->buf, 8, end->desc, 0, addr, key, end));
	OK(fi_read(end->ep, end->buf, 8, end->desc, 0, addr, key, end));
	OK(fi_inject_write(end->ep, end->buf, 8, 0, addr, key));
	OK(fi_atomic(end->ep, end->buf, 1, end->desc, 0, addr, key, FI_UINT64, FI_SUM, end));
	OK(send_flags(end, pair, FI_COMPLETION));

	wait_context(end->cq, pair);
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.op_context, 1);
	no_comp(end->cq, 10);
	EQUAL(fi_tx_size_left(end->ep), end->info->tx_attr->size);
}

/* With FI_COMPLETION among the endpoint's own flags, calls without flags give an entry. */
static void by_default_flags(struct pair *pair)
{
	uint64_t flags = FI_TRANSMIT | FI_COMPLETION, loud = FI_COMPLETION, found = FI_TRANSMIT;
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entry;

	at(&pair->server, step_recv, &loud, sizeof(loud));
	OK(fi_control(&end->ep->fid, FI_SETOPSFLAG, &flags));
	OK(fi_control(&end->ep->fid, FI_GETOPSFLAG, &found));
	EQUAL(found & FI_COMPLETION, FI_COMPLETION);
	OK(fi_send(end->ep, end->buf, 8, end->desc, 0, pair));
	wait_context(end->cq, pair);
	at(&pair->server, next_recv, &entry, sizeof(entry));
	flags = FI_TRANSMIT;
	OK(fi_control(&end->ep->fid, FI_SETOPSFLAG, &flags));
}

static void error_of_silent(struct pair *pair, bool inject)
{
	struct end *end = &pair->client;
	struct fi_cq_err_entry error;

	pair_open(pair);
	if (inject)
		OK(fi_inject_write(end->ep, end->buf, 8, 0, end->peer.addr, 0x12345678));
	else
		OK(fi_write(end->ep, end->buf, 8, end->desc, 0, end->peer.addr, 0x12345678, end));
	wait_error(end->cq, &error);
	EQUAL(error.err, FI_EKEYREJECTED);
	EQUAL(error.op_context, inject ? NULL : end);
	EQUAL(error.flags & (FI_RMA | FI_WRITE), FI_RMA | FI_WRITE);
	pair_close(pair);
}

static void test(struct pair *pair)
{
	pair_open(pair);
	silent_ones(pair);
	by_default_flags(pair);
	silent_ones(pair);
	pair_close(pair);
	error_of_silent(pair, false);
	error_of_silent(pair, true);
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.tx_bind = FI_SELECTIVE_COMPLETION,
		.rx_bind = FI_SELECTIVE_COMPLETION,
	};

	return run_unconnected(argc, argv, &setup, test);
}
