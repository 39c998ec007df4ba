/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A ring of packets in memory that two processes share: one writes, the other reads. Neither trusts
 * what the other can write: positions are checked, and packets are copied before they are parsed.
 */
#ifndef OFI_RDM_SHM_RING_H
#define OFI_RDM_SHM_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "shm_grant.h"

#define OFI_SHM_RING_DATA (64u << 10) /* bytes of packets with their headers, a power of two */

/* The shared memory. The ends are in bytes since the beginning, so their difference is the fill. */
struct ofi_shm_ring_map {
	uint64_t token[2];
	uint64_t at; /* where the process that made it has the token in its memory */
	uint64_t written __attribute__((aligned(64))); /* by the writer */
	uint64_t read __attribute__((aligned(64)));    /* by the reader */
	/* The reader may sleep: the writer wakes it after it has written. */
	uint32_t reader_sleeps __attribute__((aligned(64)));
	/*
	 * The end of the packet for which the writer waits: the reader wakes it when that is near.
	 * 0: none.
	 */
	uint64_t writer_waits __attribute__((aligned(64)));
	/* The reader's process, which made the map, lets the writer copy these bytes of it. */
	struct ofi_shm_grant grants[OFI_SHM_GRANTS] __attribute__((aligned(64)));
	uint8_t data[OFI_SHM_RING_DATA] __attribute__((aligned(64)));
};

struct ofi_shm_ring_tx {
	struct ofi_shm_ring_map *map;
	uint64_t written; /* what the reader may see */
	uint64_t at;	  /* where the packet that is being written continues */
	uint64_t read;	  /* the reader's end as last seen */
};

struct ofi_shm_ring_rx {
	struct ofi_shm_ring_map *map;
	uint64_t read;
	uint64_t written; /* the writer's end as last seen */
};

enum ofi_shm_ring_state {
	OFI_SHM_RING_EMPTY,
	OFI_SHM_RING_FULL,
	OFI_SHM_RING_PACKET,
	OFI_SHM_RING_INVALID, /* the other side breaks the rules */
};

/*
 * Begins a packet of len bytes with a mark for the reader. Returns PACKET, FULL or INVALID; with
 * FULL and INVALID nothing is begun.
 */
enum ofi_shm_ring_state ofi_shm_ring_begin(struct ofi_shm_ring_tx *tx, uint32_t len, uint32_t mark);
/* Appends bytes to the packet, in total as many as it was begun with. */
void ofi_shm_ring_add(struct ofi_shm_ring_tx *tx, const void *bytes, size_t len);
/* Shows the packet to the reader. Returns the end of the packet. */
uint64_t ofi_shm_ring_end(struct ofi_shm_ring_tx *tx);
/* Returns true if at most half of the ring lies between the reader and this end of a packet. */
bool ofi_shm_ring_near(struct ofi_shm_ring_tx *tx, uint64_t end);
/* Returns true if the reader may sleep. */
bool ofi_shm_ring_sleeps(const struct ofi_shm_ring_tx *tx);
/* Returns true if the caller, who has written a packet, must wake the reader. */
bool ofi_shm_ring_must_wake_reader(struct ofi_shm_ring_tx *tx);
/*
 * Asks the reader to wake the writer when this end of a packet is near. The caller then looks at
 * the ring again.
 */
void ofi_shm_ring_wait(struct ofi_shm_ring_tx *tx, uint64_t end);

/*
 * Returns the end of what the writer has written, or the reader's own position if that end is
 * impossible.
 */
uint64_t ofi_shm_ring_written(const struct ofi_shm_ring_rx *rx);
/* Looks at the next packet. */
enum ofi_shm_ring_state ofi_shm_ring_peek(struct ofi_shm_ring_rx *rx, uint32_t *len,
					  uint32_t *mark);
/* Copies the packet, whose length the last peek returned, and frees its room. */
void ofi_shm_ring_take(struct ofi_shm_ring_rx *rx, void *bytes, uint32_t len);
/* Tells the writer that the reader may sleep. Returns true if there is a packet already. */
bool ofi_shm_ring_sleep(struct ofi_shm_ring_rx *rx);
/* Tells the writer that the reader is awake. */
void ofi_shm_ring_awake(struct ofi_shm_ring_rx *rx);
/* Returns true if the caller, who has taken packets, must wake the writer. */
bool ofi_shm_ring_must_wake_writer(struct ofi_shm_ring_rx *rx);

#endif
