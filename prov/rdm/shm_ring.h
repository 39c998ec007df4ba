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
#include <string.h>
#include "copy.h"
#include "shm_grant.h"
#include "src/ds/compiler.h"

#define OFI_SHM_RING_DATA (64u << 10) /* bytes of packets with their headers, a power of two */
#define OFI_SHM_RING_MASK (OFI_SHM_RING_DATA - 1)
/* The most packets that ofi_shm_ring_near() takes for read, of 64 bytes with their headers. */
#define OFI_SHM_RING_UNREAD (OFI_SHM_RING_DATA / 2 / 64)
#define OFI_SHM_RING_ALIGN  8u

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

struct ofi_shm_ring_header {
	uint32_t len, mark;
};

/* Returns the room that a packet takes. A header is never split, because all sizes are aligned. */
static inline uint64_t ofi_shm_ring_room(uint32_t len)
{
	return sizeof(struct ofi_shm_ring_header) +
	       (((uint64_t)len + OFI_SHM_RING_ALIGN - 1) & ~(uint64_t)(OFI_SHM_RING_ALIGN - 1));
}

/* Updates the reader's position. Returns false if it is impossible. */
bool ofi_shm_ring_look(struct ofi_shm_ring_tx *tx);

/*
 * Begins a packet of len bytes with a mark for the reader. Returns PACKET, FULL or INVALID; with
 * FULL and INVALID nothing is begun.
 */
static inline enum ofi_shm_ring_state ofi_shm_ring_begin(struct ofi_shm_ring_tx *tx, uint32_t len,
							 uint32_t mark)
{
	const struct ofi_shm_ring_header header = { len, mark };
	uint64_t room = ofi_shm_ring_room(len);

	if (ofi_unlikely(tx->written + room - tx->read > OFI_SHM_RING_DATA)) {
		if (!ofi_shm_ring_look(tx))
			return OFI_SHM_RING_INVALID;
		if (tx->written + room - tx->read > OFI_SHM_RING_DATA)
			return OFI_SHM_RING_FULL;
	}
	memcpy(&tx->map->data[tx->written & OFI_SHM_RING_MASK], &header, sizeof(header));
	tx->at = tx->written + sizeof(header);
	tx->written += room;
	return OFI_SHM_RING_PACKET;
}

/* Appends bytes to the packet, in total as many as it was begun with. */
static inline void ofi_shm_ring_add(struct ofi_shm_ring_tx *tx, const void *bytes, size_t len)
{
	size_t at = tx->at & OFI_SHM_RING_MASK, first = OFI_SHM_RING_DATA - at;

	tx->at += len;
	if (ofi_likely(len <= first)) {
		ofi_rdm_copy(&tx->map->data[at], bytes, len);
		return;
	}
	memcpy(&tx->map->data[at], bytes, first);
	memcpy(tx->map->data, (const uint8_t *)bytes + first, len - first);
}

/* Shows the packet to the reader. Returns the end of the packet. */
static inline uint64_t ofi_shm_ring_end(struct ofi_shm_ring_tx *tx)
{
	__atomic_store_n(&tx->map->written, tx->written, __ATOMIC_SEQ_CST);
	return tx->written;
}

/*
 * Returns true if at most half of the ring lies between the reader and this end of a packet. A
 * reader whose position is impossible is treated as one that does not move.
 */
static inline bool ofi_shm_ring_near(struct ofi_shm_ring_tx *tx, uint64_t end)
{
	if (ofi_unlikely(end > tx->read + OFI_SHM_RING_DATA / 2))
		ofi_shm_ring_look(tx);
	return end <= tx->read + OFI_SHM_RING_DATA / 2;
}

/* Returns true if the reader may sleep. */
static inline bool ofi_shm_ring_sleeps(const struct ofi_shm_ring_tx *tx)
{
	return __atomic_load_n(&tx->map->reader_sleeps, __ATOMIC_SEQ_CST);
}

/* Returns true if the caller, who has written a packet, must wake the reader. */
static inline bool ofi_shm_ring_must_wake_reader(struct ofi_shm_ring_tx *tx)
{
	return ofi_shm_ring_sleeps(tx) &&
	       __atomic_exchange_n(&tx->map->reader_sleeps, 0, __ATOMIC_SEQ_CST);
}

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
static inline enum ofi_shm_ring_state ofi_shm_ring_peek(struct ofi_shm_ring_rx *rx, uint32_t *len,
							uint32_t *mark)
{
	struct ofi_shm_ring_header header;

	if (rx->written == rx->read) {
		/* Not before the bell was cleared: a writer that saw it rung does not ring it. */
		rx->written = __atomic_load_n(&rx->map->written, __ATOMIC_SEQ_CST);
		if (rx->written == rx->read)
			return OFI_SHM_RING_EMPTY;
	}
	if (rx->written - rx->read > OFI_SHM_RING_DATA || rx->written % OFI_SHM_RING_ALIGN)
		return OFI_SHM_RING_INVALID;
	memcpy(&header, &rx->map->data[rx->read & OFI_SHM_RING_MASK], sizeof(header));
	if (ofi_shm_ring_room(header.len) > rx->written - rx->read)
		return OFI_SHM_RING_INVALID;
	*len = header.len;
	*mark = header.mark;
	return OFI_SHM_RING_PACKET;
}

/* Copies the packet, whose length the last peek returned, and frees its room. */
void ofi_shm_ring_take(struct ofi_shm_ring_rx *rx, void *bytes, uint32_t len);
/* Tells the writer that the reader may sleep. Returns true if there is a packet already. */
bool ofi_shm_ring_sleep(struct ofi_shm_ring_rx *rx);
/* Tells the writer that the reader is awake. */
void ofi_shm_ring_awake(struct ofi_shm_ring_rx *rx);

/* Returns true if the caller, who has taken packets, must wake the writer. */
static inline bool ofi_shm_ring_must_wake_writer(struct ofi_shm_ring_rx *rx)
{
	uint64_t end = __atomic_load_n(&rx->map->writer_waits, __ATOMIC_SEQ_CST);

	return end && end <= rx->read + OFI_SHM_RING_DATA / 2 &&
	       __atomic_exchange_n(&rx->map->writer_waits, 0, __ATOMIC_SEQ_CST);
}

#endif
