/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process that cannot map what its peer offers says so, and both release what nobody uses. A
 * wrong statement costs only its author the shared memory.
 */
#include "unit.h"

#include <stdio.h>
#include <rdma/fi_errno.h>
#include "shm_rig.h"

/* Two ends of a connection, whose packets wait in a queue each. */
enum { ENDS = 2, QUEUE = 8, PACKET = 256, DEVICE_FIRST = 5 };

static struct {
	struct vrb_rc_ep rc;
	struct vrb_rc_conn conn;
	struct ofi_rdm_peer peer;
	struct ibv_cq cq;
	uint8_t packets[QUEUE][PACKET];
	size_t lens[QUEUE];
	unsigned int sent, taken;
	bool cannot_map;
} ends[ENDS];
static int mapper; /* the end that takes a packet */
static bool unsendable;

int __wrap_vrb_rc_conn_send(struct vrb_rc_conn *to, const void *bytes, size_t len);
int __wrap_vrb_rc_conn_send(struct vrb_rc_conn *to, const void *bytes, size_t len)
{
	int i = to == &ends[1].conn;

	assert_ptr_equal(to, &ends[i].conn);
	assert_true(ends[i].sent < QUEUE && len <= PACKET);
	if (unsendable)
		return FI_ENOMEM;
	memcpy(ends[i].packets[ends[i].sent], bytes, len);
	ends[i].lens[ends[i].sent++] = len;
	return 0;
}

void *__real_vrb_shm_map(const struct vrb_shm_place *place, size_t size);
void *__wrap_vrb_shm_map(const struct vrb_shm_place *place, size_t size);
void *__wrap_vrb_shm_map(const struct vrb_shm_place *place, size_t size)
{
	return ends[mapper].cannot_map ? NULL : __real_vrb_shm_map(place, size);
}

static unsigned int count_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned int count = 0;
	char line[512];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "memfd:weft") != NULL;
	fclose(maps);
	return count;
}

static void damage_end(struct vrb_rc_conn *damaged)
{
	assert_ptr_equal(damaged, &ends[0].conn);
	assert_true(damage_expected);
	damage_expected = false;
}

static const struct vrb_shm_calls end_calls = { .damaged = damage_end };

static void end_gets(int i, const void *bytes, size_t len)
{
	mapper = i;
	assert_true(vrb_shm_packet(&ends[i].conn, bytes, len));
}

/* Delivers the next packet that the other end has sent. */
static void deliver(int to)
{
	int from = !to;
	unsigned int n = ends[from].taken++;

	assert_true(n < ends[from].sent);
	end_gets(to, ends[from].packets[n], ends[from].lens[n]);
}

static int begin_ends(void **state)
{
	int i;

	begin(state);
	assert_int_equal(count_maps(), 0);
	memset(ends, 0, sizeof(ends));
	unsendable = false;
	for (i = 0; i < ENDS; i++) {
		ends[i].conn = (struct vrb_rc_conn){
			.ep = &ends[i].rc.rdm,
			.peer = &ends[i].peer,
			.qp = conn.qp,
			.sq = conn.qp,
			.live = true,
		};
		vrb_rdm_poll_from(&ends[i].rc, &ends[i].cq, DEVICE_FIRST);
		vrb_shm_offer(&ends[i].conn, &end_calls);
		assert_int_equal(ends[i].sent, 1);
	}
	return 0;
}

static int end_ends(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < ENDS; i++) {
		vrb_shm_conn_close(&ends[i].conn);
		vrb_shm_close(&ends[i].rc.rdm);
	}
	assert_int_equal(count_maps(), 0);
	assert_false(damage_expected);
	return 0;
}

static struct vrb_shm_conn *of(int i)
{
	return ends[i].conn.shm;
}

static void tick_both(void)
{
	vrb_shm_tick(&ends[0].rc.rdm);
	vrb_shm_tick(&ends[1].rc.rdm);
}

/* Nothing of shared memory is left at this end, which polls and posts as before. */
static void has_nothing(int i)
{
	assert_null(of(i));
	assert_null(ends[i].rc.shm);
	assert_ptr_equal(ends[i].conn.sq, ends[i].conn.qp);
	assert_ptr_equal(ends[i].rc.poll_cq, &ends[i].cq);
	assert_int_equal(ends[i].rc.first, DEVICE_FIRST);
}

static void offers_are_accepted(void **state)
{
	int i;

	(void)state;
	deliver(0);
	deliver(1);
	deliver(0);
	deliver(1);
	tick_both();
	for (i = 0; i < ENDS; i++) {
		assert_non_null(of(i)->tx.map);
		assert_non_null(of(i)->bell);
		assert_non_null(of(i)->rx.map);
		assert_int_equal(of(i)->fd, -1);
		assert_ptr_not_equal(ends[i].rc.poll_cq, &ends[i].cq);
	}
	/* 2 bells and 2 rings, which the other end has mapped, too */
	assert_int_equal(count_maps(), 8);
}

/* As in different containers. */
static void neither_end_can_map(void **state)
{
	(void)state;
	ends[0].cannot_map = ends[1].cannot_map = true;
	deliver(0);
	assert_non_null(of(0));
	deliver(1);
	deliver(0);
	deliver(1);
	tick_both();
	has_nothing(0);
	has_nothing(1);
	assert_int_equal(count_maps(), 0);
}

/* As between a process and one that may not look into it. */
static void one_end_cannot_map(void **state)
{
	(void)state;
	ends[1].cannot_map = true;
	deliver(0);
	deliver(1);
	deliver(0);
	deliver(1);
	tick_both();
	assert_null(of(0)->rx.map);
	assert_int_equal(of(0)->fd, -1);
	assert_false(of(0)->is_awake);
	assert_non_null(of(0)->tx.map);
	assert_null(of(1)->tx.map);
	assert_non_null(of(1)->rx.map);
	assert_false(of(0)->is_copied);
	/* 2 bells and the ring; end 0 has mapped the bell and the ring of end 1, too */
	assert_int_equal(count_maps(), 5);
}

/* The device's completion that is held is passed on first. */
static void held_completion_is_kept(void **state)
{
	(void)state;
	ends[0].cannot_map = ends[1].cannot_map = true;
	deliver(0);
	deliver(1);
	deliver(0);
	ends[0].rc.shm->has_held = true;
	tick_both();
	assert_null(of(0));
	assert_non_null(ends[0].rc.shm);
	ends[0].rc.shm->has_held = false;
	tick_both();
	has_nothing(0);
}

/* Another connection of the endpoint still has shared memory. */
static void others_keep_theirs(void **state)
{
	struct vrb_rc_conn other = { .ep = &ends[0].rc.rdm, .qp = conn.qp, .sq = conn.qp };

	(void)state;
	vrb_shm_offer(&other, &end_calls);
	ends[0].cannot_map = ends[1].cannot_map = true;
	deliver(0);
	deliver(1);
	deliver(0);
	tick_both();
	assert_null(of(0));
	assert_non_null(ends[0].rc.shm);
	vrb_shm_conn_close(&other);
	tick_both();
	has_nothing(0);
}

/* Packets that wake the other end may still be in flight when the connection is gone. */
static void used_memory_stays(void **state)
{
	struct ibv_cq *cq = ends[0].rc.poll_cq;

	(void)state;
	deliver(0);
	deliver(1);
	vrb_shm_conn_close(&ends[0].conn);
	vrb_shm_conn_close(&ends[1].conn);
	tick_both();
	assert_ptr_equal(ends[0].rc.poll_cq, cq);
}

/* Earlier versions take the answer for one of a peer that does not copy. */
static void refusal_fits_the_wire(void **state)
{
	const uint8_t expected[] = { OFI_RDM_WIRE_VERSION, VRB_SHM_START, 0, 1 };

	(void)state;
	ends[0].cannot_map = true;
	deliver(0);
	assert_int_equal(ends[0].sent, 2);
	assert_int_equal(ends[0].lens[1], sizeof(expected));
	assert_memory_equal(ends[0].packets[1], expected, sizeof(expected));
	assert_false(vrb_shm_is_start(expected, sizeof(expected)));
	assert_true(vrb_shm_is_start(expected, sizeof(expected) - 1));
	assert_true(vrb_shm_is_start(ends[0].packets[1], 2));
}

/* The packets of the device behind the answer are counted only if it is a start. */
static void refusal_starts_nothing(void **state)
{
	struct ibv_wc wc[ROOM];

	(void)state;
	shm.started = false;
	memcpy(device_bytes, (const uint8_t[]){ OFI_RDM_WIRE_VERSION, VRB_SHM_START, 0, 1 }, 4);
	device_has = 1;
	assert_int_equal(vrb_shm_poll_cq(&all.cq, ROOM, wc), 1);
	assert_false(shm.started);
	device_bytes[3] = 0;
	device_has = 1;
	assert_int_equal(vrb_shm_poll_cq(&all.cq, ROOM, wc), 1);
	assert_true(shm.started);
}

/* Without room for the answer, the other end learns nothing. */
static void unsent_answer_leaves_nothing_mapped(void **state)
{
	(void)state;
	unsendable = true;
	deliver(0);
	assert_null(of(0)->tx.map);
	assert_null(of(0)->bell);
	assert_int_equal(count_maps(), 4);
}

/* The peer uses the ring and then claims that it has not mapped it: rights and packets go on. */
static void refusal_after_the_start_is_ignored(void **state)
{
	const uint8_t refusal[] = { OFI_RDM_WIRE_VERSION, VRB_SHM_START, 0, 1 };
	uint8_t bytes[8];
	struct iovec iov = { bytes, sizeof(bytes) };
	uint64_t key;

	(void)state;
	deliver(0);
	deliver(1);
	deliver(0);
	of(0)->is_copied = true;
	key = vrb_shm_grant(&ends[0].conn, &iov);
	assert_true(key);
	end_gets(0, refusal, sizeof(refusal));
	assert_non_null(of(0)->rx.map);
	vrb_shm_revoke(&ends[0].conn, key);
	of(0)->is_copied = false;
	of(0)->started = true;
	end_gets(0, refusal, sizeof(refusal));
	assert_non_null(of(0)->rx.map);
}

/* It refuses again and again, and starts after all, which is too late. */
static void start_after_the_refusal_is_ignored(void **state)
{
	const uint8_t refusal[] = { OFI_RDM_WIRE_VERSION, VRB_SHM_START, 0, 1 },
		      start[] = { OFI_RDM_WIRE_VERSION, VRB_SHM_START, 1, 0 };
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		end_gets(0, refusal, sizeof(refusal));
	assert_null(of(0)->rx.map);
	end_gets(0, start, sizeof(start));
	assert_false(of(0)->is_copied);
	deliver(0);
	assert_non_null(of(0)->tx.map);
	/* All is gone by then, and what comes is not looked at. */
	vrb_shm_conn_close(&ends[0].conn);
	end_gets(0, refusal, sizeof(refusal));
	end_gets(0, start, sizeof(start));
}

/* The places of answers are few: there is one. */
static void second_offer_is_damage(void **state)
{
	(void)state;
	ends[0].cannot_map = true;
	deliver(0);
	damage_expected = true;
	end_gets(0, ends[1].packets[0], ends[1].lens[0]);
	assert_false(damage_expected);
	assert_int_equal(ends[0].sent, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(offers_are_accepted, begin_ends, end_ends),
		cmocka_unit_test_setup_teardown(neither_end_can_map, begin_ends, end_ends),
		cmocka_unit_test_setup_teardown(one_end_cannot_map, begin_ends, end_ends),
		cmocka_unit_test_setup_teardown(held_completion_is_kept, begin_ends, end_ends),
		cmocka_unit_test_setup_teardown(others_keep_theirs, begin_ends, end_ends),
		cmocka_unit_test_setup_teardown(used_memory_stays, begin_ends, end_ends),
		cmocka_unit_test_setup_teardown(refusal_fits_the_wire, begin_ends, end_ends),
		cmocka_unit_test_setup_teardown(refusal_starts_nothing, begin_ends, end_ends),
		cmocka_unit_test_setup_teardown(unsent_answer_leaves_nothing_mapped, begin_ends,
						end_ends),
		cmocka_unit_test_setup_teardown(refusal_after_the_start_is_ignored, begin_ends,
						end_ends),
		cmocka_unit_test_setup_teardown(start_after_the_refusal_is_ignored, begin_ends,
						end_ends),
		cmocka_unit_test_setup_teardown(second_offer_is_damage, begin_ends, end_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
