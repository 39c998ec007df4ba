/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rings of packets in shared memory. Each side tells the other that it may sleep, and looks at the
 * ring again; the other side changes the ring, and looks whether its peer may sleep. All of these
 * accesses are in one order (SEQ_CST), so that one of the two sees what the other did.
 */
#include <string.h>
#include "src/ds/compiler.h"
#include "shm_ring.h"

#define MASK  (OFI_SHM_RING_DATA - 1)
#define ALIGN 8u

struct header {
	uint32_t len, mark;
};

/* Returns the room that a packet takes. A header is never split, because all sizes are aligned. */
static uint64_t room_of(uint32_t len)
{
	return sizeof(struct header) + (((uint64_t)len + ALIGN - 1) & ~(uint64_t)(ALIGN - 1));
}

/* Updates the reader's position. Returns false if it is impossible. */
static bool look_at_reader(struct ofi_shm_ring_tx *tx)
{
	uint64_t read = __atomic_load_n(&tx->map->read, __ATOMIC_SEQ_CST);

	if (read < tx->read || read > tx->written)
		return false;
	tx->read = read;
	return true;
}

enum ofi_shm_ring_state ofi_shm_ring_begin(struct ofi_shm_ring_tx *tx, uint32_t len, uint32_t mark)
{
	const struct header header = { len, mark };
	uint64_t room = room_of(len);

	if (tx->written + room - tx->read > OFI_SHM_RING_DATA) {
		if (!look_at_reader(tx))
			return OFI_SHM_RING_INVALID;
		if (tx->written + room - tx->read > OFI_SHM_RING_DATA)
			return OFI_SHM_RING_FULL;
	}
	memcpy(&tx->map->data[tx->written & MASK], &header, sizeof(header));
	tx->at = tx->written + sizeof(header);
	tx->written += room;
	return OFI_SHM_RING_PACKET;
}

void ofi_shm_ring_add(struct ofi_shm_ring_tx *tx, const void *bytes, size_t len)
{
	size_t at = tx->at & MASK, first = OFI_SHM_RING_DATA - at;

	if (first > len)
		first = len;
	memcpy(&tx->map->data[at], bytes, first);
	if (ofi_unlikely(first < len))
		memcpy(tx->map->data, (const uint8_t *)bytes + first, len - first);
	tx->at += len;
}

uint64_t ofi_shm_ring_end(struct ofi_shm_ring_tx *tx)
{
	__atomic_store_n(&tx->map->written, tx->written, __ATOMIC_SEQ_CST);
	return tx->written;
}

bool ofi_shm_ring_sleeps(const struct ofi_shm_ring_tx *tx)
{
	return __atomic_load_n(&tx->map->reader_sleeps, __ATOMIC_SEQ_CST);
}

bool ofi_shm_ring_must_wake_reader(struct ofi_shm_ring_tx *tx)
{
	return ofi_shm_ring_sleeps(tx) &&
	       __atomic_exchange_n(&tx->map->reader_sleeps, 0, __ATOMIC_SEQ_CST);
}

void ofi_shm_ring_wait(struct ofi_shm_ring_tx *tx, uint64_t end)
{
	__atomic_store_n(&tx->map->writer_waits, end, __ATOMIC_SEQ_CST);
}

/* A reader whose position is impossible is treated as one that does not move. */
bool ofi_shm_ring_near(struct ofi_shm_ring_tx *tx, uint64_t end)
{
	if (end > tx->read + OFI_SHM_RING_DATA / 2)
		look_at_reader(tx);
	return end <= tx->read + OFI_SHM_RING_DATA / 2;
}

uint64_t ofi_shm_ring_written(const struct ofi_shm_ring_rx *rx)
{
	uint64_t written = __atomic_load_n(&rx->map->written, __ATOMIC_ACQUIRE);

	return written - rx->read <= OFI_SHM_RING_DATA ? written : rx->read;
}

enum ofi_shm_ring_state ofi_shm_ring_peek(struct ofi_shm_ring_rx *rx, uint32_t *len, uint32_t *mark)
{
	struct header header;

	if (rx->written == rx->read) {
		rx->written = __atomic_load_n(&rx->map->written, __ATOMIC_ACQUIRE);
		if (rx->written == rx->read)
			return OFI_SHM_RING_EMPTY;
	}
	if (rx->written - rx->read > OFI_SHM_RING_DATA || rx->written % ALIGN)
		return OFI_SHM_RING_INVALID;
	memcpy(&header, &rx->map->data[rx->read & MASK], sizeof(header));
	if (room_of(header.len) > rx->written - rx->read)
		return OFI_SHM_RING_INVALID;
	*len = header.len;
	*mark = header.mark;
	return OFI_SHM_RING_PACKET;
}

void ofi_shm_ring_take(struct ofi_shm_ring_rx *rx, void *bytes, uint32_t len)
{
	size_t at = (rx->read + sizeof(struct header)) & MASK, first = OFI_SHM_RING_DATA - at;

	if (first > len)
		first = len;
	memcpy(bytes, &rx->map->data[at], first);
	if (ofi_unlikely(first < len))
		memcpy((uint8_t *)bytes + first, rx->map->data, len - first);
	rx->read += room_of(len);
	__atomic_store_n(&rx->map->read, rx->read, __ATOMIC_SEQ_CST);
}

bool ofi_shm_ring_sleep(struct ofi_shm_ring_rx *rx)
{
	__atomic_store_n(&rx->map->reader_sleeps, 1, __ATOMIC_SEQ_CST);
	return __atomic_load_n(&rx->map->written, __ATOMIC_SEQ_CST) != rx->read;
}

void ofi_shm_ring_awake(struct ofi_shm_ring_rx *rx)
{
	__atomic_store_n(&rx->map->reader_sleeps, 0, __ATOMIC_RELAXED);
}

bool ofi_shm_ring_must_wake_writer(struct ofi_shm_ring_rx *rx)
{
	uint64_t end = __atomic_load_n(&rx->map->writer_waits, __ATOMIC_SEQ_CST);

	return end && end <= rx->read + OFI_SHM_RING_DATA / 2 &&
	       __atomic_exchange_n(&rx->map->writer_waits, 0, __ATOMIC_SEQ_CST);
}
