/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several reliable-datagram endpoints of one process that know each other, for collective
 * operations.
 */
#ifndef RDM_TEAM_H
#define RDM_TEAM_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include "check.h"

enum { MEMBERS = 5 };

struct member {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_eq *eq;
	struct fid_cntr *cntr;
	fi_addr_t addr[MEMBERS]; /* indexed by rank */
	struct fid_av_set *set;	 /* all members in order */
	struct fid_mc *mc;
	fi_addr_t group;
};

struct team {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	size_t count;
	struct member member[MEMBERS];
};

/* If set, teams opened from now on suppress completions of other operations. */
extern bool team_selective;
/* caps are those besides messages, tagged messages and RMA. */
void team_open(struct team *team, size_t count, uint64_t caps);
/* Closes everything that is still open. */
void team_close(struct team *team);
/* Opens one more endpoint, which nobody knows. */
void member_open(struct team *team, struct member *member);
void member_close(struct member *member);
struct fid_av_set *empty_set(struct member *member);
/* Makes all members join; only event queues are read. */
void team_join(struct team *team);
/* Waits for one completion of a collective operation per member; returns the first error, FI_E*. */
int team_wait(struct team *team, const void *context);

#endif
