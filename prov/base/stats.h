/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Statistics that other processes can read. Each object with counters has a record. The records are
 * in a memfd of the process, which fi_stat finds as /proc/PID/fd/N: only its user can open it, only
 * the process can write it, and it disappears with the process. If there is no such memory, or
 * FI_STATS disables it, the records are on the heap and everything else works the same.
 */
#ifndef OFI_STATS_H
#define OFI_STATS_H

#include <ofi/stats_layout.h>

/* Compiles to a single addition to memory. */
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

/* Adds to a counter with several writers. */
static inline void ofi_stats_add_shared(struct ofi_stats *stats, int counter, uint64_t n)
{
	__atomic_fetch_add(&stats->value[counter], n, __ATOMIC_RELAXED);
}

/* Disables publication; called before the first object is opened. */
void ofi_stats_forbid(void);
/*
 * Allocates zeroed, aligned memory for an object that ends with its record. Returns NULL when out
 * of memory. All objects larger than a slot must have the same size; others are not published.
 * ofi_stats_free() takes the object, which may be NULL, and its record.
 */
void *ofi_stats_alloc(size_t size);
void ofi_stats_free(void *object, struct ofi_stats *stats);
/* Publish a record whose other fields are set, by its id, and hide it again. */
void ofi_stats_publish(uint32_t *id);
void ofi_stats_hide(uint32_t *id);
/* Publishes a record with a name. */
void ofi_stats_show(struct ofi_stats *stats, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Publishes a record with the name of another one. */
void ofi_stats_show_like(struct ofi_stats *stats, const struct ofi_stats *other);
/*
 * The same for a peer of an endpoint, whose object ends with struct ofi_stats_peer. There is room
 * for a few thousand peers; more are not published.
 */
void *ofi_stats_peer_alloc(size_t size);
void ofi_stats_peer_free(void *object, struct ofi_stats_peer *peer);
/* Sets the places of the fields, which are the same in the objects of all peers. */
void ofi_stats_peer_place(const struct ofi_stats_place *place);
/* Returns the number of a constant text; 0 stands for "", and is returned if there is no room. */
uint8_t ofi_stats_text(const char *text);
/*
 * Records that the peer enters a state. `waits` is what it waits for in this state, "" if that
 * depends on more.
 */
void ofi_stats_peer_enter(struct ofi_stats_peer *peer, const char *state, const char *cause,
			  const char *waits, uint64_t now);
/* Returns a new id, for a record or for an object without one. */
uint32_t ofi_stats_number(void);

#endif
