/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics at their target: those of different domains do not meet in the same memory. */
#include "unit.h"
#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include "prov/rdm/atomic.h"
#include "prov/rdm/op.h"
#include "prov/rdm/reply.h"
#include "prov/rdm/rma_event.h"

static uint64_t word = 7;
static unsigned int answers; /* atomic */
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
	assert_false(payload && len);
	assert_int_equal(packet->status, 0);
	__atomic_add_fetch(&answers, 1, __ATOMIC_RELAXED);
	return true;
}

void ofi_rdm_rma_event_atomic(struct ofi_rdm_ep *ep, const struct ofi_rdm_wire_packet *packet)
{
	(void)ep;
	(void)packet;
}

bool ofi_rdm_keys_missed(struct ofi_rdm_peer *peer, uint64_t key)
{
	(void)peer;
	(void)key;
	fail();
	return false;
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

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(domains_take_turns) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
