/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The address handles of addresses, looked up at first use, and addresses of multicast groups. */
#include <errno.h>
#include "av.h"
#include "prov/verbs/queue/ah.h"

#define GROUP_BASE ((fi_addr_t)1 << 62)

enum { HOP_LIMIT = 64 };

/* Returns NULL with errno set on failure. The caller holds the lock. */
static struct ibv_ah *find_ah(struct vrb_av *av, const struct vrb_dest *dest,
			      struct vrb_tclass tclass)
{
	struct ibv_ah_attr attr = {
		.dlid = dest->lid,
		.sl = tclass.level < 0 ? dest->sl : (uint8_t)tclass.level,
		.is_global = 1,
		.port_num = av->port.num,
		.grh = {
			.dgid = dest->gid,
			.sgid_index = (uint8_t)av->port.gid_index,
			.hop_limit = HOP_LIMIT,
			.traffic_class = tclass.tos,
		},
	};
	const struct vrb_ah *found;

	found = av->domain->unordered ? vrb_ah_of_domain(av->domain, &attr)
				      : vrb_ah_get(&av->paths, av->domain->pd, &attr);
	return found ? found->ah : NULL;
}

static struct vrb_dest *group_at(const struct vrb_av *av, fi_addr_t addr)
{
	return addr >= GROUP_BASE ? ofi_table_at(&av->groups, addr - GROUP_BASE) : NULL;
}

const struct vrb_dest *vrb_av_dest_as(struct vrb_av *av, fi_addr_t addr, struct vrb_tclass tclass,
				      struct vrb_dest *own)
{
	struct vrb_dest *dest;
	struct ibv_ah *ah;
	bool late;

	do {
		errno = EINVAL;
		ofi_lock(&av->base.lock);
		dest = group_at(av, addr);
		if (!dest || !__atomic_load_n(&dest->ah, __ATOMIC_RELAXED))
			dest = ofi_av_entry(&av->base, addr);
		late = dest && addr < GROUP_BASE && vrb_dest_is_late(dest);
		ah = dest && !late ? find_ah(av, dest, tclass) : NULL;
		if (ah && own) {
			*own = *dest;
			dest = own;
		}
		if (ah)
			__atomic_store_n(&dest->ah, ah, __ATOMIC_RELEASE);
		ofi_unlock(&av->base.lock);
	} while (late && vrb_late_find(av, addr));
	return ah ? dest : NULL;
}

const struct vrb_dest *vrb_av_dest_slow(struct vrb_av *av, fi_addr_t addr)
{
	const struct vrb_dest *dest = group_at(av, addr);

	if (dest && __atomic_load_n(&dest->ah, __ATOMIC_ACQUIRE))
		return dest;
	return vrb_av_dest_as(av, addr, av->tclass, NULL);
}

struct ibv_ah *vrb_av_ah(struct vrb_av *av, const struct vrb_dest *dest)
{
	struct ibv_ah *ah;

	ofi_lock(&av->base.lock);
	ah = find_ah(av, dest, av->tclass);
	ofi_unlock(&av->base.lock);
	return ah;
}

bool vrb_av_adopt(struct vrb_av *av, struct vrb_tclass tclass)
{
	bool same;

	ofi_lock(&av->base.lock);
	if (!av->has_tclass)
		av->tclass = tclass;
	av->has_tclass = true;
	same = vrb_tclass_same(av->tclass, tclass);
	ofi_unlock(&av->base.lock);
	return same;
}

fi_addr_t vrb_av_add_group(struct vrb_av *av, const struct vrb_dest *group)
{
	size_t index = OFI_TABLE_NONE;
	struct vrb_dest *dest;
	struct ibv_ah *ah;

	ofi_lock(&av->base.lock);
	ah = find_ah(av, group, av->tclass);
	if (ah) {
		index = ofi_table_take(&av->groups, 0);
		errno = ENOMEM;
	}
	if (index != OFI_TABLE_NONE) {
		dest = ofi_table_at(&av->groups, index);
		vrb_dest_set(dest, group);
		__atomic_store_n(&dest->ah, ah, __ATOMIC_RELEASE);
	}
	ofi_unlock(&av->base.lock);
	return index == OFI_TABLE_NONE ? FI_ADDR_NOTAVAIL : GROUP_BASE + index;
}

void vrb_av_remove_group(struct vrb_av *av, fi_addr_t addr)
{
	struct vrb_dest *dest = group_at(av, addr);

	if (!dest)
		return;
	ofi_lock(&av->base.lock);
	__atomic_store_n(&dest->ah, NULL, __ATOMIC_RELEASE);
	ofi_table_give(&av->groups, addr - GROUP_BASE);
	ofi_unlock(&av->base.lock);
}
