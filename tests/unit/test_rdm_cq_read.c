/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading a CQ: whatever completes while a packet is handled is reported. */
#include "unit.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/cq.h"
#include "prov/rdm/domain_progress.h"
#include "prov/rdm/ep.h"
#include "prov/rdm/lock.h"
#include "prov/rdm/work.h"
#include "prov/rdm/objects.h"
#include "prov/verbs/rdm/arrive.h"

enum {
	LEN = sizeof(struct ofi_rdm_wire_fast) + 8,
	CREDITS = 16,
	RESERVE = 4,
	EAGER = 256,
	TAG = 7
};

static struct ibv_context context;
static struct ibv_cq device = { .context = &context };
static struct vrb_domain domain;
static struct fi_fabric_attr fabric_attr = { .api_version = FI_VERSION(1, 17) };
static struct fi_domain_attr domain_attr = { .data_progress = FI_PROGRESS_MANUAL };
static struct fi_tx_attr tx_attr = { .size = OFI_RDM_OBJECTS };
static struct fi_info info = {
	.fabric_attr = &fabric_attr,
	.domain_attr = &domain_attr,
	.tx_attr = &tx_attr,
};
static struct fid_cq *cq;
static struct vrb_rc_ep rc;
static struct vrb_rc_peer from;
static struct ofi_rdm_peer *peers[] = { &from.rdm };
static struct vrb_rdm_rx_buf buffer;
static uint8_t bytes[LEN];
static bool has_packet, is_full;
static struct ofi_rdm_proto_out *last_out;

static int poll_device(struct ibv_cq *polled, int count, struct ibv_wc *wc)
{
	assert_ptr_equal(polled, &device);
	assert_true(count > 0);
	if (!has_packet)
		return 0;
	has_packet = false;
	rc.rx.free = NULL;
	*wc = vrb_rdm_wc_arrived(&buffer.rx, LEN, 0);
	return 1;
}

static int send_packet(struct ofi_rdm_proto_peer *peer, const void *hdr, size_t hdr_len,
		       const struct iovec *iov, size_t offset, size_t len,
		       struct ofi_rdm_proto_out *out)
{
	(void)hdr;
	(void)hdr_len;
	(void)iov;
	(void)offset;
	(void)len;
	last_out = out;
	assert_ptr_equal(peer, &from.rdm.proto);
	return is_full ? -FI_EAGAIN : 0;
}

static void open_cq(void)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED };

	domain.ctx = &context;
	domain.base.info = &info;
	assert_int_equal(ofi_rdm_domain_progress_open(&domain.base, false), 0);
	assert_int_equal(vrb_rc_cq_open(&domain.base.fid, &attr, &cq, NULL), 0);
	rc.rdm.tx_cq = rc.rdm.rx_cq = (struct ofi_rdm_cq *)cq;
	rc.rdm.tx_tagged = rc.rdm.rx_tagged = (struct ofi_rdm_cq *)cq;
	assert_int_equal(ofi_rdm_cq_attach((struct ofi_rdm_cq *)cq, &rc.rdm, false), 0);
}

/* The budget for unexpected messages has no room for a single one. */
static int begin(void **state)
{
	static const struct ofi_rdm_proto_config config = { .unexpected = 1 };
	static const struct ofi_rdm_xport_ops ops = { .send = send_packet };
	static const struct ofi_rdm_xport xport = {
		.ops = &ops,
		.props = { .ordered = true, .reliable = true, .max_packet = 4096 },
	};

	(void)state;
	memset(&rc, 0, sizeof(rc));
	memset(&from, 0, sizeof(from));
	memset(&domain, 0, sizeof(domain));
	context.ops.poll_cq = poll_device;
	rc.rdm.info = &info;
	rc.rdm.fd = -1;
	rc.rdm.peers = peers;
	vrb_rdm_poll_from(&rc, &device, 1);
	vrb_rdm_rx_init(&rc.rx, &domain, LEN, 1, 0);
	rc.rx.above = INT32_MAX;
	buffer.rx.sge.addr = (uintptr_t)bytes;
	ofi_rdm_wire_build_fast((struct ofi_rdm_wire_fast *)bytes, true, TAG);
	assert_int_equal(ofi_rdm_proto_open(&rc.rdm, &xport, &config), 0);
	from.rdm.ep = &rc.rdm;
	ofi_rdm_proto_peer_init(&rc.rdm.proto, &from.rdm.proto, 0);
	ofi_rdm_proto_peer_up(&from.rdm.proto, CREDITS, RESERVE, EAGER);
	open_cq();
	return 0;
}

static int end(void **state)
{
	(void)state;
	ofi_rdm_cq_detach((struct ofi_rdm_cq *)cq, &rc.rdm, false);
	assert_int_equal(fi_close(&cq->fid), 0);
	ofi_rdm_domain_progress_close(domain.base.progress);
	vrb_rdm_rx_fini(&rc.rx);
	ofi_rdm_objects_fini(&rc.rdm);
	free(rc.rdm.buckets);
	return 0;
}

static void send_injected(void *op_context)
{
	struct ofi_rdm_out *out = ofi_rdm_out_get(&rc.rdm);

	assert_non_null(out);
	out->proto.level = OFI_RDM_PROTO_INJECT;
	out->proto.context = op_context;
	out->flags = FI_SEND;
	ofi_rdm_proto_send(&from.rdm.proto, &out->proto);
}

/* A packet comes for a receive that is posted. */
static void packet_comes(void)
{
	struct ofi_rdm_recv *recv = ofi_rdm_recv_get(&rc.rdm, true);
	static uint8_t to[LEN];

	assert_non_null(recv);
	recv->proto.iov[0] = (struct iovec){ to, sizeof(to) };
	ofi_rdm_proto_recv_post(&rc.rdm.proto, &recv->proto, OFI_RDM_MATCH_ANY, TAG, 0);
	has_packet = true;
}

/* After this, the fast path knows for which receives it may look. */
static void receive_one(void)
{
	struct fi_cq_tagged_entry entry;

	packet_comes();
	assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
	assert_int_equal(entry.tag, TAG);
}

/* The message that exceeds the budget makes the protocol send what is queued for the peer. */
static void unexpected_message_completes_a_send(void **state)
{
	struct fi_cq_tagged_entry entry = { 0 };

	(void)state;
	receive_one();
	is_full = true;
	send_injected(&info);
	assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	is_full = false;
	has_packet = true;
	assert_int_equal(fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	assert_int_equal(fi_cq_read(cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, &info);
	assert_int_equal(entry.flags, FI_SEND);
}

/* Nobody waits for what is injected, but its loss is an error. */
static void lost_injected_message_is_reported(void **state)
{
	struct fi_msg_tagged msg = {
		.msg_iov = &(struct iovec){ bytes, LEN },
		.iov_count = 1,
		.tag = TAG,
	};
	struct fi_cq_err_entry error = { 0 };

	(void)state;
	is_full = false;
	rc.rdm.by_addr = peers;
	rc.rdm.by_addr_size = 1;
	rc.rdm.enabled = OFI_RDM_TX;
	rc.rdm.inject_size = LEN;
	assert_int_equal(ofi_rdm_send_work(&rc.rdm, &msg, FI_INJECT, true, 0, false), 0);
	assert_non_null(last_out);
	ofi_rdm_lock(&rc.rdm);
	ofi_rdm_proto_sent(&from.rdm.proto, last_out, FI_ECONNRESET);
	ofi_rdm_unlock(&rc.rdm);
	assert_int_equal(fi_cq_readerr(cq, &error, 0), 1);
	assert_int_equal(error.err, FI_ECONNRESET);
	assert_true(error.flags == (FI_SEND | FI_TAGGED));
}

/* The page with the endpoint's lock has nothing of other objects, unless pages are large. */
static void protect_lock(int access)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	assert_int_equal(mprotect((void *)((uintptr_t)&rc.rdm.lock & -page), page, access), 0);
}

/* The reader is about to enter the endpoint: the event thread was there before. */
static void put_meanwhile(int signal)
{
	(void)signal;
	protect_lock(PROT_READ | PROT_WRITE);
	ofi_rdm_cq_add((struct ofi_rdm_cq *)cq, &(struct ofi_cq_item){ .context = &info });
}

/*
 * The event thread handles a packet before the reader enters the endpoint, whose first access there
 * faults. The next packet must not overtake the entry in the ring, even if the ring was empty when
 * the call began.
 */
static void what_the_event_thread_has_put_comes_first(void **state)
{
	struct sigaction put = { .sa_handler = put_meanwhile }, before;
	struct fi_cq_tagged_entry entries[4];
	size_t count;

	(void)state;
	receive_one();
	assert_int_equal(sigaction(SIGSEGV, &put, &before), 0);
	for (count = 1; count <= 4; count++) {
		packet_comes();
		protect_lock(PROT_NONE);
		assert_int_equal(fi_cq_read(cq, entries, count), 1);
		assert_ptr_equal(entries[0].op_context, &info);
		assert_int_equal(fi_cq_read(cq, entries, count), 1);
		assert_null(entries[0].op_context);
	}
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_the_event_thread_has_put_comes_first, begin,
						end),
		cmocka_unit_test_setup_teardown(unexpected_message_completes_a_send, begin, end),
		cmocka_unit_test_setup_teardown(lost_injected_message_is_reported, begin, end),
	};

	return cmocka_run_group_tests_name("rdm_read", tests, NULL, NULL);
}
