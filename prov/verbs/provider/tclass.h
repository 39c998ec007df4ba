/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Traffic classes: the code point (DSCP) and the service level that an endpoint's packets carry for
 * the class that was asked for.
 */
#ifndef VRB_TCLASS_H
#define VRB_TCLASS_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/fabric.h>

struct rdma_cm_id;

struct vrb_tclass {
	bool asked;   /* else the network's defaults stay */
	uint8_t tos;  /* of the IP header: the code point above the two bits of ECN */
	int8_t level; /* service level; -1 is the one of the route */
};

/* Reads FI_VERBS_TCLASS_SL; what is wrong with it is logged. */
void vrb_tclass_init(void);
/* 0, or -FI_EINVAL when there is no such class, logged for `call`. */
int vrb_tclass_check(const char *call, const struct fi_info *info);
/* What an endpoint of the domain sends with: its own class, else the domain's. */
struct vrb_tclass vrb_tclass_of(const struct fi_info *domain, const struct fi_info *ep);
static inline bool vrb_tclass_same(struct vrb_tclass a, struct vrb_tclass b)
{
	return a.asked == b.asked && a.tos == b.tos && a.level == b.level;
}
/*
 * Before the route of the id is resolved, or the group is joined: the kernel derives the service
 * level from it, and the other end of a connection that asks for no class of its own takes it over.
 */
void vrb_tclass_set_id(struct vrb_tclass tclass, struct rdma_cm_id *id);
void vrb_tclass_set_ah(struct vrb_tclass tclass, struct ibv_ah_attr *attr);

#endif
