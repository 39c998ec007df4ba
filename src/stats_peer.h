/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The peers in a file of statistics. */
#ifndef OFI_STATS_PEER_H
#define OFI_STATS_PEER_H

#include <stddef.h>
#include <ofi/stats_layout.h>

/*
 * Finds the peer with the smallest id above `after` in a mapped file. Returns false if there is
 * none.
 */
bool ofi_stats_peer_next(const struct ofi_stats_header *file, uint32_t after,
			 struct fi_stats_peer *peer);

#endif
