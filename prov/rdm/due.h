/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is due when: a pairing heap of nodes that live in the caller's objects. To look at the first
 * costs O(1), to set or clear a time O(log n) on average, whatever the order. Nothing is allocated.
 */
#ifndef OFI_RDM_DUE_H
#define OFI_RDM_DUE_H

#include <stddef.h>
#include <stdint.h>

#define OFI_RDM_DUE_NEVER UINT64_MAX

struct ofi_rdm_due_node {
	uint64_t at;
	struct ofi_rdm_due_node *child, *next;
	struct ofi_rdm_due_node **link; /* what points here; NULL: not in the heap */
};

struct ofi_rdm_due {
	struct ofi_rdm_due_node *root;
};

/* Moves the node, which may be in the heap, to that time; OFI_RDM_DUE_NEVER takes it out. */
void ofi_rdm_due_set(struct ofi_rdm_due *due, struct ofi_rdm_due_node *node, uint64_t at);

/* The one that is due first; NULL if there is none. */
static inline struct ofi_rdm_due_node *ofi_rdm_due_first(const struct ofi_rdm_due *due)
{
	return due->root;
}

#endif
