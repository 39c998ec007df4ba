/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * IP addresses that no endpoint had when they were inserted: sends query them again. Sends return
 * -FI_EAGAIN for a multiple of resolve_timeout, and then the reason of the failure; they still
 * query, so that one of them finds an endpoint that opens later.
 */
#ifndef VRB_AV_LATE_H
#define VRB_AV_LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include <rdma/fabric.h>
#include "src/ds/lock.h"

struct vrb_av;
struct vrb_late_addr;

struct vrb_late {
	struct ofi_lock lock; /* taken before the address vector's lock; no event takes it */
	size_t count;
	LIST_HEAD(, vrb_late_addr) addrs; /* being queried */
};

void vrb_late_init(struct vrb_late *late);
void vrb_late_fini(struct vrb_late *late);
/*
 * Queries an address whose queue pair is unknown; the caller holds no lock. Returns true if the
 * queue pair is known now or the address was removed; otherwise errno is EAGAIN or the reason.
 */
bool vrb_late_find(struct vrb_av *av, fi_addr_t addr);

#endif
