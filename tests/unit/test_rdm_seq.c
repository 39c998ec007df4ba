/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sequence numbers in schedules driven by a seed: the wire drops, duplicates, delays and reorders
 * packets, and the sender restarts. The oracle checks that the receiver delivers 0, 1, 2 and so on
 * from each incarnation. WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "prov/rdm/seq.h"

enum { PACKETS = OFI_RDM_SEQ_WINDOW, STEPS = 40 };

struct packet {
	struct ofi_rdm_seq_node node; /* first */
	uint32_t incarnation, number, value;
};

static struct {
	uint64_t random;
	struct ofi_rdm_seq_in in;
	uint32_t incarnation, first; /* the sender's */
	uint32_t oldest, next;	     /* its numbers, from the first that it does not know arrived */
	uint64_t arrived;	     /* bit i: it knows that oldest + i arrived */
	uint32_t met, delivered;     /* the newest incarnation that the receiver met, its packets */
	struct packet packets[PACKETS];
	uint64_t on_wire, used; /* bit i: packets[i] is */
	uint64_t kept, doubles, strangers, restarts;
} w;

static uint32_t any_of(uint32_t n)
{
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return (uint32_t)((w.random >> 32) * n >> 32);
}

static uint64_t bit_of(const struct packet *p)
{
	return 1ULL << (p - w.packets);
}

/* Half of the time the sequence numbers wrap around soon. */
static void start_sender(void)
{
	w.incarnation++;
	w.first = any_of(2) ? 0u - any_of(20) : any_of(UINT32_MAX);
	w.oldest = w.next = w.first;
	w.arrived = 0;
}

static void put_on_wire(uint32_t number)
{
	struct packet *p = &w.packets[any_of(PACKETS)];

	/* The wire drops some packets. */
	if (w.used & bit_of(p) || !any_of(6))
		return;
	w.used |= bit_of(p);
	w.on_wire |= bit_of(p);
	p->incarnation = w.incarnation;
	p->number = number;
	p->value = number - w.first;
}

static void send_packet(uint32_t number)
{
	put_on_wire(number);
	if (!any_of(5))
		put_on_wire(number);
}

static void send_new(void)
{
	if (w.next - w.oldest < OFI_RDM_SEQ_WINDOW)
		send_packet(w.next++);
}

/* Returns true if the number was sent and the sender does not know that it arrived. */
static bool waits(uint32_t number)
{
	uint32_t at = number - w.oldest;

	return at < w.next - w.oldest && !(w.arrived >> at & 1);
}

static void send_again(void)
{
	uint32_t number = w.oldest + any_of(w.next - w.oldest);

	if (waits(number))
		send_packet(number);
}

static void deliver(struct packet *p)
{
	assert_int_equal(p->incarnation, w.met);
	assert_int_equal(p->value, w.delivered);
	w.delivered++;
	w.used &= ~bit_of(p);
}

/*
 * Does what the caller of the module has to do. Returns false if the packet is of an earlier
 * incarnation.
 */
static bool meet(const struct packet *p)
{
	struct ofi_rdm_seq_node *kept, *next;

	if (p->incarnation <= w.met)
		return p->incarnation == w.met;
	kept = ofi_rdm_seq_begin(&w.in, p->number - p->value);
	for (; kept; kept = next) {
		next = kept->next;
		assert_true(w.used & bit_of((struct packet *)kept));
		w.used &= ~bit_of((struct packet *)kept);
	}
	w.met = p->incarnation;
	w.delivered = 0;
	return true;
}

static void tell_sender(uint32_t number)
{
	if (w.met != w.incarnation || !any_of(3) || !waits(number))
		return;
	for (w.arrived |= 1ULL << (number - w.oldest); w.arrived & 1; w.arrived >>= 1)
		w.oldest++;
}

static void arrive(struct packet *p)
{
	uint32_t number = p->number;

	w.on_wire &= ~bit_of(p);
	w.used &= ~bit_of(p);
	if (!meet(p)) {
		w.strangers++;
		return;
	}
	switch (ofi_rdm_seq_arrive(&w.in, number, &p->node)) {
	case OFI_RDM_SEQ_DELIVER:
		deliver(p);
		while ((p = (struct packet *)ofi_rdm_seq_pop(&w.in)))
			deliver(p);
		break;
	case OFI_RDM_SEQ_KEEP:
		w.kept++;
		w.used |= bit_of(p);
		break;
	case OFI_RDM_SEQ_DUPLICATE:
		w.doubles++;
		break;
	default:
		fail();
	}
	tell_sender(number);
}

/* Delivers a random packet. Returns false if there is none. */
static bool arrive_any(void)
{
	uint32_t at = any_of(PACKETS);
	uint64_t from = w.on_wire >> at << at;

	if (!w.on_wire)
		return false;
	arrive(&w.packets[__builtin_ctzll(from ? from : w.on_wire)]);
	return true;
}

static void settle(void)
{
	uint32_t number;

	while (w.oldest != w.next) {
		for (number = w.oldest; number != w.next; number++)
			if (waits(number))
				send_packet(number);
		while (arrive_any())
			;
	}
	while (arrive_any())
		;
}

static void run(uint64_t seed)
{
	uint32_t i, sent;

	w.random = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	memset(&w.in, 0, sizeof(w.in));
	w.incarnation = w.met = 0;
	w.delivered = 0;
	start_sender();
	for (i = 0; i < STEPS; i++) {
		switch (any_of(8)) {
		case 0:
		case 1:
		case 2:
			send_new();
			break;
		case 3:
			send_again();
			break;
		default:
			arrive_any();
			break;
		}
		if (!any_of(100)) {
			w.restarts++;
			start_sender();
		}
	}
	/* The receiver learns about an incarnation only from a packet. */
	send_new();
	sent = w.next - w.first;
	settle();
	assert_int_equal(w.delivered, sent);
	assert_int_equal(w.in.early, 0);
	assert_true(!w.used && !w.on_wire);
}

static void test_schedules(void **state)
{
	const char *seeds = getenv("WEFT_SEEDS");
	uint64_t seed, count = seeds ? strtoull(seeds, NULL, 0) : 1000000;

	(void)state;
	for (seed = 0; seed < count; seed++)
		run(seed);
	print_message("kept %llu, doubled %llu, of old incarnations %llu, restarts %llu\n",
		      (unsigned long long)w.kept, (unsigned long long)w.doubles,
		      (unsigned long long)w.strangers, (unsigned long long)w.restarts);
	assert_true(count < 100 || (w.kept && w.doubles && w.strangers && w.restarts));
}

/* Packets that only a faulty peer sends. */
static void test_wrong(void **state)
{
	struct ofi_rdm_seq_in in = { .next = 0 };
	struct ofi_rdm_seq_node nodes[OFI_RDM_SEQ_WINDOW], *kept;
	uint32_t i, first = UINT32_MAX - 10;

	(void)state;
	assert_null(ofi_rdm_seq_begin(&in, first));
	assert_int_equal(ofi_rdm_seq_arrive(&in, first - 1, &nodes[0]), OFI_RDM_SEQ_DUPLICATE);
	assert_int_equal(ofi_rdm_seq_arrive(&in, first + OFI_RDM_SEQ_WINDOW, &nodes[0]),
			 OFI_RDM_SEQ_BEYOND);
	assert_int_equal(ofi_rdm_seq_arrive(&in, first + INT32_MAX, &nodes[0]), OFI_RDM_SEQ_BEYOND);
	/* From the last packet to the second: only the first one is missing. */
	for (i = OFI_RDM_SEQ_WINDOW - 1; i > 0; i--)
		assert_int_equal(ofi_rdm_seq_arrive(&in, first + i, &nodes[i]), OFI_RDM_SEQ_KEEP);
	assert_null(ofi_rdm_seq_pop(&in));
	assert_int_equal(ofi_rdm_seq_arrive(&in, first, &nodes[0]), OFI_RDM_SEQ_DELIVER);
	assert_int_equal(ofi_rdm_seq_arrive(&in, first + 1, &nodes[0]), OFI_RDM_SEQ_DUPLICATE);
	for (i = 1; i < 10; i++)
		assert_ptr_equal(ofi_rdm_seq_pop(&in), &nodes[i]);
	/* After a restart the other packets are returned in order. */
	kept = ofi_rdm_seq_begin(&in, 0);
	for (i = 10; i < OFI_RDM_SEQ_WINDOW; i++, kept = kept->next)
		assert_ptr_equal(kept, &nodes[i]);
	assert_null(kept);
	assert_null(ofi_rdm_seq_pop(&in));
}

/* The memory of an idle peer is limited. */
static void test_size(void **state)
{
	(void)state;
	assert_true(sizeof(struct ofi_rdm_seq_in) <= 48);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedules),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests_name("rdm_seq", tests, NULL, NULL);
}
