/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sequence numbers: the packets that a receiver keeps and delivers. */
#include "seq.h"

struct ofi_rdm_seq_node *ofi_rdm_seq_begin(struct ofi_rdm_seq_in *in, uint32_t first)
{
	struct ofi_rdm_seq_node *kept = in->first;

	*in = (struct ofi_rdm_seq_in){ .next = first };
	return kept;
}

/* Inserts in the order of the numbers. Most packets come after all those that are kept. */
static void seq_link(struct ofi_rdm_seq_in *in, struct ofi_rdm_seq_node *node)
{
	struct ofi_rdm_seq_node **link = &in->first;

	if (in->last && ofi_rdm_seq_distance(in->last->number, node->number) > 0)
		link = &in->last->next;
	while (*link && ofi_rdm_seq_distance((*link)->number, node->number) > 0)
		link = &(*link)->next;
	node->next = *link;
	*link = node;
	if (!node->next)
		in->last = node;
}

static void seq_advance(struct ofi_rdm_seq_in *in)
{
	in->next++;
	in->early >>= 1;
}

enum ofi_rdm_seq_verdict ofi_rdm_seq_arrive(struct ofi_rdm_seq_in *in, uint32_t number,
					    struct ofi_rdm_seq_node *node)
{
	int32_t at = ofi_rdm_seq_distance(in->next, number);

	if (at < 0)
		return OFI_RDM_SEQ_DUPLICATE;
	if (at >= OFI_RDM_SEQ_WINDOW)
		return OFI_RDM_SEQ_BEYOND;
	if (in->early >> at & 1)
		return OFI_RDM_SEQ_DUPLICATE;
	if (at == 0) {
		seq_advance(in);
		return OFI_RDM_SEQ_DELIVER;
	}
	in->early |= 1ULL << at;
	node->number = number;
	seq_link(in, node);
	return OFI_RDM_SEQ_KEEP;
}

struct ofi_rdm_seq_node *ofi_rdm_seq_pop(struct ofi_rdm_seq_in *in)
{
	struct ofi_rdm_seq_node *node = in->first;

	if (!(in->early & 1))
		return NULL;
	in->first = node->next;
	if (!in->first)
		in->last = NULL;
	seq_advance(in);
	return node;
}
