/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles: a tree has one per path, shared by all who send along it. */
#ifndef VRB_AH_H
#define VRB_AH_H

#include <infiniband/verbs.h>

struct vrb_domain;

struct vrb_ah {
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;
};

/* Returns NULL if the tree has none for `attr`. The caller holds the lock that guards the tree. */
const struct vrb_ah *vrb_ah_find(void *const *tree, const struct ibv_ah_attr *attr);
/* Returns one that leads to the GID, in whatever way; NULL if there is none. */
const struct vrb_ah *vrb_ah_to(void *const *tree, const union ibv_gid *gid);
/*
 * Returns the tree's handle for `attr`, which is created at first use; NULL with errno set (FI_E*)
 * if that fails, which is logged. The caller holds the lock that guards the tree.
 */
const struct vrb_ah *vrb_ah_get(void **tree, struct ibv_pd *pd, const struct ibv_ah_attr *attr);
/*
 * The same for the tree of the domain. An Elastic Fabric Adapter needs no other: to destroy an
 * address handle aborts what is sent with all others of the domain for that GID.
 */
const struct vrb_ah *vrb_ah_of_domain(struct vrb_domain *domain, const struct ibv_ah_attr *attr);
/* Frees all handles of the tree. */
void vrb_ahs_fini(void **tree);

#endif
