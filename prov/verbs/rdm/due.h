/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is due when: a pairing heap of nodes that live in the caller's objects. To look at the first costs O(1), to
 * set or clear a time O(log n) on average, whatever the order. Nothing is allocated.
 */
#ifndef VRB_RDM_DUE_H
#define VRB_RDM_DUE_H

#include <stddef.h>
#include <stdint.h>

#define VRB_DUE_NEVER UINT64_MAX

struct vrb_due_node {
	uint64_t at;
	struct vrb_due_node *child, *next;
	struct vrb_due_node **link; /* what points here; NULL: not in the heap */
};

struct vrb_due {
	struct vrb_due_node *root;
};

/* Moves the node, which may be in the heap, to that time; VRB_DUE_NEVER takes it out. */
void vrb_due_set(struct vrb_due *due, struct vrb_due_node *node, uint64_t at);

/* The one that is due first; NULL if there is none. */
static inline struct vrb_due_node *vrb_due_first(const struct vrb_due *due)
{
	return due->root;
}

#endif
