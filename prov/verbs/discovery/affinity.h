/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In which order devices are offered: by what FI_VERBS_NIC_AFFINITY says, else the nearest to the
 * process's processors first, and equals in turn by the process's number on the host.
 */
#ifndef VRB_AFFINITY_H
#define VRB_AFFINITY_H

#include <stddef.h>
#include "device.h"

enum { VRB_AFFINITY_MAX = 64 }; /* devices; what is beyond comes last */

/* How near a device is, the best first. */
enum vrb_nearness {
	VRB_NEAR_ALL,	  /* all processors of the process are local to it */
	VRB_NEAR_SOME,	  /* some are */
	VRB_NEAR_NONE,	  /* none is */
	VRB_NEAR_UNKNOWN, /* the system does not say, as of a device in software */
};

struct vrb_affinity {
	size_t count;
	struct vrb_ranked {
		const struct vrb_device *dev;
		enum vrb_nearness nearness;
		uint64_t speed;
		int place;	     /* in a list of the parameter */
	} devices[VRB_AFFINITY_MAX]; /* the first to offer first */
	bool by_nearness;
};

/* Of a snapshot, by the parameter. */
void vrb_affinity_rank(struct vrb_affinity *affinity, const struct vrb_snapshot *snapshot);
/* The place of a device, from 0. */
int vrb_affinity_place(const struct vrb_affinity *affinity, const struct vrb_device *dev);
/* Whether, and why, a device is behind others; *miss is what to explain. */
bool vrb_affinity_is_far(const struct vrb_affinity *affinity, const struct vrb_device *dev,
			 struct ofi_miss *miss);

#endif
