/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Detects whether the machine still matches a snapshot, with a few system calls instead of a new
 * snapshot.
 */
#ifndef VRB_WATCH_H
#define VRB_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "src/ds/own_fd.h"
#include "device.h"

struct vrb_watch_port {
	struct ofi_own_fd state; /* a sysfs file */
	int is;			 /* enum ibv_port_state */
};

/*
 * Detects devices that come and go, ports that change state, and changes of interfaces and their
 * addresses. It does not detect changes in the rest of a snapshot (rate, P_Keys, GIDs without an
 * interface, permissions), so a snapshot is valid only for a short time.
 */
struct vrb_watch {
	/* The process that opened the descriptors; a child shares them and must not read them. */
	uint64_t process;
	struct ofi_own_fd link;	   /* rtnetlink: interfaces and addresses */
	struct ofi_own_fd devices; /* the directory with one entry per device */
	size_t count;
	struct vrb_watch_port *ports;
	uint64_t unsettled_until; /* in ms: GIDs follow a new address with a delay */
};

#define VRB_WATCH_INIT                                              \
	{                                                           \
		.link = OFI_OWN_FD_INIT, .devices = OFI_OWN_FD_INIT \
	}

/* Call before taking a snapshot. */
void vrb_watch_begin(struct vrb_watch *watch);
/* Call after it. Returns true if the snapshot can be watched and is still current. */
bool vrb_watch_keep(struct vrb_watch *watch, const struct vrb_snapshot *snapshot);
/* Returns true if the snapshot is still current. */
bool vrb_watch_same(struct vrb_watch *watch, const struct vrb_snapshot *snapshot);
void vrb_watch_end(struct vrb_watch *watch);

#endif
