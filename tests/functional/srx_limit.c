/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_NOTIFY when fewer receives are posted than FI_OPT_VERBS_SRX_LIMIT: one event each time it is
 * requested.
 */
#include <infiniband/verbs.h>
#include <rdma/fi_ext.h>
#include "links.h"

#define RECVS 8

static struct setup setup = { .buf_size = 4096, .srx_size = RECVS };

static size_t get(struct fid_ep *srx)
{
	size_t value = 77, len = sizeof(value);

	OK(fi_getopt(&srx->fid, FI_OPT_ENDPOINT, FI_OPT_VERBS_SRX_LIMIT, &value, &len));
	EQUAL(len, sizeof(value));
	return value;
}

static int set(struct fid_ep *srx, size_t value)
{
	return fi_setopt(&srx->fid, FI_OPT_ENDPOINT, FI_OPT_VERBS_SRX_LIMIT, &value, sizeof(value));
}

static void post(struct end *end)
{
	OK(fi_recv(end->srx, end->buf, 8, end->desc, 0, NULL));
}

static void consume(struct end *end, const struct link *link, int count)
{
	while (count--) {
		OK(fi_inject(link->from, end->buf, 8, 0));
		wait_context(end->rxcq, NULL);
	}
}

static void expect_notice(struct end *end)
{
	struct fi_eq_entry entry;
	uint64_t limit = deadline();
	uint32_t event;
	ssize_t ret;

	while ((ret = fi_eq_sread(end->eq, &event, &entry, sizeof(entry), 500, 0)) == -FI_EAGAIN)
		pause_until(limit, "the notice");
	RETURNS(ret, sizeof(entry));
	EQUAL(event, FI_NOTIFY);
	CHECK(entry.fid == &end->srx->fid && entry.context == end);
	EQUAL(entry.data, (uint64_t)IBV_EVENT_SRQ_LIMIT_REACHED << 32);
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct place place;
	struct link link;
	int i;

	end_listen(&end, local_addr(), &place);
	link_open(&end, &place, &link, NULL, NULL);
	EQUAL(get(end.srx), 0);
	RETURNS(set(end.srx, 3), -FI_ENOEQ);
	OK(fi_ep_bind(end.srx, &end.eq->fid, 0));
	RETURNS(set(end.srx, RECVS + 1), -FI_EINVAL);
	for (i = 0; i < RECVS; i++)
		post(&end);
	OK(set(end.srx, 4));
	EQUAL(get(end.srx), 4);
	consume(&end, &link, 4);
	no_event(end.eq, 50);
	consume(&end, &link, 1);
	expect_notice(&end);
	EQUAL(get(end.srx), 0);
	consume(&end, &link, 1);
	no_event(end.eq, 50);
	for (i = 0; i < 6; i++)
		post(&end);
	OK(set(end.srx, RECVS));
	consume(&end, &link, 2);
	expect_notice(&end);
	OK(set(end.srx, 2));
	OK(set(end.srx, 0));
	consume(&end, &link, 6);
	no_event(end.eq, 50);
	link_close(&link);
	end_close(&end);
}

int main(void)
{
	setup.format = FI_CQ_FORMAT_TAGGED;
	return run_test(test);
}
