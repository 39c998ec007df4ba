/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Multicast groups at either end: joining, leaving, sending. */
#ifndef MC_STEPS_H
#define MC_STEPS_H

#include "steps.h"

#define GROUP	    "239.77.0.1"
#define OTHER_GROUP "239.77.0.2"

extern const struct setup mc_setup; /* FI_EP_DGRAM with FI_MULTICAST, IP addresses */

struct join {
	char group[16];
	uint64_t flags;
};

/* Joins a group and waits for the event; an end joins at most one group at a time. */
step_fn step_join;
/* Closes the group. */
step_fn step_leave;
/* Joins both ends. */
void join_both(struct pair *pair, const char *group);
struct fid_mc *group_of(const struct end *end);
struct sockaddr_in group_addr(const char *group);
/* Sends a part of buf to the group. */
void send_group(struct end *end, size_t len);

#endif
