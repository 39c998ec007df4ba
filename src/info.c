/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_info: allocating, duplicating and freeing it with everything it points to. */
#include "abi.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "export.h"
#include <rdma/fi_errno.h>

void ofi_nic_free(struct fid_nic *nic)
{
	if (nic && nic->fid.ops && nic->fid.ops->close)
		nic->fid.ops->close(&nic->fid);
}

static void wipe_key(uint8_t *key, size_t size)
{
	if (key && size != FI_AV_AUTH_KEY)
		explicit_bzero(key, size);
	free(key);
}

static void info_release(struct fi_info *info)
{
	free(info->src_addr);
	free(info->dest_addr);
	if (info->ep_attr)
		wipe_key(info->ep_attr->auth_key, info->ep_attr->auth_key_size);
	if (info->domain_attr) {
		free(info->domain_attr->name);
		wipe_key(info->domain_attr->auth_key, info->domain_attr->auth_key_size);
	}
	if (info->fabric_attr) {
		free(info->fabric_attr->name);
		free(info->fabric_attr->prov_name);
	}
	ofi_nic_free(info->nic);
}

void ofi_info_free(struct fi_info *info, struct fi_info *seen)
{
	info_release(seen);
	free(info->tx_attr);
	free(info->rx_attr);
	free(info->ep_attr);
	free(info->domain_attr);
	free(info->fabric_attr);
	free(info);
}

OFI_EXPORT void fi_freeinfo(struct fi_info *info)
{
	struct fi_info *next;

	for (; info; info = next) {
		next = info->next;
		ofi_info_free(info, info);
	}
}

/* Copies an attribute structure. If there is none, allocates a zeroed one if `always` is set. */
static bool dup_attr(void *slot, const void *attr, size_t size, bool always)
{
	void *copy = NULL;

	if (attr || always) {
		copy = attr ? malloc(size) : calloc(1, size);
		if (copy && attr)
			memcpy(copy, attr, size);
	}
	memcpy(slot, &copy, sizeof(copy));
	return copy || (!attr && !always);
}

static bool dup_bytes(void *slot, const void *bytes, size_t len)
{
	return dup_attr(slot, len && len != FI_AV_AUTH_KEY ? bytes : NULL, len, false);
}

static bool dup_str(char **slot, const char *str)
{
	*slot = str ? strdup(str) : NULL;
	return *slot || !str;
}

static bool dup_nic(struct fid_nic **slot, struct fid_nic *nic)
{
	struct fid *copy = NULL;
	int ret;

	*slot = NULL;
	if (!nic || !nic->fid.ops || !nic->fid.ops->control)
		return true;
	ret = nic->fid.ops->control(&nic->fid, FI_DUP, &copy);
	if (!ret)
		*slot = (struct fid_nic *)copy;
	return !ret || ret == -FI_ENOSYS;
}

static bool dup_structs(struct fi_info *to, const struct fi_info *from, bool empty)
{
	bool ok = true;

	ok &= dup_attr(&to->tx_attr, from->tx_attr, sizeof(*to->tx_attr), empty);
	ok &= dup_attr(&to->rx_attr, from->rx_attr, sizeof(*to->rx_attr), empty);
	ok &= dup_attr(&to->ep_attr, from->ep_attr, sizeof(*to->ep_attr), empty);
	ok &= dup_attr(&to->domain_attr, from->domain_attr, sizeof(*to->domain_attr), empty);
	ok &= dup_attr(&to->fabric_attr, from->fabric_attr, sizeof(*to->fabric_attr), empty);
	return ok;
}

/*
 * Sets each pointer of the copy, even after a failure, so that none still points to memory of the
 * original.
 */
static bool dup_contents(struct fi_info *to, const struct fi_info *from)
{
	bool ok = true;

	ok &= dup_bytes(&to->src_addr, from->src_addr, from->src_addrlen);
	ok &= dup_bytes(&to->dest_addr, from->dest_addr, from->dest_addrlen);
	if (to->ep_attr)
		ok &= dup_bytes(&to->ep_attr->auth_key, from->ep_attr->auth_key,
				from->ep_attr->auth_key_size);
	if (to->domain_attr) {
		ok &= dup_str(&to->domain_attr->name, from->domain_attr->name);
		ok &= dup_bytes(&to->domain_attr->auth_key, from->domain_attr->auth_key,
				from->domain_attr->auth_key_size);
	}
	if (to->fabric_attr) {
		ok &= dup_str(&to->fabric_attr->name, from->fabric_attr->name);
		ok &= dup_str(&to->fabric_attr->prov_name, from->fabric_attr->prov_name);
	}
	return dup_nic(&to->nic, from->nic) && ok;
}

OFI_EXPORT struct fi_info *fi_dupinfo(const struct fi_info *info)
{
	static const struct fi_info none;
	struct fi_info *copy;
	bool ok;

	ofi_abi_note(OFI_ABI_1_10);
	copy = malloc(sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = info ? *info : none;
	copy->next = NULL;
	ok = dup_structs(copy, info ? info : &none, !info);
	if (info)
		ok &= dup_contents(copy, info);
	if (ok)
		return copy;
	fi_freeinfo(copy);
	return NULL;
}
