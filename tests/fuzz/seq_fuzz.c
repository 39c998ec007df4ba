/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sequence words from a peer that sends whatever it likes: each number of an incarnation is
 * delivered once, in order, and what is kept stays within the window. The input is a list of words:
 * a byte of which incarnation, and how far from the number that is due.
 */
#include <stdlib.h>
#include <string.h>
#include "prov/rdm/seq.h"

enum { WORD = 5, SLOTS = OFI_RDM_SEQ_WINDOW + 1 };

struct slot {
	struct ofi_rdm_seq_node node; /* first */
	bool kept;
};

static struct slot slots[SLOTS];
static struct ofi_rdm_seq_in in;
static uint32_t due, kept;

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

static void restart(uint32_t incarnation, uint32_t first)
{
	struct ofi_rdm_seq_node *node, *next;

	for (node = ofi_rdm_seq_begin(&in, incarnation, first); node; node = next) {
		next = node->next;
		release(node);
	}
	check(!kept);
	due = first;
}

static void arrive(uint32_t incarnation, uint32_t number)
{
	struct slot *slot = free_slot();
	struct ofi_rdm_seq_node *node;

	switch (ofi_rdm_seq_arrive(&in, incarnation, number, &slot->node)) {
	case OFI_RDM_SEQ_DELIVER:
		check(number == due && incarnation == in.incarnation);
		due++;
		while ((node = ofi_rdm_seq_pop(&in))) {
			check(node->number == due++);
			release(node);
		}
		break;
	case OFI_RDM_SEQ_KEEP:
		check(number != due && number - due < OFI_RDM_SEQ_WINDOW);
		slot->kept = true;
		kept++;
		break;
	default:
		check(number != due || incarnation != in.incarnation);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t distance;

	memset(slots, 0, sizeof(slots));
	kept = 0;
	in.first = NULL;
	restart(1, UINT32_MAX - 5);
	for (; size >= WORD; data += WORD, size -= WORD) {
		memcpy(&distance, data + 1, sizeof(distance));
		/* Most of them are near. */
		if (data[0] & 0x10)
			distance %= 2 * OFI_RDM_SEQ_WINDOW;
		if ((data[0] & 0xf) == 0xf)
			restart(data[0] >> 5 | 1, distance);
		else
			arrive(data[0] >> 5, due - OFI_RDM_SEQ_WINDOW / 2 + distance);
	}
	restart(1, 0);
	return 0;
}
