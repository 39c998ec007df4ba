/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collectives on the reliable channel, on a network that loses, repeats and reorders datagrams. */
#include "unit.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/coll.h>
#include <ofi/rel.h>
#include <rdma/fi_errno.h>

#define MEMBERS_MAX 9
#define MTU	    128
#define PACKETS	    8192
#define COUNT	    50
#define ROUNDS	    4

struct packet {
	size_t from, to, len;
	uint8_t data[MTU];
};

struct member {
	struct ofi_coll *coll;
	struct ofi_rel *rel;
	struct ofi_coll_group *group;
	int joined, done, failed;
	uint64_t in[COUNT], sum[COUNT], all[COUNT * MEMBERS_MAX], copy[COUNT];
};

static struct member members[MEMBERS_MAX];
static struct packet packets[PACKETS];
static size_t count, on_way;
static uint64_t now;
static unsigned loss;
static size_t cut;

static ssize_t net_send(void *arg, fi_addr_t to, const void *head, const void *data, size_t len)
{
	struct packet *packet = &packets[on_way];
	size_t from = (size_t)((struct member *)arg - members);

	if (on_way == PACKETS)
		return -FI_EAGAIN;
	if ((loss && !(rand() % (int)loss)) || to == cut || from == cut)
		return 0;
	packet->from = from;
	packet->to = to;
	packet->len = OFI_REL_HEAD + len;
	memcpy(packet->data, head, OFI_REL_HEAD);
	if (len)
		memcpy(packet->data + OFI_REL_HEAD, data, len);
	on_way++;
	return 0;
}

static void net_done(void *arg, void *cookie, size_t len, int err)
{
	(void)arg;
	ofi_coll_event(cookie, len, err);
}

static uint64_t net_now(void *arg)
{
	(void)arg;
	return now;
}

static ssize_t coll_send(void *arg, fi_addr_t to, uint64_t tag, const void *buf, size_t len,
			 void *cookie)
{
	return ofi_rel_send(((struct member *)arg)->rel, to, tag, buf, len, cookie);
}

static ssize_t coll_recv(void *arg, fi_addr_t from, uint64_t tag, void *buf, size_t len,
			 void *cookie)
{
	return ofi_rel_recv(((struct member *)arg)->rel, from, tag, buf, len, cookie);
}

static void coll_cancel(void *arg, void *cookie)
{
	ofi_rel_cancel(((struct member *)arg)->rel, cookie);
}

static void coll_purge(void *arg, fi_addr_t from, uint64_t tag, uint64_t ignore)
{
	ofi_rel_purge(((struct member *)arg)->rel, from, tag, ignore);
}

static void coll_done(void *arg, const struct ofi_coll_done *done)
{
	struct member *member = arg;

	if (done->join) {
		assert_int_equal(done->err, 0);
		member->joined++;
		return;
	}
	member->done++;
	member->failed += !!done->err;
}

static const struct ofi_coll_net coll_net = {
	.send = coll_send,
	.recv = coll_recv,
	.cancel = coll_cancel,
	.purge = coll_purge,
	.done = coll_done,
	.max_msg = 1 << 20,
	.max_ops = 64,
};

static void step(void)
{
	size_t at = on_way ? (size_t)rand() % on_way : 0;
	struct packet packet;

	now += on_way ? 1 : 20;
	if (on_way && rand() % 8) {
		packet = packets[at];
		if (rand() % 10)
			packets[at] = packets[--on_way];
		ofi_rel_arrived(members[packet.to].rel, packet.from, packet.data, packet.len);
	}
	ofi_rel_progress(members[(size_t)rand() % count].rel);
}

static void open_members(size_t n)
{
	fi_addr_t addr[MEMBERS_MAX];
	struct ofi_rel_net net = {
		.send = net_send,
		.done = net_done,
		.now = net_now,
		.mtu = MTU,
		.max_msg = 1 << 20,
		.rto_min = 50,
		.rto_max = 1000,
		.give_up = 100000,
	};

	count = n;
	on_way = 0;
	cut = MEMBERS_MAX;
	memset(members, 0, sizeof(members));
	for (size_t i = 0; i < n; i++)
		addr[i] = i;
	for (size_t i = 0; i < n; i++) {
		struct ofi_coll_members group = { .addr = addr, .count = n, .rank = i };

		net.session = (uint32_t)i + 1;
		members[i].rel = ofi_rel_new(&net, &members[i]);
		members[i].coll = ofi_coll_new(&coll_net, &members[i]);
		assert_int_equal(ofi_coll_join(members[i].coll, &group, NULL, &members[i].group),
				 0);
	}
	for (size_t i = 0; i < n; i++)
		while (!members[i].joined)
			step();
}

static void close_members(void)
{
	for (size_t i = 0; i < count; i++) {
		ofi_coll_free(members[i].coll);
		ofi_rel_free(members[i].rel);
	}
}

static void start(size_t i, struct ofi_coll_call call)
{
	assert_int_equal(ofi_coll_start(members[i].coll, ofi_coll_addr(members[i].group), &call),
			 0);
}

/* Four operations at once. */
static void start_all(size_t i, size_t root)
{
	struct member *m = &members[i];

	for (size_t j = 0; j < COUNT; j++)
		m->in[j] = m->copy[j] = 100 * i + j;
	start(i, (struct ofi_coll_call){ .kind = FI_ALLREDUCE,
					 .buf = m->in,
					 .result = m->sum,
					 .count = COUNT,
					 .datatype = FI_UINT64,
					 .op = FI_SUM });
	start(i, (struct ofi_coll_call){ .kind = FI_ALLGATHER,
					 .buf = m->in,
					 .result = m->all,
					 .count = COUNT,
					 .datatype = FI_UINT64,
					 .op = FI_NOOP });
	start(i, (struct ofi_coll_call){ .kind = FI_BROADCAST,
					 .result = m->copy,
					 .count = COUNT,
					 .datatype = FI_UINT64,
					 .op = FI_NOOP,
					 .root = root });
	start(i, (struct ofi_coll_call){ .kind = FI_BARRIER, .datatype = FI_VOID, .op = FI_NOOP });
}

static void check(const struct member *m, size_t root)
{
	for (size_t j = 0; j < COUNT; j++) {
		assert_int_equal(m->sum[j], 100 * count * (count - 1) / 2 + count * j);
		assert_int_equal(m->copy[j], 100 * root + j);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(m->all[i * COUNT + j], 100 * i + j);
	}
}

static void despite_losses(void **state)
{
	(void)state;
	for (size_t n = 1; n <= MEMBERS_MAX; n++)
		for (loss = 0; loss < 12; loss += 3) {
			open_members(n);
			for (size_t round = 0; round < ROUNDS; round++) {
				size_t root = round % n;

				for (size_t i = 0; i < n; i++)
					start_all(i, root);
				for (size_t i = 0; i < n; i++)
					while (members[i].done < 4 * (int)(round + 1))
						step();
				for (size_t i = 0; i < n; i++)
					check(&members[i], root);
			}
			for (size_t i = 0; i < n; i++)
				assert_int_equal(members[i].failed, 0);
			close_members();
		}
}

/* All operations of all members end. */
static void a_member_falls_silent(void **state)
{
	(void)state;
	loss = 5;
	for (size_t n = 2; n <= MEMBERS_MAX; n++) {
		open_members(n);
		cut = n - 1;
		for (size_t i = 0; i < n - 1; i++)
			start_all(i, 0);
		for (size_t i = 0; i < n - 1; i++)
			while (members[i].done < 4)
				step();
		for (size_t i = 0; i < n - 1; i++)
			assert_true(members[i].failed >= 3);
		close_members();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(despite_losses),
		cmocka_unit_test(a_member_falls_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
