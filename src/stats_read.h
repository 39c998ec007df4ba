/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The statistics of other processes. */
#ifndef OFI_STATS_READ_H
#define OFI_STATS_READ_H

#include <stddef.h>
#include <ofi/stats_layout.h>
#include <rdma/fabric.h>

/* Implements fi_open("stats"). */
int ofi_stats_open(void *attr, size_t attr_len, uint64_t flags, struct fid **fid, void *context);

/*
 * Finds the peer with the smallest id above `after` in a mapped file. Returns false if there is
 * none.
 */
bool ofi_stats_peer_next(const struct ofi_stats_header *file, uint32_t after,
			 struct fi_stats_peer *peer);

#endif
