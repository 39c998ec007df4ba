/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The timer queue: a pairing heap. */
#include "due.h"

static void due_attach(struct ofi_rdm_due_node **link, struct ofi_rdm_due_node *node)
{
	*link = node;
	if (node)
		node->link = link;
}

/* Merges two heaps: the root that is due later becomes a child of the other. */
static struct ofi_rdm_due_node *due_meld(struct ofi_rdm_due_node *a, struct ofi_rdm_due_node *b)
{
	struct ofi_rdm_due_node *swap;

	if (!a || !b)
		return a ? a : b;
	if (b->at < a->at) {
		swap = a;
		a = b;
		b = swap;
	}
	due_attach(&b->next, a->child);
	due_attach(&a->child, b);
	return a;
}

/* Merges pairs from left to right, then the results from right to left, which bounds the cost. */
static struct ofi_rdm_due_node *meld_all(struct ofi_rdm_due_node *first)
{
	struct ofi_rdm_due_node *pairs = NULL, *a, *b, *all = NULL;

	while ((a = first)) {
		b = a->next;
		first = b ? b->next : NULL;
		a->next = NULL;
		if (b)
			b->next = NULL;
		a = due_meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while ((a = pairs)) {
		pairs = a->next;
		a->next = NULL;
		all = due_meld(all, a);
	}
	return all;
}

static void take_out(struct ofi_rdm_due *due, struct ofi_rdm_due_node *node)
{
	struct ofi_rdm_due_node *rest;

	due_attach(node->link, node->next);
	node->link = NULL;
	node->next = NULL;
	rest = meld_all(node->child);
	node->child = NULL;
	due_attach(&due->root, due_meld(due->root, rest));
}

void ofi_rdm_due_set(struct ofi_rdm_due *due, struct ofi_rdm_due_node *node, uint64_t at)
{
	if (node->link && node->at == at)
		return;
	if (node->link)
		take_out(due, node);
	node->at = at;
	if (at != OFI_RDM_DUE_NEVER)
		due_attach(&due->root, due_meld(due->root, node));
}
