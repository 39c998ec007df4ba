/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A timer queue: a pairing heap of nodes embedded in the caller's objects. Finding the first costs
 * O(1), setting or clearing a time O(log n) amortized. Nothing is allocated.
 */
#ifndef OFI_RDM_DUE_H
#define OFI_RDM_DUE_H

#include <stddef.h>
#include <stdint.h>

#define OFI_RDM_DUE_NEVER UINT64_MAX

struct ofi_rdm_due_node {
	uint64_t at;
	struct ofi_rdm_due_node *child, *next;
	/* The pointer that points to this node; NULL: not in the heap. */
	struct ofi_rdm_due_node **link;
};

struct ofi_rdm_due {
	struct ofi_rdm_due_node *root;
};

/* Sets the time of the node, whether or not it is in the heap. OFI_RDM_DUE_NEVER removes it. */
void ofi_rdm_due_set(struct ofi_rdm_due *due, struct ofi_rdm_due_node *node, uint64_t at);

/* Returns the node that is due first, or NULL. */
static inline struct ofi_rdm_due_node *ofi_rdm_due_first(const struct ofi_rdm_due *due)
{
	return due->root;
}

/* Returns the time of that node, or OFI_RDM_DUE_NEVER. */
static inline uint64_t ofi_rdm_due_next(const struct ofi_rdm_due *due)
{
	return due->root ? due->root->at : OFI_RDM_DUE_NEVER;
}

#endif
