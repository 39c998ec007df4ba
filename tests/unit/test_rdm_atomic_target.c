/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics at their target: those of different domains do not meet in the same memory. */
#include "unit.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "prov/rdm/atomic.h"
#include "prov/rdm/op.h"
#include "prov/rdm/reply.h"
#include "prov/rdm/rma_event.h"

static uint64_t word = 7;
static unsigned int answers; /* atomic */
static unsigned int events;  /* atomic */
static uint32_t status;	     /* what the next response has to say */
static pthread_t thread;

/* A domain, and the endpoint and the peer that it has. */
static struct side {
	struct ofi_domain domain;
	struct fi_info info;
	struct ofi_rdm_ep ep;
	struct ofi_rdm_peer peer;
	uint8_t old[sizeof(word)];
} sides[2];

bool ofi_rdm_answer(struct ofi_rdm_peer *peer, const struct ofi_rdm_wire_packet *packet,
		    const void *payload, size_t len)
{
	(void)peer;
	assert_true(payload || !len);
	assert_int_equal(packet->status, status);
	__atomic_add_fetch(&answers, 1, __ATOMIC_RELAXED);
	return true;
}

void ofi_rdm_rma_event_atomic(struct ofi_rdm_ep *ep, const struct ofi_rdm_wire_packet *packet)
{
	(void)ep;
	(void)packet;
	__atomic_add_fetch(&events, 1, __ATOMIC_RELAXED);
}

bool ofi_rdm_keys_missed(struct ofi_rdm_peer *peer, uint64_t key)
{
	(void)peer;
	(void)key;
	assert_int_equal(status, FI_EKEYREJECTED);
	return true;
}

static void *add_one(void *arg)
{
	const uint64_t one = 1;
	uint8_t list[sizeof(struct ofi_rdm_wire_target)];
	struct ofi_rdm_wire_packet packet = {
		.type = OFI_RDM_WIRE_ATOMIC_REQ,
		.count = 1,
		.atomic = { OFI_RDM_WIRE_ATOMIC_WRITE, FI_SUM, FI_UINT64, sizeof(one), 1 },
		.list = list,
		.payload = (const uint8_t *)&one,
		.payload_len = sizeof(one),
	};

	ofi_rdm_wire_put_target(list, 0, &(struct ofi_rdm_wire_target){ (uintptr_t)&word, 1, 1 });
	assert_int_equal(ofi_rdm_atomic_request(arg, &packet), OFI_RDM_WIRE_OK);
	return NULL;
}

/* An operation of the first domain finds its memory while one of the second begins. */
static bool find(struct ofi_domain *domain, uint64_t key, uint32_t buffer,
		 struct ofi_mr_place *place)
{
	(void)key;
	(void)buffer;
	*place = (struct ofi_mr_place){ .start = (uintptr_t)&word,
					.len = sizeof(word),
					.access = FI_REMOTE_WRITE,
					.count = 1 };
	if (domain != &sides[0].domain)
		return true;
	assert_int_equal(pthread_create(&thread, NULL, add_one, &sides[1].peer), 0);
	usleep(20000);
	assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY);
	return true;
}

static const struct ofi_domain_ops domain_ops = { .mr_find = find };

static void domains_take_turns(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		sides[i].domain.ops = &domain_ops;
		sides[i].domain.info = &sides[i].info;
		sides[i].ep.domain = &sides[i].domain;
		sides[i].ep.atomic_old = sides[i].old;
		sides[i].peer.ep = &sides[i].ep;
		sides[i].peer.proto.eager = sizeof(word);
	}
	add_one(&sides[0].peer);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(answers, 2);
	assert_int_equal(word, 9);
}

/*
 * Region 0 has two buffers of one element each, and region 1 only the second. The values of two
 * elements fit into a response.
 */
static struct {
	uint64_t words[2], old[3];
	uint8_t list[2 * sizeof(struct ofi_rdm_wire_target)];
	struct ofi_rdm_wire_packet packet;
	bool one_target;
	uint8_t first; /* region of the first target */
} pair;

static bool find_pair(struct ofi_domain *domain, uint64_t key, uint32_t buffer,
		      struct ofi_mr_place *place)
{
	(void)domain;
	*place = (struct ofi_mr_place){ .start = (uintptr_t)&pair.words[key + buffer],
					.len = sizeof(pair.words[0]),
					.access = FI_REMOTE_READ | FI_REMOTE_WRITE,
					.count = 2 - (uint32_t)key };
	return true;
}

static const struct ofi_domain_ops pair_ops = { .mr_find = find_pair };

/*
 * Lets the peer ask for an operation on targets of one element each, or on one that has both.
 * Returns true if it is counted.
 */
static bool ask_for_pair(enum ofi_rdm_wire_atomic_kind kind, enum fi_op op, uint32_t count,
			 uint32_t expected)
{
	static const uint64_t operands[] = { 20, 30, 1, 2 }; /* the last two are compared with */
	struct ofi_rdm_wire_target target;
	unsigned int i, key, before = events;

	sides[0].domain.ops = &pair_ops;
	sides[0].domain.info = &sides[0].info;
	sides[0].ep.domain = &sides[0].domain;
	sides[0].ep.atomic_old = (uint8_t *)pair.old;
	sides[0].peer.ep = &sides[0].ep;
	sides[0].peer.proto.eager = sizeof(pair.words);
	for (i = 0; i < 2; i++) {
		key = (pair.first + i) % 2;
		target = (struct ofi_rdm_wire_target){ (uintptr_t)&pair.words[key], key,
						       pair.one_target ? 2 : 1 };
		ofi_rdm_wire_put_target(pair.list, i, &target);
	}
	pair.packet.type = OFI_RDM_WIRE_ATOMIC_REQ;
	pair.packet.count = pair.one_target ? 1 : 2;
	pair.packet.atomic = (struct ofi_rdm_wire_atomic){ kind, op, FI_UINT64, 8, count };
	pair.packet.list = pair.list;
	pair.packet.payload = (const uint8_t *)operands;
	pair.packet.payload_len = sizeof(operands);
	status = expected;
	assert_int_equal(ofi_rdm_atomic_request(&sides[0].peer, &pair.packet), OFI_RDM_WIRE_OK);
	status = 0;
	return events != before;
}

static void each_region_has_its_own_operands(void **state)
{
	(void)state;
	memset(&pair, 0, sizeof(pair));
	pair.words[0] = 1;
	pair.words[1] = 2;
	assert_true(ask_for_pair(OFI_RDM_WIRE_ATOMIC_COMPARE, FI_CSWAP, 2, 0));
	assert_true(pair.words[0] == 20 && pair.words[1] == 30);
	assert_true(pair.old[0] == 1 && pair.old[1] == 2);
	/* A part of a longer operation is not counted: its end is. */
	pair.packet.flags = OFI_RDM_WIRE_PART;
	assert_false(ask_for_pair(OFI_RDM_WIRE_ATOMIC_FETCH, FI_SUM, 2, 0));
	assert_true(pair.words[0] == 40 && pair.words[1] == 60);
	assert_true(pair.old[0] == 20 && pair.old[1] == 30);
}

static void a_target_may_lie_in_two_buffers(void **state)
{
	(void)state;
	memset(&pair, 0, sizeof(pair));
	pair.one_target = true;
	assert_true(ask_for_pair(OFI_RDM_WIRE_ATOMIC_FETCH, FI_SUM, 2, 0));
	assert_true(pair.words[0] == 20 && pair.words[1] == 30);
	/* Nothing changes if one of the elements lies in no buffer. */
	pair.first = 1;
	assert_false(ask_for_pair(OFI_RDM_WIRE_ATOMIC_FETCH, FI_SUM, 2, FI_EKEYREJECTED));
	assert_true(pair.words[0] == 20 && pair.words[1] == 30);
}

/* The values would be written past the end of the endpoint's buffer. */
static void more_than_a_response_has_room_for_is_refused(void **state)
{
	(void)state;
	memset(&pair, 0, sizeof(pair));
	assert_false(ask_for_pair(OFI_RDM_WIRE_ATOMIC_READ, FI_ATOMIC_READ, 3, FI_EOPNOTSUPP));
	assert_false(ask_for_pair(OFI_RDM_WIRE_ATOMIC_FETCH, FI_SUM, 3, FI_EOPNOTSUPP));
	assert_true(pair.words[0] == 0 && pair.words[1] == 0);
	assert_true(ask_for_pair(OFI_RDM_WIRE_ATOMIC_READ, FI_ATOMIC_READ, 2, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domains_take_turns),
		cmocka_unit_test(each_region_has_its_own_operands),
		cmocka_unit_test(a_target_may_lie_in_two_buffers),
		cmocka_unit_test(more_than_a_response_has_room_for_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
