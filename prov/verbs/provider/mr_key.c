/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Raw keys, for programs that use them with all providers: the bytes of the key, lowest first, so
 * that hosts of any byte order interoperate.
 */
#include "mr.h"

#include <rdma/providers/fi_log.h>
#include "prov.h"
#include "prov/base/refuse.h"

int vrb_mr_raw_get(uint64_t key, size_t size, uint64_t base, const struct fi_mr_raw_attr *raw)
{
	size_t i, room;

	if (!raw || !raw->key_size || (!raw->raw_key && *raw->key_size))
		return ofi_refuse_null(&vrb_prov, FI_LOG_MR, "fi_mr_raw_attr",
				       "raw_key or key_size");
	if (raw->flags)
		return ofi_refuse_flags(&vrb_prov, FI_LOG_MR, "fi_mr_raw_attr", raw->flags);
	room = *raw->key_size;
	*raw->key_size = size;
	if (raw->base_addr)
		*raw->base_addr = base;
	if (room < size)
		return ofi_decline(&vrb_prov, FI_LOG_MR, -FI_ETOOSMALL,
				   "fi_mr_raw_attr: key_size %zu; a key has %zu bytes\n", room,
				   size);
	for (i = 0; i < size; i++)
		raw->raw_key[i] = (uint8_t)(key >> (8 * i));
	return 0;
}

int vrb_mr_raw_map(size_t size, const struct fi_mr_map_raw *map)
{
	uint64_t key = 0;
	size_t i;

	if (!map || !map->raw_key || !map->key)
		return ofi_refuse_null(&vrb_prov, FI_LOG_MR, "fi_mr_map_raw", "raw_key or key");
	if (map->flags)
		return ofi_refuse_flags(&vrb_prov, FI_LOG_MR, "fi_mr_map_raw", map->flags);
	if (map->key_size != size)
		return ofi_refuse(&vrb_prov, FI_LOG_MR, -FI_EINVAL,
				  "fi_mr_map_raw: key_size %zu; a key has %zu bytes\n",
				  map->key_size, size);
	for (i = size; i--;)
		key = key << 8 | map->raw_key[i];
	*map->key = key;
	return 0;
}

int vrb_mr_raw_unmap(const uint64_t *key)
{
	return key ? 0 : ofi_refuse_null(&vrb_prov, FI_LOG_MR, "fi_mr_unmap_key", "key");
}
