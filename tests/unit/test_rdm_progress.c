/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Polling an endpoint beside a peer that ignores the rules of shared memory. */
#include "unit.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "prov/verbs/rdm/progress.h"
#include "shm_rig.h"

enum { NOTICES = 1000 };

static struct ofi_shm_ring_tx tx;
static struct vrb_rc_peer sender;
static struct ibv_comp_channel channel;
static struct ibv_context context;
static struct ibv_cq cq = { .context = &context, .cqe = 2 * VRB_RDM_BATCH };
static int events, notices;

int ibv_get_cq_event(struct ibv_comp_channel *from, struct ibv_cq **of, void **cq_context)
{
	assert_ptr_equal(from, &channel);
	*of = &cq;
	*cq_context = &rc.rdm;
	return events && events-- ? 0 : -1;
}

/* The peer writes another packet whatever this side asks for. */
static int request_notice(struct ibv_cq *of, int solicited)
{
	assert_ptr_equal(of, &cq);
	assert_false(solicited);
	assert_true(++notices < NOTICES);
	write_ring(&tx, 0);
	return 0;
}

static int begin_polling(void **state)
{
	begin(state);
	tx = (struct ofi_shm_ring_tx){ .map = &map };
	all.context.ops.poll_cq = vrb_shm_poll_cq;
	all.cq.context = &all.context;
	context.ops.req_notify_cq = request_notice;
	vrb_rdm_poll_from(&rc, &all.cq, VRB_RDM_BATCH);
	rc.cq = &cq;
	rc.channel = &channel;
	rc.rx.above = INT32_MAX;
	STAILQ_INIT(&sender.rdm.ops);
	sender.rdm.ep = &rc.rdm;
	conn.peer = &sender.rdm;
	conn.live = true;
	rc.conns.armed = UINT64_MAX;
	rc.conns.timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	assert_true(rc.conns.timer.fd >= 0);
	give_buffer(0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	close(rc.conns.timer.fd);
	return 0;
}

/* Another peer has cleared the bell, and the peer that rang it ends. */
static void packet_without_a_bell_arrives(void **state)
{
	(void)state;
	write_ring(&tx, 0);
	all.bell->bells[0] = 0;
	all.turn = all.polls = 1;
	vrb_rdm_poll_all(&rc.rdm);
	assert_int_equal(map.read, tx.written);
}

/* A thread that is about to sleep does not poll for as long as the peer likes. */
static void endless_packets_are_left_to_the_event_thread(void **state)
{
	struct pollfd timer = { .fd = rc.conns.timer.fd, .events = POLLIN };

	(void)state;
	events = 1;
	assert_int_equal(vrb_rdm_arm(&rc.rdm.proto), -FI_EAGAIN);
	assert_int_equal(poll(&timer, 1, 1000), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(packet_without_a_bell_arrives, begin_polling, end),
		cmocka_unit_test_setup_teardown(endless_packets_are_left_to_the_event_thread,
						begin_polling, end),
	};

	return cmocka_run_group_tests_name("rdm_progress", tests, NULL, NULL);
}
