/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that peers may access, by the device's key: for transports that carry out the accesses of
 * peers in software. Other domains keep no table.
 */
#ifndef VRB_MR_TABLE_H
#define VRB_MR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include "src/ds/lock.h"

struct vrb_domain;

struct vrb_mr_table {
	bool used; /* constant once the domain is open */
	struct ofi_lock lock;
	void *tree; /* tsearch(3), by rkey */
};

void vrb_mr_table_open(struct vrb_mr_table *table);
void vrb_mr_table_close(struct vrb_mr_table *table);
/*
 * Lists a region that was registered with the access IBV_ACCESS_*; one without remote access is not
 * listed. Returns 0 or ENOMEM.
 */
int vrb_mr_table_add(struct vrb_domain *domain, const struct ibv_mr *mr, int access);
/* Call before the region is deregistered: no access is in progress afterward. */
void vrb_mr_table_remove(struct vrb_domain *domain, const struct ibv_mr *mr);
/*
 * Copies len bytes from the buffer to the memory at addr if `written`, else from the memory to the
 * buffer. Without a buffer, it only checks. Returns false, without a copy, if the key does not
 * permit access to all of them.
 */
bool vrb_mr_table_copy(struct vrb_domain *domain, uint32_t key, uint64_t addr, size_t len,
		       bool written, void *buffer);

#endif
