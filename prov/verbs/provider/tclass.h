/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Traffic classes: the DSCP and the service level of an endpoint's packets, depending on the
 * requested class.
 */
#ifndef VRB_TCLASS_H
#define VRB_TCLASS_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/fabric.h>

struct rdma_cm_id;

struct vrb_tclass {
	bool asked;   /* otherwise the network's defaults apply */
	uint8_t tos;  /* of the IP header: the DSCP, above the two ECN bits */
	int8_t level; /* service level; -1: the route's */
};

/* Reads FI_VERBS_TCLASS_SL; logs and ignores an invalid value. */
void vrb_tclass_init(void);
/* Returns 0. If there is no such class, logs that for `call` and returns -FI_EINVAL. */
int vrb_tclass_check(const char *call, const struct fi_info *info);
/* Returns the class of an endpoint: its own, or else the domain's. */
struct vrb_tclass vrb_tclass_of(const struct fi_info *domain, const struct fi_info *ep);
static inline bool vrb_tclass_same(struct vrb_tclass a, struct vrb_tclass b)
{
	return a.asked == b.asked && a.tos == b.tos && a.level == b.level;
}
/*
 * Call before the id's route is resolved or the group is joined: the kernel derives the service
 * level from it, and the other end of a connection adopts it unless it asks for a class of its own.
 */
void vrb_tclass_set_id(struct vrb_tclass tclass, struct rdma_cm_id *id);
void vrb_tclass_set_ah(struct vrb_tclass tclass, struct ibv_ah_attr *attr);

#endif
