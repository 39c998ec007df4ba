/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rights to copy. The fences order the end of a right before what its owner writes next, and the
 * copied bytes before the second look at the right.
 */
#include "shm_grant.h"

void ofi_shm_grant_give(struct ofi_shm_grant *grants, uint64_t key, uint64_t addr, uint64_t len)
{
	struct ofi_shm_grant *grant = &grants[(uint32_t)key % OFI_SHM_GRANTS];

	__atomic_store_n(&grant->addr, addr, __ATOMIC_RELAXED);
	__atomic_store_n(&grant->len, len, __ATOMIC_RELAXED);
	__atomic_store_n(&grant->key, key, __ATOMIC_RELEASE);
}

void ofi_shm_grant_end(struct ofi_shm_grant *grants, uint32_t number)
{
	__atomic_store_n(&grants[number % OFI_SHM_GRANTS].key, 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool ofi_shm_grant_covers(const struct ofi_shm_grant *grants, uint64_t key, uint64_t addr,
			  uint64_t len)
{
	const struct ofi_shm_grant *grant = &grants[(uint32_t)key % OFI_SHM_GRANTS];
	uint64_t begin, size;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&grant->key, __ATOMIC_ACQUIRE) != key)
		return false;
	begin = __atomic_load_n(&grant->addr, __ATOMIC_RELAXED);
	size = __atomic_load_n(&grant->len, __ATOMIC_RELAXED);
	return addr >= begin && len <= size && addr - begin <= size - len;
}
