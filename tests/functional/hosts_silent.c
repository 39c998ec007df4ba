/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The other host goes silent: its packets are dropped. Within the limits of FI_VERBS_RETRY_COUNT
 * and FI_VERBS_ACK_TIMEOUT every operation ends with an error, and closing is fast.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hosts.h"
#include "steps.h"

#define SERVICE "7472"
#define WRITES	10

static struct setup setup = { .format = FI_CQ_FORMAT_TAGGED, .buf_size = 65536 };

/* Drops everything that this host sends, or nothing again. */
static void silence(bool on)
{
	char command[128];

	snprintf(command, sizeof(command), "tc qdisc %s dev %s root netem loss 100%%",
		 on ? "add" : "del", local_interface());
	shell(command);
}

/* Receives a message, then leaves the network as long as needed. */
static void vanish(void)
{
	struct end end = { .name = "server", .setup = &setup, .sock = -1 };
	struct part part = { .len = 100 };
	struct target target;
	struct fi_info *info;

	end_open(&end, info_for(&setup, local_addr(), SERVICE, FI_SOURCE));
	OK(fi_passive_ep(end.fabric, end.info, &end.pep, NULL));
	OK(fi_pep_bind(end.pep, &end.eq->fid, 0));
	OK(fi_listen(end.pep));
	info = end_request(&end, NULL, NULL);
	end.ep = end_ep(&end, info);
	post_recv(&end, &part);
	target = (struct target){ (uintptr_t)end.buf, fi_mr_key(end.mr) };
	OK(fi_accept(end.ep, &target, sizeof(target)));
	fi_freeinfo(info);
	wait_event(end.eq, FI_CONNECTED, &end.ep->fid, NULL, 0);
	wait_context(end.rxcq, NULL);
	silence(true);
	sleep_ms(5000);
	silence(false);
	end_close(&end);
}

/*
 * Posts writes and waits for them. Returns true if they failed; the first failure has the reason.
 */
static bool writes_fail(struct end *end)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	uint64_t i, limit = deadline();
	bool failed = false;
	char text[512];
	ssize_t ret;

	for (i = 0; i < WRITES; i++)
		OK(fi_write(end->ep, end->buf, 8, end->desc, 0, end->peer.addr, end->peer.key,
			    (void *)(uintptr_t)i));
	for (i = 0; i < WRITES; i++) {
		while ((ret = fi_cq_read(end->cq, &entry, 1)) == -FI_EAGAIN)
			pause_until(limit, "the end of each write");
		if (ret == 1) {
			CHECK(!failed);
			continue;
		}
		RETURNS(fi_cq_readerr(end->cq, &error, 0), 1);
		EQUAL(error.op_context, i);
		EQUAL(error.err, failed ? FI_ECANCELED : FI_ETIMEDOUT);
		fi_cq_strerror(end->cq, error.prov_errno, error.err_data, text, sizeof(text));
		CHECK(strstr(text, need_env("WEFT_PEER_ADDRS")));
		failed = true;
	}
	return failed;
}

static void survive(void)
{
	struct end end = { .name = "client", .setup = &setup, .sock = -1 };
	struct part part = { .len = 100 };
	uint64_t start, limit = deadline();

	hosts_connect(&end, SERVICE);
	post_send(&end, &part);
	wait_context(end.cq, NULL);
	do {
		start = now_ms();
		pause_until(limit, "a write that fails");
	} while (!writes_fail(&end));
	CHECK(now_ms() - start < 5000);
	start = now_ms();
	end_close(&end);
	CHECK(now_ms() - start < 5000);
}

int main(void)
{
	need_vm();
	/* 67 ms, a few times. Soft-RoCE retries for ever if the count is 7. */
	setenv("FI_VERBS_RETRY_COUNT", "3", 1);
	setenv("FI_VERBS_ACK_TIMEOUT", "14", 1);
	return run_hosts(vanish, survive);
}
