/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads by the device on connections through SRD queue pairs: what is read this way, what has to
 * wait for what, and what becomes of a work request whose memory the device may still write to.
 * WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/proto.h"
#include "prov/verbs/rdm/arrive.h"
#include "prov/verbs/rdm/conn.h"
#include "capture.h"
#include "ud_net.h"

enum { LONG = 3000, MAX_READ = 1000, WORKS = 400, WINDOW = 12 };

static const struct ud_net_params calm = { .srd = true, .max_read = MAX_READ };
static const struct ud_net_params stuck = { .srd = true, .reads_wait = true };

static struct ud_conn *active, *passive;
static struct ofi_rdm_proto_in message;
static struct vrb_rdm_slot slots[8];
static uint8_t buffer[LONG], other[LONG];

static bool short_of_memory; /* for answering reads */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
	return short_of_memory && size == sizeof(struct vrb_ud_job) ? NULL : __real_malloc(size);
}

static void begin_with(uint64_t seed, const struct ud_net_params *params)
{
	memset(slots, 0, sizeof(slots));
	ud_net_begin(seed, params);
	ud_net_join(0, 1, &active, &passive);
}

static int begin(void **state)
{
	size_t i;

	(void)state;
	begin_with(7, &calm);
	for (i = 0; i < LONG; i++)
		ud_nodes[1].region[i] = (uint8_t)(i * 7 + (i >> 8));
	memset(buffer, 0, sizeof(buffer));
	return 0;
}

static int end(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_set(&calm);
	ud_net_watch(5000, counts);
	ud_net_end();
	return 0;
}

static uint64_t place(size_t at)
{
	return (uintptr_t)ud_nodes[1].region + at;
}

/* Posts a read of the application. */
static void read_some(struct vrb_rdm_slot *slot, uint8_t *to, uint32_t len)
{
	slot->flags = (uint64_t)VRB_RDM_OP << OFI_RDM_KIND_SHIFT;
	assert_int_equal(ud_net_post(active, IBV_WR_RDMA_READ, to, len, place(0),
				     ud_nodes[1].mr.rkey, (uintptr_t)slot),
			 0);
}

/* Posts a read of a part of a message. */
static void read_message(struct vrb_rdm_slot *slot, uint8_t *to, uint32_t len, uint64_t total)
{
	message.total = total;
	slot->context = &message;
	slot->flags = (uint64_t)VRB_RDM_READ << OFI_RDM_KIND_SHIFT;
	assert_int_equal(ud_net_post(active, IBV_WR_RDMA_READ, to, len, place(0),
				     ud_nodes[1].mr.rkey, (uintptr_t)slot),
			 0);
}

static void write_some(struct vrb_rdm_slot *slot, uint8_t *from, uint32_t len)
{
	assert_int_equal(ud_net_post(active, IBV_WR_RDMA_WRITE, from, len, place(0),
				     ud_nodes[1].mr.rkey, (uintptr_t)slot),
			 0);
}

static void done(uint64_t us, unsigned int successes)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	ud_net_watch(us, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], successes);
}

static void read_is_right(const uint8_t *bytes, uint32_t len)
{
	assert_memory_equal(bytes, ud_nodes[1].region, len);
}

/* The device reads in parts of what it can; shorter reads are answered by the peer's process. */
static void long_reads_are_direct(void **state)
{
	(void)state;
	ud_net_set(&stuck);
	read_some(&slots[0], buffer, UD_MIN_READ - 1);
	assert_int_equal(ud_net_reading(), 0);
	done(2000, 1);
	read_is_right(buffer, UD_MIN_READ - 1);
	/* The last part ends where the read ends. */
	read_some(&slots[1], buffer, LONG - 1);
	assert_int_equal(ud_net_reading(), LONG / MAX_READ);
	done(2000, 0);
	ud_net_set(&calm);
	done(2000, 1);
	read_is_right(buffer, LONG - 1);
	assert_int_equal(buffer[LONG - 1], 0);
}

static void long_messages_are_direct(void **state)
{
	(void)state;
	ud_net_set(&stuck);
	read_message(&slots[0], buffer, LONG, UD_MIN_MESSAGE - 1);
	assert_int_equal(ud_net_reading(), 0);
	done(2000, 1);
	/* The message counts, not the part of it. */
	read_message(&slots[1], buffer, 10, UD_MIN_MESSAGE);
	read_message(&slots[2], other, LONG, UD_MIN_MESSAGE);
	assert_int_equal(ud_net_reading(), 1 + LONG / MAX_READ);
	ud_net_set(&calm);
	done(2000, 2);
	read_is_right(other, LONG);
}

/* Both ends must have a device that reads. */
static void a_peer_without_reads_sends(void **state)
{
	struct ud_conn *old = passive;

	(void)state;
	ud_net_close(active);
	ud_net_close(old);
	ud_nodes[1].domain.max_read = 0;
	ud_net_join(0, 1, &active, &passive);
	read_some(&slots[0], buffer, LONG);
	assert_int_equal(ud_net_reading(), 0);
	done(2000, 1);
	read_is_right(buffer, LONG);
}

/* With a job secret, which the device does not check. */
static void a_secret_forbids_reads(void **state)
{
	(void)state;
	ud_net_close(active);
	ud_net_close(passive);
	ud_nodes[0].rc.conns.secret = (struct vrb_rdm_secret *)(void *)buffer;
	ud_net_join(0, 1, &active, &passive);
	assert_false(active->rc.ud->direct || passive->rc.ud->direct);
	ud_nodes[0].rc.conns.secret = NULL;
}

/* The write is under way; the read behind it waits, and so do those behind that. */
static void reads_stay_behind_writes(void **state)
{
	const struct ud_net_params slow = { .srd = true, .loss = 1000 };

	(void)state;
	memset(other, 0x55, sizeof(other));
	ud_net_set(&slow);
	write_some(&slots[0], other, LONG);
	read_some(&slots[1], buffer, LONG);
	read_some(&slots[2], other, 10);
	ud_net_set(&stuck);
	assert_int_equal(ud_net_reading(), 0);
	done(1000000, 1);
	assert_int_equal(ud_net_reading(), LONG / MAX_READ);
	assert_int_equal(active->rc.ud->reads, 1);
	ud_net_set(&calm);
	done(5000, 2);
	assert_int_equal(buffer[LONG - 1], 0x55);
}

/*
 * The first packet is late, so the message behind it has arrived, and is acknowledged, when there
 * is no receive for it, and the write behind that is not carried out.
 */
static void reads_stay_behind_what_waits_for_a_receive(void **state)
{
	const struct ud_net_params slow = { .srd = true, .loss = 1000 };
	uint32_t tail = ud_nodes[1].rc.ud->recv_tail;

	(void)state;
	memset(other, 0x66, sizeof(other));
	ud_net_set(&slow);
	write_some(&slots[0], other, 10);
	ud_net_set(&calm);
	assert_int_equal(ud_net_post(active, IBV_WR_SEND, other, 10, 0, 0, (uintptr_t)&slots[1]),
			 0);
	write_some(&slots[2], other, LONG);
	read_some(&slots[3], buffer, LONG);
	done(1000, 0);
	ud_nodes[1].rc.ud->recv_tail = ud_nodes[1].rc.ud->recv_head;
	done(100000, 2);
	assert_true(vrb_ud_is_listed(passive->rc.ud, VRB_UD_STALLED));
	assert_int_equal(ud_net_reading(), 0);
	ud_nodes[1].rc.ud->recv_tail = tail;
	done(3000, 3);
	assert_int_equal(buffer[LONG - 1], 0x66);
}

/* Reads of messages overtake: their memory does not change. */
static void messages_do_not_wait(void **state)
{
	const struct ud_net_params slow = { .srd = true, .loss = 1000, .reads_wait = true };

	(void)state;
	ud_net_set(&slow);
	write_some(&slots[0], other, LONG);
	read_message(&slots[1], buffer, LONG, LONG);
	assert_int_equal(ud_net_reading(), LONG / MAX_READ);
	ud_net_set(&calm);
	done(1000000, 2);
}

static void failed(enum ibv_wc_status status, uint32_t code, enum ibv_wc_status first, int err)
{
	const struct ud_net_params failing = { .read_error = status, .vendor_err = code };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	ud_net_set(&failing);
	read_some(&slots[0], buffer, UD_MIN_READ);
	read_some(&slots[1], other, LONG);
	ud_net_watch(2000, counts);
	assert_int_equal(counts[first], 1);
	assert_int_equal(counts[IBV_WC_WR_FLUSH_ERR], 1);
	assert_int_equal(active->err, err);
}

/* The peer is told that the connection has ended. libefa 44 has no status for this code. */
static void a_wrong_key_ends_the_connection(void **state)
{
	(void)state;
	failed(IBV_WC_GENERAL_ERR, 7, IBV_WC_REM_ACCESS_ERR, 0);
	assert_int_equal(passive->endings, 1);
	assert_int_equal(passive->err, FI_ECONNRESET);
}

/* The log does not say that the peer violates the protocol. */
static void without_memory_the_connection_ends(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	const char *log;

	(void)state;
	read_some(&slots[0], buffer, UD_MIN_READ - 1);
	capture_start();
	short_of_memory = true;
	ud_net_watch(2000, counts);
	short_of_memory = false;
	log = capture_stop();
	assert_non_null(strstr(log, "out of memory"));
	assert_null(strstr(log, "violates"));
	assert_int_equal(passive->err, FI_ENOMEM);
	assert_int_equal(active->endings, 1);
	assert_int_equal(active->err, FI_ECONNRESET);
}

static void a_wrong_local_key_ends_the_connection(void **state)
{
	(void)state;
	failed(IBV_WC_LOC_PROT_ERR, 5, IBV_WC_LOC_PROT_ERR, 0);
	assert_int_equal(passive->endings, 1);
}

static void a_peer_that_is_gone_is_told(void **state)
{
	(void)state;
	failed(IBV_WC_REM_INV_RD_REQ_ERR, 0, IBV_WC_REM_INV_RD_REQ_ERR, FI_ECONNRESET);
}

static void a_host_that_is_silent_is_told(void **state)
{
	(void)state;
	failed(IBV_WC_RESP_TIMEOUT_ERR, 0, IBV_WC_RESP_TIMEOUT_ERR, FI_ETIMEDOUT);
}

/* The device may still write to the memory. */
static void nothing_completes_before_the_device_is_done(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_set(&stuck);
	read_some(&slots[0], buffer, LONG);
	read_some(&slots[1], other, 10);
	assert_true(vrb_ud_conn_flush(&active->rc));
	ud_net_watch(10000, counts);
	assert_int_equal(counts[IBV_WC_WR_FLUSH_ERR], 0);
	ud_net_set(&calm);
	ud_net_watch(2000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 1);
	assert_int_equal(counts[IBV_WC_WR_FLUSH_ERR], 1);
}

/* The first read is complete when the connection fails, the second is not. */
static void what_was_read_completes(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_set(&stuck);
	read_message(&slots[0], buffer, MAX_READ, LONG);
	read_message(&slots[1], other, LONG, LONG);
	assert_true(vrb_ud_conn_flush(&active->rc));
	ud_net_set(&calm);
	ud_net_watch(2000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 2);
}

/* What the device reports later concerns nobody, though the next connection has the same memory. */
static void a_connection_is_freed_while_the_device_reads(void **state)
{
	const struct ud_net_params slow = { .srd = true, .loss = 1000, .reads_wait = true };
	const struct ud_net_params lossy = { .srd = true, .loss = 1000 };

	(void)state;
	ud_net_set(&slow);
	read_some(&slots[0], buffer, LONG);
	ud_net_close(active);
	ud_net_join(0, 1, &active, &passive);
	read_some(&slots[1], other, 10);
	ud_net_set(&lossy);
	done(2000, 0);
	ud_net_set(&calm);
	done(1000000, 1);
	read_is_right(other, 10);
	assert_int_equal(active->endings, 0);
	assert_int_equal(ud_nodes[0].rc.ud->sq_head, ud_nodes[0].rc.ud->sq_tail);
}

/* It may end without a work request that waits for the reads, if there is no memory for that. */
static void a_connection_is_kept_while_the_device_reads(void **state)
{
	(void)state;
	ud_net_set(&stuck);
	read_message(&slots[0], buffer, LONG, LONG);
	done(1000, 0);
	assert_false(vrb_rc_conn_freeable(&active->rc, UINT64_MAX));
	assert_true(vrb_rc_conn_freeable(&passive->rc, UINT64_MAX));
	ud_net_set(&calm);
	done(5000, 1);
	assert_true(vrb_rc_conn_freeable(&active->rc, UINT64_MAX));
}

static void a_full_queue_is_waited_for(void **state)
{
	const struct ud_net_params full = { .srd = true, .no_reads = ENOMEM };

	(void)state;
	ud_net_set(&full);
	read_some(&slots[0], buffer, LONG);
	assert_int_equal(ud_net_reading(), 0);
	ud_net_set(&calm);
	done(2000, 1);
	read_is_right(buffer, LONG);
}

/* The peer is told. What the device has taken before completes, and only then what it has not. */
static void a_read_that_is_not_taken_ends_the_connection(void **state)
{
	const struct ud_net_params broken = { .srd = true, .reads_wait = true, .no_reads = EINVAL };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_set(&stuck);
	read_message(&slots[0], buffer, MAX_READ, LONG);
	ud_net_set(&broken);
	read_message(&slots[1], other, LONG, LONG);
	read_message(&slots[2], other, LONG, LONG);
	ud_net_watch(2000, counts);
	assert_int_equal(counts[IBV_WC_LOC_QP_OP_ERR], 0);
	assert_int_equal(passive->endings, 1);
	assert_int_equal(passive->err, FI_ECONNRESET);
	ud_net_set(&calm);
	ud_net_watch(2000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 1);
	assert_int_equal(counts[IBV_WC_LOC_QP_OP_ERR], 1);
	assert_int_equal(counts[IBV_WC_WR_FLUSH_ERR], 1);
}

static unsigned int successes, cancels;

void __wrap_ofi_rdm_proto_read_done(struct ofi_rdm_proto_in *in, int err);

void __wrap_ofi_rdm_proto_read_done(struct ofi_rdm_proto_in *in, int err)
{
	assert_ptr_equal(in, &message);
	/* Whoever learns of an end may free the memory. */
	assert_int_equal(err ? ud_net_reading() : 0, 0);
	successes += !err;
	cancels += err == FI_ECANCELED;
}

/* Closes the endpoint while messages are read, of which the device can take a few at a time. */
static void close_while_it_reads(const struct ud_net_params *params)
{
	struct ofi_rdm_ep *ep = &ud_nodes[0].rc.rdm;
	struct vrb_rc_conn *conn = &active->rc;
	unsigned int i;

	successes = cancels = 0;
	ud_net_set(&stuck);
	for (i = 0; i < VRB_UD_READS + 2; i++) {
		conn->slots[conn->head & conn->mask].conn = conn;
		read_message(&conn->slots[conn->head++ & conn->mask], buffer, LONG, LONG);
	}
	assert_int_equal(ud_net_reading(), VRB_UD_READS * LONG / MAX_READ);
	ud_net_set(params);
	ud_nodes[0].rc.conns.timer.fd = -1;
	ep->closing = true;
	ud_net_yields = true;
	vrb_rdm_conn_close(ep);
	ud_net_yields = false;
	assert_int_equal(ud_net_reading(), 0);
	assert_int_equal(successes + cancels, VRB_UD_READS + 2);
	ud_net_set(&calm);
	done(2000, 0);
	assert_int_equal(passive->endings, 1);
}

static void a_closing_endpoint_waits_for_its_reads(void **state)
{
	(void)state;
	close_while_it_reads(&calm);
	assert_int_equal(successes, VRB_UD_READS);
}

static void a_closing_endpoint_ends_reads_that_take_long(void **state)
{
	(void)state;
	close_while_it_reads(&stuck);
	assert_int_equal(successes, 0);
}

/* A peer that answers a read of the device sends what nobody has asked for. */
static void data_for_a_read_of_the_device_are_refused(void **state)
{
	struct vrb_ud_packet packet = { .kind = VRB_UD_DATA,
					.to = active->rc.qp_num,
					.from = passive->rc.qp_num,
					.words = { .next = active->rc.ud->ack.next },
					.payload = other,
					.len = 10 };
	uint8_t bytes[VRB_UD_HEAD_MAX + 10] __attribute__((aligned(8)));
	size_t len = vrb_ud_build(bytes, &packet);

	(void)state;
	ud_net_set(&stuck);
	read_some(&slots[0], buffer, LONG);
	vrb_ud_stamp(bytes, passive->rc.ud->ack.next, 1, &packet.words, 0);
	memset(bytes + len, 0x77, 10);
	ud_net_inject(1, ud_net_qpn(1), 0, bytes, len + 10);
	done(1, 0);
	assert_int_equal(active->err, FI_ECONNABORTED);
	assert_int_equal(buffer[0], 0);
	ud_net_set(&calm);
	done(2000, 1);
}

/*
 * Two numbers at the target: its process counts the first up, and the peer writes the second. Reads
 * see neither go back, and each sees what was written before it.
 */
struct work {
	struct vrb_rdm_slot slot; /* first */
	bool reads;
	uint32_t wrote; /* the last number written before */
	uint32_t cells[UD_MIN_READ];
};

static uint32_t wrote, seen[2];
static unsigned int posted, completed;

static void post_any(void)
{
	struct work *work = calloc(1, sizeof(*work));
	uint32_t len = ud_net_any(2) ? LONG : UD_MIN_READ / 2;
	enum ibv_wr_opcode opcode = ud_net_any(2) ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;

	assert_non_null(work);
	work->reads = opcode == IBV_WR_RDMA_READ;
	work->slot.flags = (uint64_t)VRB_RDM_OP << OFI_RDM_KIND_SHIFT;
	if (!work->reads)
		work->cells[0] = ++wrote;
	work->wrote = wrote;
	assert_int_equal(ud_net_post(active, opcode, work->cells, work->reads ? len : 4,
				     place(work->reads ? 0 : 4), ud_nodes[1].mr.rkey,
				     (uintptr_t)work),
			 0);
	posted++;
}

static void take(const struct ibv_wc *wc)
{
	struct work *work = (struct work *)(uintptr_t)wc->wr_id;

	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	completed++;
	if (work->reads) {
		assert_true(work->cells[0] >= seen[0]);
		assert_true(work->cells[1] >= seen[1]);
		assert_true(work->cells[1] >= work->wrote);
		seen[0] = work->cells[0];
		seen[1] = work->cells[1];
	}
	free(work);
}

static void run(uint64_t seed)
{
	struct ud_net_params params = { .srd = true, .max_read = MAX_READ };
	unsigned int rounds;
	struct ibv_wc wc;

	params.unready = seed % 3 * 50;
	params.delayed = seed % 4 * 300;
	begin_with(seed, &params);
	wrote = seen[0] = seen[1] = posted = completed = 0;
	for (rounds = 0; completed < WORKS && rounds < 1000000; rounds++) {
		if (posted < WORKS && posted - completed < WINDOW && !ud_net_any(3))
			post_any();
		if (!ud_net_any(3))
			++*(uint32_t *)(void *)ud_nodes[1].region;
		while (ud_net_poll(0, &wc))
			take(&wc);
		assert_false(ud_net_poll(1, &wc));
		ud_net_pass(ud_net_any(4) ? ud_net_any(20) : ud_net_any(400));
	}
	assert_int_equal(completed, WORKS);
	ud_net_end();
}

static void order_is_kept(void **state)
{
	uint64_t seed, count = ud_net_seeds();

	(void)state;
	for (seed = 1; seed <= count; seed++)
		run(seed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(long_reads_are_direct),
		TEST(long_messages_are_direct),
		TEST(a_peer_without_reads_sends),
		TEST(a_secret_forbids_reads),
		TEST(reads_stay_behind_writes),
		TEST(reads_stay_behind_what_waits_for_a_receive),
		TEST(messages_do_not_wait),
		TEST(a_wrong_key_ends_the_connection),
		TEST(without_memory_the_connection_ends),
		TEST(a_wrong_local_key_ends_the_connection),
		TEST(a_peer_that_is_gone_is_told),
		TEST(a_host_that_is_silent_is_told),
		TEST(nothing_completes_before_the_device_is_done),
		TEST(what_was_read_completes),
		TEST(a_connection_is_freed_while_the_device_reads),
		TEST(a_connection_is_kept_while_the_device_reads),
		TEST(a_full_queue_is_waited_for),
		TEST(a_read_that_is_not_taken_ends_the_connection),
		TEST(a_closing_endpoint_waits_for_its_reads),
		TEST(a_closing_endpoint_ends_reads_that_take_long),
		TEST(data_for_a_read_of_the_device_are_refused),
		cmocka_unit_test(order_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
