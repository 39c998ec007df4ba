/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RMA events: what is sent to the target, when it has to wait, and what the target does with it. */
#include "unit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "prov/verbs/provider/mr.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/rdm/conn.h"
#include "prov/rdm/cq.h"
#include "prov/rdm/reply.h"
#include "prov/rdm/rma_event.h"
#include "prov/verbs/rdm/progress.h"

static struct ofi_rdm_ep ep;
static struct ofi_rdm_peer peer;
static struct ofi_domain domain;
static struct fi_info info;
static struct ofi_cntr cntrs[2];
static uint8_t sent[512];
static size_t sent_len;
static unsigned int sends, regions[2];
static bool full;
static uint64_t keys[8];
static struct ofi_cq_item put;
static unsigned int entries, answers, shortages;
static bool out_of_memory;

struct fi_provider vrb_prov = { .name = "verbs" };
struct vrb_params vrb_params;

static int send_packet(struct ofi_rdm_op *op, const void *hdr, size_t hdr_len)
{
	assert_ptr_equal(op->peer, &peer);
	if (full)
		return -FI_EAGAIN;
	sent_len = hdr_len;
	assert_true(sent_len <= sizeof(sent));
	memcpy(sent, hdr, hdr_len);
	sends++;
	return 0;
}

static void count_region(struct ofi_domain *of, uint64_t key, uint64_t what)
{
	assert_ptr_equal(of, &domain);
	keys[(regions[0] + regions[1]) % (sizeof(keys) / sizeof(keys[0]))] = key;
	regions[0] += !!(what & FI_REMOTE_READ);
	regions[1] += !!(what & FI_REMOTE_WRITE);
}

static const struct ofi_domain_ops domain_ops = { .mr_count = count_region };

fi_addr_t ofi_rdm_peer_source(struct ofi_rdm_peer *of)
{
	assert_ptr_equal(of, &peer);
	return 17;
}

void ofi_rdm_put(struct ofi_rdm_ep *at, struct ofi_rdm_cq *cq, const struct ofi_cq_item *item)
{
	assert_ptr_equal(at, &ep);
	assert_ptr_equal(cq, ep.rx_cq);
	put = *item;
	entries++;
}

bool ofi_rdm_answer(struct ofi_rdm_peer *to, const struct ofi_rdm_wire_packet *packet,
		    const void *payload, size_t len)
{
	assert_ptr_equal(to, &peer);
	assert_false(payload || len);
	sent_len = ofi_rdm_wire_build(sent, packet);
	answers++;
	return !out_of_memory;
}

static void run_short(struct ofi_rdm_proto_peer *of, enum ofi_rdm_wire_error error)
{
	assert_ptr_equal(of, &peer.proto);
	assert_int_equal(error, OFI_RDM_WIRE_E_MEMORY);
	shortages++;
}

static const struct ofi_rdm_xport_ops xport = { .send_op = send_packet, .fault = run_short };

static int begin(void **state)
{
	(void)state;
	memset(&ep, 0, sizeof(ep));
	memset(&peer, 0, sizeof(peer));
	memset(cntrs, 0, sizeof(cntrs));
	memset(regions, 0, sizeof(regions));
	info.caps = FI_RMA | FI_RMA_EVENT;
	domain.ops = &domain_ops;
	ep.domain = &domain;
	ep.info = &info;
	ep.rx_cq = (struct ofi_rdm_cq *)&ep; /* only passed on */
	ep.cntrs[OFI_RDM_REMOTE_READ] = &cntrs[0];
	ep.cntrs[OFI_RDM_REMOTE_WRITE] = &cntrs[1];
	peer.ep = &ep;
	peer.proto.proto = &ep.proto;
	ep.proto.xport.ops = &xport;
	ofi_rdm_flow_init(&peer.proto.flow, 8, 2);
	sends = entries = answers = shortages = 0;
	out_of_memory = false;
	full = false;
	return 0;
}

static struct ofi_rdm_op write_op(void)
{
	return (struct ofi_rdm_op){
		.peer = &peer,
		.kind = OFI_RDM_OP_WRITE,
		.has_data = true,
		.data = 0x1122334455667788,
		.total = 300,
		.remote_count = 3,
		.remote = { { .addr = 8, .len = 100, .key = 5 },
			    { .addr = 16, .len = 0, .key = 6 },
			    { .addr = 24, .len = 200, .key = 7 } },
	};
}

static struct ofi_rdm_wire_packet parsed(void)
{
	struct ofi_rdm_wire_packet packet;

	assert_int_equal(ofi_rdm_wire_parse(sent, sent_len, &packet), OFI_RDM_WIRE_OK);
	assert_int_equal(packet.type, OFI_RDM_WIRE_RMA_EVENT);
	return packet;
}

static void a_write_is_told(void **state)
{
	struct ofi_rdm_op op = write_op();
	struct ofi_rdm_wire_packet packet;
	struct ofi_rdm_wire_region region;

	(void)state;
	assert_int_equal(ofi_rdm_rma_event_post(&op), 0);
	assert_int_equal(sends, 1);
	assert_int_equal(op.inflight, 1);
	assert_int_equal(peer.proto.flow.credits, 7);
	packet = parsed();
	assert_int_equal(packet.flags, OFI_RDM_WIRE_DATA);
	assert_int_equal(packet.total, 300);
	assert_int_equal(packet.data, op.data);
	/* Nothing is said of a region of which nothing was written. */
	assert_int_equal(packet.count, 2);
	ofi_rdm_wire_get_region(packet.list, 1, &region);
	assert_int_equal(region.addr, 24);
	assert_int_equal(region.len, 200);
	assert_int_equal(region.key, 7);
}

static void a_read_is_told_when_it_is_done(void **state)
{
	struct ofi_rdm_op op = write_op();

	(void)state;
	op.kind = OFI_RDM_OP_READ;
	op.has_data = false;
	ofi_rdm_rma_event_read(&op);
	assert_int_equal(sends, 0); /* behind what is owed already */
	assert_int_equal(answers, 1);
	assert_int_equal(shortages, 0);
	assert_int_equal(parsed().flags, OFI_RDM_WIRE_READ);
	assert_int_equal(parsed().count, 2);
	out_of_memory = true;
	ofi_rdm_rma_event_read(&op);
	assert_int_equal(shortages, 1);
}

static void without_credit_it_waits(void **state)
{
	struct ofi_rdm_op op = write_op();

	(void)state;
	peer.proto.flow.credits = peer.proto.flow.reserve;
	assert_int_equal(ofi_rdm_rma_event_post(&op), -FI_EAGAIN);
	assert_int_equal(sends, 0);
	assert_int_equal(peer.proto.flow.credits, 2);
}

static void a_full_device_takes_nothing(void **state)
{
	struct ofi_rdm_op op = write_op();

	(void)state;
	full = true;
	assert_int_equal(ofi_rdm_rma_event_post(&op), -FI_EAGAIN);
	assert_int_equal(op.inflight, 0);
	assert_int_equal(peer.proto.flow.credits, 8);
}

static struct ofi_rdm_wire_packet note(uint8_t flags, uint8_t *list)
{
	static const uint64_t named[3] = { 5, 7, 5 };
	uint8_t i;

	for (i = 0; i < 3; i++)
		ofi_rdm_wire_put_region(list, i, &(struct ofi_rdm_wire_region){ 0, 1, named[i] });
	return (struct ofi_rdm_wire_packet){ .type = OFI_RDM_WIRE_RMA_EVENT,
					     .flags = flags,
					     .total = 300,
					     .data = 9,
					     .count = 3,
					     .list = list };
}

static void the_target_counts_and_completes(void **state)
{
	uint8_t list[3 * sizeof(struct ofi_rdm_wire_region)];
	struct ofi_rdm_wire_packet packet = note(OFI_RDM_WIRE_DATA, list);

	(void)state;
	assert_int_equal(ofi_rdm_rma_event(&peer, &packet), OFI_RDM_WIRE_OK);
	assert_int_equal(cntrs[0].value, 0);
	assert_int_equal(cntrs[1].value, 1);
	/* A region that is named twice counts once. */
	assert_int_equal(regions[1], 2);
	assert_int_equal(keys[0], 5);
	assert_int_equal(keys[1], 7);
	assert_int_equal(entries, 1);
	assert_true(put.flags == (FI_RMA | FI_REMOTE_CQ_DATA | FI_REMOTE_WRITE));
	assert_int_equal(put.len, 300);
	assert_int_equal(put.data, 9);
	assert_int_equal(put.src, 17);

	packet = note(OFI_RDM_WIRE_READ, list);
	assert_int_equal(ofi_rdm_rma_event(&peer, &packet), OFI_RDM_WIRE_OK);
	assert_int_equal(cntrs[0].value, 1);
	assert_int_equal(regions[0], 2);
	assert_int_equal(entries, 1);
}

static void the_target_may_want_none(void **state)
{
	uint8_t list[3 * sizeof(struct ofi_rdm_wire_region)];
	struct ofi_rdm_wire_packet packet = note(OFI_RDM_WIRE_DATA, list);

	(void)state;
	info.caps = FI_RMA;
	ep.rx_cq = NULL;
	assert_int_equal(ofi_rdm_rma_event(&peer, &packet), OFI_RDM_WIRE_OK);
	ofi_rdm_rma_event_atomic(&ep, &packet);
	info.caps = FI_RMA | FI_RMA_EVENT;
	ep.closing = true;
	assert_int_equal(ofi_rdm_rma_event(&peer, &packet), OFI_RDM_WIRE_OK);
	assert_int_equal(cntrs[1].value, 0);
	assert_int_equal(entries, 0);
}

/* A program that uses messages only takes the context of each completion for its own. */
static void data_needs_the_capability(void **state)
{
	uint8_t list[3 * sizeof(struct ofi_rdm_wire_region)];
	struct ofi_rdm_wire_packet packet = note(OFI_RDM_WIRE_DATA, list);

	(void)state;
	info.caps = FI_TAGGED | FI_MSG;
	assert_int_equal(ofi_rdm_rma_event(&peer, &packet), OFI_RDM_WIRE_E_RMA);
	assert_int_equal(entries, 0);
	packet.flags = 0;
	assert_int_equal(ofi_rdm_rma_event(&peer, &packet), OFI_RDM_WIRE_OK);
	assert_int_equal(entries, 0);
}

/* They need no receive: who makes more than anybody reads is cut off. */
static void entries_that_nobody_reads(void **state)
{
	enum { MOST = 100 };
	static struct ofi_rdm_cq cq;
	uint8_t list[3 * sizeof(struct ofi_rdm_wire_region)];
	struct ofi_rdm_wire_packet packet = note(OFI_RDM_WIRE_DATA, list);
	enum ofi_rdm_wire_error error = OFI_RDM_WIRE_OK;

	(void)state;
	ep.rx_cq = &cq;
	ep.proto.budget.most = MOST * sizeof(struct ofi_cq_item);
	while (!error && entries < 10 * MOST) {
		cq.ring.ahead = entries;
		error = ofi_rdm_rma_event(&peer, &packet);
	}
	assert_int_equal(error, OFI_RDM_WIRE_E_MEMORY);
	assert_int_equal(entries, MOST + 1);
	/* Somebody reads. */
	cq.ring.head = cq.ring.ahead;
	assert_int_equal(ofi_rdm_rma_event(&peer, &packet), OFI_RDM_WIRE_OK);
}

static void atomics_count(void **state)
{
	uint8_t list[2 * sizeof(struct ofi_rdm_wire_target)];
	struct ofi_rdm_wire_packet packet = { .count = 1, .list = list };

	(void)state;
	ofi_rdm_wire_put_target(list, 0, &(struct ofi_rdm_wire_target){ .key = 3, .count = 1 });
	packet.atomic.kind = OFI_RDM_WIRE_ATOMIC_WRITE;
	ofi_rdm_rma_event_atomic(&ep, &packet);
	assert_int_equal(cntrs[1].value, 1);
	assert_int_equal(regions[1], 1);
	packet.atomic.kind = OFI_RDM_WIRE_ATOMIC_FETCH;
	ofi_rdm_rma_event_atomic(&ep, &packet);
	assert_int_equal(cntrs[0].value, 1);
	assert_int_equal(keys[1], 3);
	/* It changes memory, too. */
	assert_int_equal(cntrs[1].value, 2);
	assert_int_equal(regions[0], 1);
	assert_int_equal(regions[1], 2);
	packet.atomic.kind = OFI_RDM_WIRE_ATOMIC_COMPARE;
	ofi_rdm_rma_event_atomic(&ep, &packet);
	assert_int_equal(cntrs[0].value, 2);
	assert_int_equal(cntrs[1].value, 3);
	/* FI_ATOMIC_READ changes nothing. */
	packet.atomic.kind = OFI_RDM_WIRE_ATOMIC_READ;
	ofi_rdm_rma_event_atomic(&ep, &packet);
	assert_int_equal(cntrs[0].value, 3);
	assert_int_equal(cntrs[1].value, 3);
	/* A counter of both counts operations, not what they consist of. */
	ep.cntrs[OFI_RDM_REMOTE_WRITE] = &cntrs[0];
	packet.atomic.kind = OFI_RDM_WIRE_ATOMIC_FETCH;
	ofi_rdm_rma_event_atomic(&ep, &packet);
	assert_int_equal(cntrs[0].value, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_write_is_told, begin),
		cmocka_unit_test_setup(a_read_is_told_when_it_is_done, begin),
		cmocka_unit_test_setup(without_credit_it_waits, begin),
		cmocka_unit_test_setup(a_full_device_takes_nothing, begin),
		cmocka_unit_test_setup(the_target_counts_and_completes, begin),
		cmocka_unit_test_setup(the_target_may_want_none, begin),
		cmocka_unit_test_setup(data_needs_the_capability, begin),
		cmocka_unit_test_setup(entries_that_nobody_reads, begin),
		cmocka_unit_test_setup(atomics_count, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
