/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers in the memory of statistics: what readers get, and what they reject. */
#include "unit.h"

#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "prov/base/stats.h"
#include "prov/base/wait.h"
#include "src/stats_read.h"
#include <ofi/addr.h>
#include <rdma/fi_errno.h>

struct object {
	uint64_t field[OFI_STATS_PEER_FIELDS];
	struct ofi_stats_peer stats;
};

static struct ofi_stats_place places[OFI_STATS_PEER_FIELDS];
static struct fid *fid;
static struct fi_ops_stats_process *ops;

static struct ofi_stats_peer *restless;
static unsigned int changes;

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);

/* Each reading asks for the time; meanwhile there is another peer in the place. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (restless && changes++ < 10000)
		restless->id++;
	return __real_clock_gettime(clock, now);
}

static struct object *new_object(uint16_t port)
{
	struct object *object = ofi_stats_peer_alloc(sizeof(*object));
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	int i;

	assert_non_null(object);
	assert_int_equal((uintptr_t)object % sizeof(uint64_t), 0);
	addr.sin_addr.s_addr = htonl(0xc0000201);
	memcpy(object->stats.address, &addr, sizeof(addr));
	object->stats.transport = ofi_stats_text("rc");
	for (i = 0; i < OFI_STATS_PEER_FIELDS; i++) {
		places[i].at = (int16_t)((int)offsetof(struct object, field[i]) -
					 (int)offsetof(struct object, stats));
		places[i].size = 8;
	}
	ofi_stats_peer_place(places);
	return object;
}

static void open_reader(void)
{
	struct fi_stats_attr attr = { .size = sizeof(attr), .pid = getpid() };

	assert_int_equal(ofi_stats_open(&attr, sizeof(attr), 0, &fid, NULL), 0);
	assert_int_equal(fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, (void **)&ops, NULL), 0);
}

static struct fi_stats_peer read_one(void)
{
	struct fi_stats_peer peer;

	open_reader();
	assert_int_equal(ops->next_peer(fid, 0, &peer), 1);
	fi_close(fid);
	return peer;
}

static void test_queue_pair(void **state)
{
	static const struct ofi_qp_name name = {
		.family = OFI_AF_QP,
		.gid = { 0xfe, 0x80, [15] = 1 },
		.qpn = 17,
		.key = 99,
	};
	struct object *a = new_object(7000);

	(void)state;
	memcpy(a->stats.address, &name, sizeof(name));
	ofi_stats_publish(&a->stats.id);
	assert_string_equal(read_one().address, "[fe80::1]:17:99");
	ofi_stats_peer_free(a, &a->stats);
}

static void test_states(void **state)
{
	struct object *a = new_object(7000), *b = new_object(7001);
	struct fi_stats_peer peer;

	(void)state;
	open_reader();
	assert_int_equal(ops->next_peer(fid, 0, NULL), -FI_EINVAL);
	assert_int_equal(ops->next_peer(fid, 0, &peer), 0);
	b->stats.ep = 77;
	ofi_stats_peer_enter(&b->stats, "connecting", "something to send", "the answer",
			     ofi_now_ms() - 5000);
	ofi_stats_publish(&b->stats.id);
	ofi_stats_publish(&a->stats.id);
	assert_int_equal(ops->next_peer(fid, 0, &peer), 1);
	assert_int_equal(peer.id, b->stats.id);
	assert_int_equal(peer.ep, 77);
	assert_string_equal(peer.address, "192.0.2.1:7001");
	assert_string_equal(peer.transport, "rc");
	assert_string_equal(peer.state, "connecting");
	assert_string_equal(peer.cause, "something to send");
	assert_string_equal(peer.waits, "the answer");
	assert_in_range(peer.age_ms, 5000, 60000);
	assert_int_equal(ops->next_peer(fid, peer.id, &peer), 1);
	assert_string_equal(peer.address, "192.0.2.1:7000");
	assert_int_equal(ops->next_peer(fid, peer.id, &peer), 0);
	ofi_stats_hide(&b->stats.id);
	assert_int_equal(ops->next_peer(fid, 0, &peer), 1);
	assert_int_equal(peer.id, a->stats.id);
	fi_close(fid);
	ofi_stats_peer_free(a, &a->stats);
	ofi_stats_peer_free(b, &b->stats);
	ofi_stats_peer_free(NULL, NULL);
}

static const struct {
	uint64_t field[OFI_STATS_PEER_FIELDS];
	const char *waits;
} waits[] = {
	{ { 0 }, "" },
	{ { [OFI_STATS_PEER_NO_PLACE] = 1 },
	  "other connections or attempts of the endpoint to end" },
	{ { [OFI_STATS_PEER_RETRIES] = 2, [OFI_STATS_PEER_ERROR] = FI_ECONNREFUSED },
	  "the next attempt to connect; the last one: Connection refused" },
	{ { [OFI_STATS_PEER_UP] = 1, [OFI_STATS_PEER_CREDITS] = 64 }, "" },
	{ { [OFI_STATS_PEER_UP] = 1, [OFI_STATS_PEER_CREDITS] = 60 },
	  "4 packets in flight to complete" },
	{ { [OFI_STATS_PEER_UP] = 1,
	    [OFI_STATS_PEER_CREDITS] = 4,
	    [OFI_STATS_PEER_RESERVE] = 4,
	    [OFI_STATS_PEER_QUEUED] = 3 },
	  "the peer to make progress: it has not taken 60 packets" },
	{ { [OFI_STATS_PEER_UP] = 1, [OFI_STATS_PEER_CREDITS] = 64, [OFI_STATS_PEER_QUEUED] = 3 },
	  "the peer to receive 3 messages" },
	{ { [OFI_STATS_PEER_UP] = 1,
	    [OFI_STATS_PEER_CREDITS] = 64,
	    [OFI_STATS_PEER_QUEUED] = 3,
	    [OFI_STATS_PEER_HALTED] = 1 },
	  "the peer's application to receive: it has no room for more" },
	{ { [OFI_STATS_PEER_UP] = 1,
	    [OFI_STATS_PEER_CREDITS] = 64,
	    [OFI_STATS_PEER_QUEUED] = 3,
	    [OFI_STATS_PEER_FENCED] = 1 },
	  "operations before FI_FENCE to complete" },
	{ { [OFI_STATS_PEER_UP] = 1,
	    [OFI_STATS_PEER_CREDITS] = 64,
	    [OFI_STATS_PEER_ANSWERS] = 0x7f00 },
	  "the peer to perform atomics" },
	{ { [OFI_STATS_PEER_UP] = 1, [OFI_STATS_PEER_CREDITS] = 64, [OFI_STATS_PEER_RMA] = 0x7f00 },
	  "resources or keys of memory for RMA and atomics" },
	{ { [OFI_STATS_PEER_UP] = 1, [OFI_STATS_PEER_CREDITS] = 64, [OFI_STATS_PEER_KEPT] = 2 },
	  "the application to receive 2 messages from the peer" },
};

static void test_waits(void **state)
{
	struct object *a = new_object(7000);
	struct fi_stats_peer peer;
	size_t i;

	(void)state;
	a->stats.most = 64;
	ofi_stats_publish(&a->stats.id);
	for (i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		memcpy(a->field, waits[i].field, sizeof(a->field));
		peer = read_one();
		assert_string_equal(peer.waits, waits[i].waits);
		assert_string_equal(peer.items[2].name, "queued");
		assert_int_equal(peer.items[2].value, waits[i].field[OFI_STATS_PEER_QUEUED]);
	}
	assert_int_equal(peer.count, 8);
	ofi_stats_peer_free(a, &a->stats);
}

/* Neither places outside of an object nor a record that is always being written lead astray. */
static void test_wrong(void **state)
{
	static const char longest[] =
		"as long as it takes, and so much longer than any reader of these texts has room for";
	struct object *a = new_object(7000);
	struct fi_stats_peer peer;

	(void)state;
	ofi_stats_publish(&a->stats.id);
	a->field[OFI_STATS_PEER_QUEUED] = 5;
	places[OFI_STATS_PEER_QUEUED].at = INT16_MAX;
	ofi_stats_peer_place(places);
	assert_int_equal(read_one().items[2].value, 0);
	places[OFI_STATS_PEER_QUEUED].at = -3;
	ofi_stats_peer_place(places);
	assert_int_equal(read_one().items[2].value, 0);
	places[OFI_STATS_PEER_QUEUED] = (struct ofi_stats_place){ INT16_MIN, 8 };
	ofi_stats_peer_place(places);
	read_one();
	places[OFI_STATS_PEER_QUEUED].size = 0;
	ofi_stats_peer_place(places);
	assert_int_equal(read_one().items[2].value, 0);
	a->stats.turn = 1;
	a->stats.state = UINT8_MAX;
	a->stats.cause = ofi_stats_text(longest);
	memset(a->stats.address, 0xff, sizeof(a->stats.address));
	peer = read_one();
	assert_string_equal(peer.state, "");
	assert_int_equal(strlen(peer.cause), sizeof(peer.cause) - 1);
	ofi_stats_peer_free(a, &a->stats);
}

/* A process that changes its peers all the time does not keep the reader busy. */
static void test_restless(void **state)
{
	struct object *a = new_object(7000);
	struct fi_stats_peer peer;

	(void)state;
	ofi_stats_publish(&a->stats.id);
	restless = &a->stats;
	open_reader();
	assert_int_equal(ops->next_peer(fid, 0, &peer), 0);
	restless = NULL;
	fi_close(fid);
	assert_in_range(changes, 1, 5000);
	ofi_stats_peer_free(a, &a->stats);
}

/* More than there is room for are on the heap; places that are given back are used again. */
static void test_bound(void **state)
{
	enum { MOST = OFI_STATS_PEERS / sizeof(struct object) };
	static struct object *all[MOST + 2];
	size_t i;

	(void)state;
	for (i = 0; i < MOST + 2; i++) {
		all[i] = new_object(1);
		assert_int_equal(all[i]->stats.heap, i >= MOST);
	}
	ofi_stats_peer_free(all[3], &all[3]->stats);
	all[3] = new_object(1);
	assert_false(all[3]->stats.heap);
	for (i = 0; i < MOST + 2; i++)
		ofi_stats_peer_free(all[i], &all[i]->stats);
}

/* The child has a copy that nobody sees, and statistics of its own. */
static void test_fork(void **state)
{
	struct object *a = new_object(7000), *b;
	struct fi_stats_peer peer;
	int status;
	pid_t pid;

	(void)state;
	a->field[OFI_STATS_PEER_QUEUED] = 5;
	ofi_stats_publish(&a->stats.id);
	pid = fork();
	if (!pid) {
		b = new_object(7001);
		ofi_stats_publish(&b->stats.id);
		if (a->field[OFI_STATS_PEER_QUEUED] != 5)
			_exit(2);
		a->field[OFI_STATS_PEER_QUEUED] = 6;
		ofi_stats_peer_free(a, &a->stats);
		_exit(strcmp(read_one().address, "192.0.2.1:7001") != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	peer = read_one();
	assert_int_equal(peer.items[2].value, 5);
	ofi_stats_peer_free(a, &a->stats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),	 cmocka_unit_test(test_queue_pair),
		cmocka_unit_test(test_waits),	 cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_bound),	 cmocka_unit_test(test_fork),
		cmocka_unit_test(test_restless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
