/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rings of packets in shared memory. Each side tells the other that it may sleep, and looks at the
 * ring again; the other side changes the ring, and looks whether its peer may sleep. All of these
 * accesses are in one order (SEQ_CST), so that one of the two sees what the other did.
 */
#include "shm_ring.h"

bool ofi_shm_ring_look(struct ofi_shm_ring_tx *tx)
{
	uint64_t read = __atomic_load_n(&tx->map->read, __ATOMIC_SEQ_CST);

	if (read < tx->read || read > tx->written)
		return false;
	tx->read = read;
	return true;
}

void ofi_shm_ring_wait(struct ofi_shm_ring_tx *tx, uint64_t end)
{
	__atomic_store_n(&tx->map->writer_waits, end, __ATOMIC_SEQ_CST);
}

uint64_t ofi_shm_ring_written(const struct ofi_shm_ring_rx *rx)
{
	uint64_t written = __atomic_load_n(&rx->map->written, __ATOMIC_ACQUIRE);

	return written - rx->read <= OFI_SHM_RING_DATA ? written : rx->read;
}

void ofi_shm_ring_take(struct ofi_shm_ring_rx *rx, void *bytes, uint32_t len)
{
	size_t at = (rx->read + sizeof(struct ofi_shm_ring_header)) & OFI_SHM_RING_MASK,
	       first = OFI_SHM_RING_DATA - at;

	if (first > len)
		first = len;
	memcpy(bytes, &rx->map->data[at], first);
	if (ofi_unlikely(first < len))
		memcpy((uint8_t *)bytes + first, rx->map->data, len - first);
	rx->read += ofi_shm_ring_room(len);
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
