/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tells whether the machine is still what a snapshot says, with some system calls instead of a
 * look.
 */
#ifndef VRB_WATCH_H
#define VRB_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "device.h"

/*
 * A descriptor, with what shows that the application has not closed it and opened something else.
 */
struct vrb_watch_fd {
	int fd; /* -1 is none */
	dev_t dev;
	ino_t ino;
};

struct vrb_watch_port {
	struct vrb_watch_fd state; /* of sysfs */
	int is;			   /* enum ibv_port_state */
};

/*
 * What it sees: devices that come and go, ports that change state, interfaces and their addresses.
 * The rest of a snapshot (rate, P_Keys, GIDs that belong to no interface, permissions) it does not,
 * so a snapshot is good for a short time only.
 */
struct vrb_watch {
	pid_t pid;		  /* a child shares the descriptors, and must not read from them */
	struct vrb_watch_fd link; /* rtnetlink: interfaces and addresses */
	struct vrb_watch_fd devices; /* the directory with one entry for each */
	size_t count;
	struct vrb_watch_port *ports;
	uint64_t unsettled_until; /* ms: GIDs follow an address some time later */
};

#define VRB_WATCH_INIT                                       \
	{                                                    \
		.link = { .fd = -1 }, .devices = {.fd = -1 } \
	}

/* Before a snapshot is taken. */
void vrb_watch_begin(struct vrb_watch *watch);
/* After: can it be watched, and is it what the machine is by now? */
bool vrb_watch_keep(struct vrb_watch *watch, const struct vrb_snapshot *snapshot);
/* Is it still? */
bool vrb_watch_same(struct vrb_watch *watch, const struct vrb_snapshot *snapshot);
void vrb_watch_end(struct vrb_watch *watch);

/* Monotonic. */
uint64_t vrb_watch_now_ms(void);

#endif
