/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arbitrary sequence numbers and acknowledgements from a peer: each number of a connection is
 * delivered once and in order, kept packets stay within the window, and each sent packet completes
 * once. The input is a list of records: a byte with the kind of event, and four bytes with a
 * distance from the next expected number or other parameters.
 */
#include <stdlib.h>
#include <string.h>
#include "prov/rdm/ack.h"
#include "prov/rdm/cwnd.h"

enum { WORD = 5, SLOTS = OFI_RDM_SEQ_WINDOW + 1 };

struct slot {
	struct ofi_rdm_seq_node node; /* first */
	bool kept;
};

struct sent {
	struct ofi_rdm_ack_node node; /* first */
	bool used;
};

static const struct ofi_rdm_ack_params params = {
	.first = 100, .min = 10, .max = 1000, .delay = 5, .every = 3, .silence = 5000, .reorder = 3
};
static const struct ofi_rdm_cwnd_params windows = { .target = 100, .first = 4, .most = 64 };
static struct slot slots[SLOTS];
static struct sent sents[OFI_RDM_SEQ_WINDOW];
static struct ofi_rdm_seq_in in;
static struct ofi_rdm_ack ack;
static struct ofi_rdm_cwnd cwnd;
static uint32_t due, kept, under_way;
static uint64_t now;

static void check(bool truth)
{
	if (!truth)
		abort();
}

static struct slot *free_slot(void)
{
	struct slot *slot = slots;

	while (slot < slots + SLOTS && slot->kept)
		slot++;
	check(slot < slots + SLOTS);
	return slot;
}

static void release(struct ofi_rdm_seq_node *node)
{
	struct slot *slot = (struct slot *)node;

	check(slot->kept);
	slot->kept = false;
	kept--;
}

static void restart(uint32_t first)
{
	struct ofi_rdm_seq_node *node, *next;

	for (node = ofi_rdm_seq_begin(&in, first); node; node = next) {
		next = node->next;
		release(node);
	}
	check(!kept);
	due = first;
	memset(sents, 0, sizeof(sents));
	ofi_rdm_ack_init(&ack, &params, ~first);
	ofi_rdm_cwnd_init(&cwnd, &windows);
	under_way = 0;
}

static void arrive(uint32_t number)
{
	struct slot *slot = free_slot();
	enum ofi_rdm_seq_verdict verdict = ofi_rdm_seq_arrive(&in, number, &slot->node);
	struct ofi_rdm_seq_node *node;

	if (verdict == OFI_RDM_SEQ_DELIVER) {
		check(number == due);
		due++;
		while ((node = ofi_rdm_seq_pop(&in))) {
			check(node->number == due++);
			release(node);
		}
	} else if (verdict == OFI_RDM_SEQ_KEEP) {
		check(number != due && number - due < OFI_RDM_SEQ_WINDOW);
		slot->kept = true;
		kept++;
	} else {
		check(number != due);
	}
	if (verdict <= OFI_RDM_SEQ_DUPLICATE)
		ofi_rdm_ack_arrived(&ack, &in, number * 7, verdict, now);
}

static void send_some(uint32_t count)
{
	struct sent *sent;

	while (count-- && ofi_rdm_ack_is_open(&ack) && ofi_rdm_cwnd_time(&cwnd, under_way) <= now) {
		for (sent = sents; sent->used; sent++)
			;
		sent->used = true;
		under_way++;
		ofi_rdm_ack_sent(&ack, &sent->node, now);
		ofi_rdm_cwnd_sent(&cwnd, now);
	}
}

static void take_words(uint32_t random)
{
	struct ofi_rdm_ack_words words = {
		.next = ack.oldest - 2 + (random & 7),
		.echo = ack.order - (random >> 3 & 7),
		.early = (uint64_t)(random >> 6) << (random & 15),
		.doubles = (uint16_t)(random >> 20),
	};
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack_node *node;

	if (!ofi_rdm_ack_take(&ack, &words, now, &news))
		check(!news.done && !news.count);
	if (news.count)
		ofi_rdm_cwnd_acked(&cwnd, news.count, news.rtt, now);
	for (node = news.done; node; node = node->next, news.count--) {
		check(((struct sent *)node)->used);
		((struct sent *)node)->used = false;
		under_way--;
	}
	check(!news.count && !ack.first == !under_way);
}

static void work(uint32_t time)
{
	struct ofi_rdm_ack_words words;
	struct ofi_rdm_ack_node *node;
	enum ofi_rdm_ack_due what;
	uint32_t again = 0;

	now += time;
	while ((what = ofi_rdm_ack_due(&ack, now, &node)) != OFI_RDM_ACK_NOTHING) {
		if (what == OFI_RDM_ACK_GIVE_UP) {
			restart(due);
			break;
		}
		check(((struct sent *)node)->used && ++again <= OFI_RDM_SEQ_WINDOW + 1);
		if (what == OFI_RDM_ACK_TIMEOUT)
			ofi_rdm_cwnd_timeout(&cwnd, now);
		else
			ofi_rdm_cwnd_lost(&cwnd, now);
	}
	if (ofi_rdm_ack_is_owed(&ack, now))
		ofi_rdm_ack_fill(&ack, &in, &words);
	check(ofi_rdm_ack_next(&ack) > now);
	check(under_way || ofi_rdm_cwnd_time(&cwnd, 0) != OFI_RDM_CWND_NEVER);
}

static void take_input(uint8_t what, uint32_t number)
{
	switch (what & 0xf) {
	case 0xf:
		restart(number);
		break;
	case 0xe:
	case 0xd:
	case 0xc:
		take_words(number);
		break;
	case 0xb:
	case 0xa:
		send_some(number % 16);
		break;
	case 0x9:
		work(number % 2000);
		break;
	default:
		/* Most numbers are close to the expected one. */
		arrive(due - OFI_RDM_SEQ_WINDOW / 2 +
		       (what & 0x10 ? number % (2 * OFI_RDM_SEQ_WINDOW) : number));
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t number;

	memset(slots, 0, sizeof(slots));
	kept = 0;
	now = 0;
	in.first = NULL;
	restart(UINT32_MAX - 5);
	for (; size >= WORD; data += WORD, size -= WORD) {
		memcpy(&number, data + 1, sizeof(number));
		take_input(data[0], number);
	}
	restart(0);
	return 0;
}
