/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The order in which devices are offered: as FI_VERBS_NIC_AFFINITY lists them, unchanged with none,
 * or else nearest to the process's processors first. The nearest ones at equal distance are rotated
 * by the process's rank on the host, within a subnet.
 */
#ifndef VRB_AFFINITY_H
#define VRB_AFFINITY_H

#include <stddef.h>
#include "device.h"

enum { VRB_AFFINITY_MAX = 64 }; /* number of ranked devices; further ones come last */

/* The distance of a device, nearest first. */
enum vrb_nearness {
	VRB_NEAR_ALL,	  /* all processors of the process are local to the device */
	VRB_NEAR_SOME,	  /* some of them are */
	VRB_NEAR_NONE,	  /* none of them is */
	VRB_NEAR_UNKNOWN, /* unknown to the system, for example for a software device */
};

struct vrb_affinity {
	size_t count;
	struct vrb_ranked {
		const struct vrb_device *dev;
		enum vrb_nearness nearness;
		uint64_t speed;
		int place;	     /* position in the parameter's list */
	} devices[VRB_AFFINITY_MAX]; /* in the order in which they are offered */
	bool by_nearness;
};

/* Ranks the devices of a snapshot according to the parameter. */
void vrb_affinity_rank(struct vrb_affinity *affinity, const struct vrb_snapshot *snapshot);
/* Returns the position of a device, starting at 0; behind all others if it is not ranked. */
int vrb_affinity_place(const struct vrb_affinity *affinity, const struct vrb_device *dev);
/* Returns true if the device is ranked behind others, with the reason in *miss. */
bool vrb_affinity_is_far(const struct vrb_affinity *affinity, const struct vrb_device *dev,
			 struct ofi_miss *miss);

#endif
