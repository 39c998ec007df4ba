/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which rings are looked at: those whose bells are rung, the latest one, and each in turn. */
#include "unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "shm_rig.h"

static int poll_all(struct ibv_wc *wc)
{
	return vrb_shm_poll_cq(&all.cq, ROOM, wc);
}

/* The bell of the ring that delivered last stays rung: its writer need not write it again. */
static void latest_ring_keeps_its_bell(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		give_buffer(0);
		write_ring(&tx, 0);
		assert_int_equal(poll_all(wc), 1);
		assert_int_equal(bell.bells[0], 1);
		assert_int_equal(poll_all(wc), 0);
		assert_int_equal(all.ready[0], 0);
	}
}

/* The writer does not write the bell while it is rung: here, it could not. */
static void rung_bell_is_not_written(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	(void)state;
	post_three(7);
	shm.bell = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(shm.bell, MAP_FAILED);
	shm.bell->bells[0] = ~0ULL;
	assert_int_equal(mprotect(shm.bell, page, PROT_READ), 0);
	assert_int_equal(vrb_shm_post_send(&shm.qp, &wr, &bad), 0);
	assert_int_equal(munmap(shm.bell, page), 0);
	shm.bell = NULL;
}

/* Another ring delivered after this one, whose bell is taken before the ring is looked at. */
static void earlier_ring_loses_its_bell(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	all.latest = 1;
	give_buffer(0);
	write_ring(&tx, 0);
	bell.bells[0] |= 2;
	assert_int_equal(poll_all(wc), 1);
	assert_int_equal(bell.bells[0], 2);
}

/* Another peer clears the bell, and the packet is found in turn. */
static void bell_cleared(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];
	uint32_t polls;

	(void)state;
	give_buffer(0);
	write_ring(&tx, 0);
	bell.bells[0] = 0;
	for (polls = 1; !poll_all(wc); polls++)
		assert_true(polls < 16 * all.size);
	assert_ptr_equal(vrb_rdm_rx_of(&wc[0]), &buffers[0].rx);
}

/* A packet that was there before the endpoint sleeps is found by the next poll, without a bell. */
static void before_sleep(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	give_buffer(0);
	all.turn = 5;
	write_ring(&tx, 0);
	bell.bells[0] = 0;
	vrb_shm_arm(&rc.rdm);
	assert_int_equal(poll_all(wc), 1);
}

/* Another peer has cleared the bell, and the peer that rang it ends. */
static void lost_bell_is_found(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	give_buffer(0);
	write_ring(&tx, 0);
	all.bell->bells[0] = 0;
	assert_true(vrb_shm_drain_begin(&rc.rdm, 1));
	assert_int_equal(poll_all(wc), 1);
	assert_ptr_equal(vrb_rdm_rx_of(wc), &buffers[0].rx);
	vrb_shm_drain_end(&rc.rdm);
	assert_int_equal(poll_all(wc), 0);
	assert_int_equal(all.ready[0], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(latest_ring_keeps_its_bell, begin),
		cmocka_unit_test_setup(rung_bell_is_not_written, begin),
		cmocka_unit_test_setup(earlier_ring_loses_its_bell, begin),
		cmocka_unit_test_setup(bell_cleared, begin),
		cmocka_unit_test_setup(before_sleep, begin),
		cmocka_unit_test_setup(lost_bell_is_found, begin),
	};

	return cmocka_run_group_tests_name("rdm_shm_bell", tests, NULL, NULL);
}
