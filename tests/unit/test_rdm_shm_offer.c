/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The files of rings that peers have not mapped yet are bounded, whatever these peers do. */
#include "unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <rdma/fi_errno.h>
#include "shm_rig.h"

enum { MANY = 3 * VRB_SHM_OFFERS };

static struct vrb_rc_conn many[MANY];
static struct ofi_rdm_peer nobody;
static uint64_t clock_ms;
static unsigned int sent, unsendable, files_before;

uint64_t __wrap_ofi_now_ms(void);
uint64_t __wrap_ofi_now_ms(void)
{
	return clock_ms;
}

int __wrap_vrb_rc_conn_send(struct vrb_rc_conn *to, const void *bytes, size_t len);
int __wrap_vrb_rc_conn_send(struct vrb_rc_conn *to, const void *bytes, size_t len)
{
	uint32_t index;

	assert_true(len >= 4 + sizeof(index));
	assert_int_equal(((const uint8_t *)bytes)[1], VRB_SHM_OFFER);
	/* The peer rings for this ring and no other. */
	memcpy(&index, (const uint8_t *)bytes + 4, sizeof(index));
	assert_int_equal(index, to->shm->index);
	assert_true(to->shm->fd >= 0);
	if (unsendable && unsendable--)
		return FI_ENOMEM;
	sent++;
	return 0;
}

static bool no_memory;

int __real_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate(int fd, off_t offset, off_t len)
{
	return no_memory ? ENOSPC : __real_posix_fallocate(fd, offset, len);
}

static unsigned int files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int begin_offers(void **state)
{
	begin(state);
	memset(many, 0, sizeof(many));
	all.conns = NULL;
	all.size = 0;
	clock_ms = 1000000;
	sent = unsendable = 0;
	files_before = files();
	return 0;
}

/* Nothing is left of connections that end. */
static int end_offers(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < MANY; i++)
		if (many[i].ep)
			vrb_shm_conn_close(&many[i]);
	free(all.conns);
	assert_int_equal(files(), files_before);
	assert_true(TAILQ_EMPTY(&all.offered));
	assert_true(TAILQ_EMPTY(&all.waiting));
	assert_int_equal(all.files, 0);
	return 0;
}

static void connect_peers(uint32_t begin_at, uint32_t end_at)
{
	uint32_t i;

	for (i = begin_at; i < end_at; i++) {
		many[i] = (struct vrb_rc_conn){
			.ep = &rc.rdm, .peer = &nobody, .qp = conn.qp, .live = true
		};
		vrb_shm_offer(&many[i], all.calls);
	}
}

static void start(uint32_t i)
{
	const uint8_t bytes[] = { OFI_RDM_WIRE_VERSION, VRB_SHM_START, 1 };

	assert_true(vrb_shm_packet(&many[i], bytes, sizeof(bytes)));
}

static void tick(uint64_t ms)
{
	clock_ms += ms;
	vrb_shm_tick(&rc.rdm);
}

static bool has_file(uint32_t i)
{
	return many[i].shm->fd >= 0;
}

static bool has_ring(uint32_t i)
{
	return many[i].shm->rx.map;
}

/* A process of another user connects under ever new addresses, and cannot map anything. */
static void files_are_bounded(void **state)
{
	uint32_t i;

	(void)state;
	connect_peers(0, MANY);
	assert_int_equal(files(), files_before + VRB_SHM_OFFERS);
	assert_int_equal(sent, VRB_SHM_OFFERS);
	for (i = 0; i < 100; i++) {
		tick(VRB_SHM_OFFER_MS / 4);
		assert_true(files() <= files_before + VRB_SHM_OFFERS);
	}
}

/* All processes of a large job connect at once. */
static void honest_peers_get_rings(void **state)
{
	uint32_t i;

	(void)state;
	connect_peers(0, MANY);
	for (i = 0; i < MANY; i++) {
		assert_true(has_ring(i));
		assert_int_equal(has_ring(MANY - 1), i + VRB_SHM_OFFERS >= MANY);
		start(i);
		assert_false(has_file(i));
		assert_true(many[i].shm->is_copied);
	}
	assert_int_equal(sent, MANY);
	assert_int_equal(files(), files_before);
}

/* A peer that computes for a long time after it has connected answers when it is done. */
static void slow_peers_are_waited_for(void **state)
{
	uint32_t i;

	(void)state;
	connect_peers(0, VRB_SHM_OFFERS);
	tick(100 * VRB_SHM_OFFER_MS);
	for (i = 0; i < VRB_SHM_OFFERS; i++)
		assert_true(has_file(i));
}

/* As many as others need give up their places, those that have had them longest. */
static void silent_peers_make_room(void **state)
{
	(void)state;
	connect_peers(0, VRB_SHM_OFFERS);
	tick(1);
	connect_peers(VRB_SHM_OFFERS, VRB_SHM_OFFERS + 2);
	tick(VRB_SHM_OFFER_MS - 2);
	assert_true(has_file(0));
	assert_int_equal(sent, VRB_SHM_OFFERS);
	tick(1);
	assert_false(has_file(0));
	assert_false(has_file(1));
	assert_true(has_file(2));
	assert_true(has_file(VRB_SHM_OFFERS));
	assert_true(has_file(VRB_SHM_OFFERS + 1));
	tick(VRB_SHM_OFFER_MS);
	assert_true(has_file(2));
	assert_int_equal(sent, VRB_SHM_OFFERS + 2);
	assert_int_equal(files(), files_before + VRB_SHM_OFFERS);
}

/* The peer had mapped the ring before its file was closed, so it uses the ring. */
static void late_start_is_taken(void **state)
{
	(void)state;
	connect_peers(0, VRB_SHM_OFFERS + 1);
	tick(VRB_SHM_OFFER_MS);
	assert_false(has_file(0));
	start(0);
	start(0);
	assert_true(has_ring(0));
	assert_true(many[0].shm->is_copied);
	assert_int_equal(all.files, VRB_SHM_OFFERS);
	assert_int_equal(sent, VRB_SHM_OFFERS + 1);
}

/* The peer claims that it has mapped a ring that it was not offered yet. */
static void early_start_is_ignored(void **state)
{
	(void)state;
	connect_peers(0, VRB_SHM_OFFERS + 1);
	start(VRB_SHM_OFFERS);
	assert_false(has_ring(VRB_SHM_OFFERS));
	assert_false(many[VRB_SHM_OFFERS].shm->is_copied);
	start(0);
	assert_true(has_file(VRB_SHM_OFFERS));
}

/* Connections end while their offers wait, or are not answered yet. */
static void ended_connections_leave(void **state)
{
	(void)state;
	connect_peers(0, VRB_SHM_OFFERS + 3);
	vrb_shm_conn_close(&many[VRB_SHM_OFFERS]);
	many[VRB_SHM_OFFERS + 1].live = false;
	vrb_shm_conn_close(&many[0]);
	tick(1);
	assert_false(has_ring(VRB_SHM_OFFERS + 1));
	assert_true(has_ring(VRB_SHM_OFFERS + 2));
	assert_int_equal(sent, VRB_SHM_OFFERS + 1);
}

/* The connection has no room for the offer at the moment, so it is made again. */
static void offers_are_tried_again(void **state)
{
	(void)state;
	connect_peers(0, VRB_SHM_OFFERS - 1);
	unsendable = 2;
	connect_peers(VRB_SHM_OFFERS - 1, VRB_SHM_OFFERS + 1);
	assert_false(has_ring(VRB_SHM_OFFERS - 1));
	assert_false(has_ring(VRB_SHM_OFFERS));
	assert_int_equal(files(), files_before + VRB_SHM_OFFERS - 1);
	assert_int_equal(starvations, 2);
	tick(1);
	assert_int_equal(starvations, 2);
	start(0);
	assert_true(has_file(VRB_SHM_OFFERS - 1));
	assert_true(has_file(VRB_SHM_OFFERS));
	assert_int_equal(sent, VRB_SHM_OFFERS + 1);
}

/* Others have all numbers but the last ones. */
static void all_numbers_are_used(void **state)
{
	uint32_t i;

	(void)state;
	all.size = 16384;
	all.conns = calloc(all.size, sizeof(struct vrb_shm_conn *));
	assert_non_null(all.conns);
	for (i = 0; i < all.size; i++)
		all.conns[i] = &shm;
	connect_peers(0, 1);
	assert_true(has_ring(0));
	assert_int_equal(many[0].shm->index, i);
	assert_int_equal(all.size, VRB_SHM_RINGS);
	for (; i < VRB_SHM_RINGS; i++)
		all.conns[i] = &shm;
	connect_peers(1, 2);
	assert_false(has_ring(1));
	all.conns[many[0].shm->index] = many[0].shm;
}

/* These connections go on without shared memory, and later ones have it. */
static void no_memory_for_rings(void **state)
{
	(void)state;
	no_memory = true;
	connect_peers(0, 2);
	rc.shm = NULL;
	connect_peers(2, 3);
	assert_null(many[2].shm);
	assert_null(rc.shm);
	rc.shm = &all;
	no_memory = false;
	assert_false(has_ring(0) || has_ring(1));
	assert_int_equal(sent, 0);
	connect_peers(3, 4);
	assert_true(has_ring(3));
}

static void endpoint_without_shared_memory(void **state)
{
	(void)state;
	rc.shm = NULL;
	tick(1);
	rc.shm = &all;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_are_bounded, begin_offers, end_offers),
		cmocka_unit_test_setup_teardown(honest_peers_get_rings, begin_offers, end_offers),
		cmocka_unit_test_setup_teardown(slow_peers_are_waited_for, begin_offers,
						end_offers),
		cmocka_unit_test_setup_teardown(silent_peers_make_room, begin_offers, end_offers),
		cmocka_unit_test_setup_teardown(late_start_is_taken, begin_offers, end_offers),
		cmocka_unit_test_setup_teardown(early_start_is_ignored, begin_offers, end_offers),
		cmocka_unit_test_setup_teardown(ended_connections_leave, begin_offers, end_offers),
		cmocka_unit_test_setup_teardown(offers_are_tried_again, begin_offers, end_offers),
		cmocka_unit_test_setup_teardown(all_numbers_are_used, begin_offers, end_offers),
		cmocka_unit_test_setup_teardown(no_memory_for_rings, begin_offers, end_offers),
		cmocka_unit_test_setup_teardown(endpoint_without_shared_memory, begin_offers,
						end_offers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
