/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters that other processes can read. Each object that counts has a record. Records are in a
 * memfd of the process, which fi_stat finds as /proc/PID/fd/N: no one but its user can open it, no
 * one but the process can write it, and it is gone with the process. Where there is no such memory,
 * or FI_STATS says no, records are on the heap and all works the same.
 */
#ifndef OFI_STATS_H
#define OFI_STATS_H

#include <ofi/stats_layout.h>

/* One addition to memory where it is compiled for use. */
static inline void ofi_stats_add(struct ofi_stats *stats, int counter, uint64_t n)
{
#ifdef __SANITIZE_THREAD__
	__atomic_store_n(&stats->value[counter],
			 __atomic_load_n(&stats->value[counter], __ATOMIC_RELAXED) + n,
			 __ATOMIC_RELAXED);
#else
	stats->value[counter] += n;
#endif
}

/* For counters with several writers. */
static inline void ofi_stats_add_shared(struct ofi_stats *stats, int counter, uint64_t n)
{
	__atomic_fetch_add(&stats->value[counter], n, __ATOMIC_RELAXED);
}

/* Before the first object: nothing that others could read. */
void ofi_stats_forbid(void);
/*
 * Zeroed memory, aligned, for an object that ends with its record. NULL when out of memory. Freed
 * with its record, which may be NULL. Objects larger than a slot are all of one size: others are
 * not shown.
 */
void *ofi_stats_alloc(size_t size);
void ofi_stats_free(void *object, struct ofi_stats *stats);
/* Lets others see a record, whose fields are set, or no longer. */
void ofi_stats_show(struct ofi_stats *stats, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void ofi_stats_hide(struct ofi_stats *stats);
/*
 * As the two above, for a peer of an endpoint, whose object ends with a struct ofi_stats_peer.
 * There is room for some thousands; others are not shown.
 */
void *ofi_stats_peer_alloc(size_t size);
void ofi_stats_peer_free(void *object, struct ofi_stats_peer *peer);
/* Lets others see a peer, whose fields are set, or no longer. */
void ofi_stats_peer_show(struct ofi_stats_peer *peer);
void ofi_stats_peer_hide(struct ofi_stats_peer *peer);
/* It enters a state; waits says what it waits for in this state, "" if that depends. */
void ofi_stats_peer_enter(struct ofi_stats_peer *peer, const char *state, const char *cause,
			  const char *waits, uint64_t now);
/* A number for what has no record. */
uint32_t ofi_stats_number(void);

#endif
