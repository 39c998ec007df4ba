/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Steps of the tests of multicast groups. */
#include <arpa/inet.h>
#include <stdio.h>
#include "mc_steps.h"

const struct setup mc_setup = {
	.type = FI_EP_DGRAM,
	.caps = FI_MSG | FI_MULTICAST | FI_SOURCE,
	.addr_format = FI_SOCKADDR_IN,
	.format = FI_CQ_FORMAT_TAGGED,
	.buf_size = 65536,
};

/* Of the ends that are in this process. */
static struct {
	const struct end *end;
	struct fid_mc *mc;
} joined[2];

struct sockaddr_in group_addr(const char *group)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	EQUAL(inet_pton(AF_INET, group, &in.sin_addr), 1);
	return in;
}

static struct fid_mc **slot_of(const struct end *end)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(joined); i++)
		if (joined[i].end == end || !joined[i].end) {
			joined[i].end = end;
			return &joined[i].mc;
		}
	FAIL("too many ends");
}

struct fid_mc *group_of(const struct end *end)
{
	return *slot_of(end);
}

void step_join(struct end *end, void *arg)
{
	const struct join *join = arg;
	struct sockaddr_in in = group_addr(join->group);
	struct fid_mc **mc = slot_of(end);
	struct fi_eq_entry entry;
	uint32_t event;

	OK(fi_join(end->ep, &in, join->flags, mc, end));
	EQUAL(fi_eq_sread(end->eq, &event, &entry, sizeof(entry), WAIT_MS, 0), sizeof(entry));
	EQUAL(event, FI_JOIN_COMPLETE);
	CHECK(entry.fid == &(*mc)->fid);
	CHECK(entry.context == end);
	CHECK(fi_mc_addr(*mc) != FI_ADDR_NOTAVAIL);
}

void step_leave(struct end *end, void *arg)
{
	struct fid_mc **mc = slot_of(end);

	(void)arg;
	OK(fi_close(&(*mc)->fid));
	*mc = NULL;
}

void join_both(struct pair *pair, const char *group)
{
	struct join join = { .flags = 0 };

	snprintf(join.group, sizeof(join.group), "%s", group);
	at(&pair->server, step_join, &join, sizeof(join));
	step_join(&pair->client, &join);
}

void send_group(struct end *end, size_t len)
{
	struct iovec iov = { .iov_base = end->buf, .iov_len = len };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = &end->desc,
		.iov_count = 1,
		.addr = fi_mc_addr(group_of(end)),
	};
	struct fi_cq_tagged_entry entry;
	uint64_t limit = deadline();

	while (AGAIN(limit, fi_sendmsg(end->ep, &msg, FI_MULTICAST | FI_COMPLETION)))
		;
	wait_comp(end->cq, &entry);
}
