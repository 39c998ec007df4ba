/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Authorization keys of an address vector. */
#include "av_key.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/refuse.h"

#define KEY_ADDR (1ULL << 31) /* the fi_addr of the first key; no table grows that far */

bool ofi_rdm_av_has_keys(const struct ofi_domain *domain)
{
	return domain->info->domain_attr->auth_key_size == FI_AV_AUTH_KEY;
}

/* Returns the number of the key that an fi_addr stands for, counted from 1, or 0. */
static uint32_t number_of(struct ofi_rdm_av *av, fi_addr_t fi_addr)
{
	uint32_t count;

	ofi_lock(&av->index_lock);
	count = av->key_count;
	ofi_unlock(&av->index_lock);
	return fi_addr - KEY_ADDR < count ? (uint32_t)(fi_addr - KEY_ADDR) + 1 : 0;
}

static int refuse_key(const struct ofi_rdm_av *av, int err, const char *why)
{
	return ofi_refuse(av->base.prov, FI_LOG_AV, err, "fi_av_insert_auth_key: %s\n", why);
}

static int check_key(const struct ofi_rdm_av *av, const void *key, size_t len, fi_addr_t *fi_addr,
		     uint64_t flags)
{
	if (flags)
		return ofi_refuse_flags(av->base.prov, FI_LOG_AV, "fi_av_insert_auth_key", flags);
	if (!ofi_rdm_av_has_keys(av->domain))
		return refuse_key(
			av, -FI_ENOSYS,
			"set auth_key_size of domain_attr to FI_AV_AUTH_KEY in the hints of fi_getinfo");
	if (av->base.shared)
		return refuse_key(av, -FI_EOPNOTSUPP, "a named address vector has no keys");
	if (!key || !len || !fi_addr)
		return refuse_key(av, -FI_EINVAL, "the key is empty, or fi_addr is NULL");
	return 0;
}

int ofi_rdm_av_insert_auth_key(struct fid_av *fid, const void *bytes, size_t len,
			       fi_addr_t *fi_addr, uint64_t flags)
{
	struct ofi_rdm_av *av = ofi_rdm_av_of(fid);
	struct ofi_rdm_av_key *key;
	int ret = check_key(av, bytes, len, fi_addr, flags);

	if (ret)
		return ret;
	key = malloc(sizeof(*key) + len);
	if (!key)
		return -FI_ENOMEM;
	key->len = len;
	memcpy(key->bytes, bytes, len);
	ofi_lock(&av->index_lock);
	if (av->key_count < OFI_RDM_AV_KEYS) {
		*fi_addr = KEY_ADDR + av->key_count;
		av->keys[av->key_count++] = key;
		key = NULL;
	}
	ofi_unlock(&av->index_lock);
	if (!key)
		return 0;
	explicit_bzero(key->bytes, len);
	free(key);
	return refuse_key(av, -FI_ENOSPC, "the address vector has max_ep_auth_key keys already");
}

/*
 * Returns the number of the key that the fi_addr stands for, or that its address has; 0 if there is
 * none.
 */
static uint32_t find_key(struct ofi_rdm_av *av, fi_addr_t fi_addr)
{
	uint32_t number = number_of(av, fi_addr);
	struct ofi_rdm_addr addr;

	if (number || !ofi_rdm_av_get(av, fi_addr, &addr))
		return number;
	return ofi_rdm_av_get_key(av, &addr);
}

int ofi_rdm_av_lookup_auth_key(struct fid_av *fid, fi_addr_t fi_addr, void *bytes, size_t *len)
{
	struct ofi_rdm_av *av = ofi_rdm_av_of(fid);
	const struct ofi_rdm_av_key *key;
	uint32_t number;
	size_t room;

	if (!len || (!bytes && *len))
		return ofi_refuse_null(av->base.prov, FI_LOG_AV, "fi_av_lookup_auth_key",
				       "auth_key or auth_key_size");
	number = find_key(av, fi_addr);
	if (!number)
		return ofi_refuse(av->base.prov, FI_LOG_AV, -FI_EINVAL,
				  "fi_av_lookup_auth_key: fi_addr 0x%llx has no key\n",
				  (unsigned long long)fi_addr);
	key = av->keys[number - 1];
	room = *len;
	*len = key->len;
	if (room < key->len)
		return -FI_ETOOSMALL;
	memcpy(bytes, key->bytes, key->len);
	return 0;
}

static int check_numbers(struct ofi_rdm_av *av, size_t count, const fi_addr_t *fi_addr,
			 uint64_t flags)
{
	size_t i;

	if (flags & FI_AV_USER_ID || (count && !fi_addr))
		return ofi_refuse(
			av->base.prov, FI_LOG_AV, -FI_EINVAL,
			"fi_av_insert: FI_AUTH_KEY needs the keys in fi_addr, so FI_AV_USER_ID cannot be combined with it\n");
	for (i = 0; i < count; i++)
		if (!number_of(av, fi_addr[i]))
			return ofi_refuse(
				av->base.prov, FI_LOG_AV, -FI_EINVAL,
				"fi_av_insert: FI_AUTH_KEY: 0x%llx is not the fi_addr of a key\n",
				(unsigned long long)fi_addr[i]);
	return 0;
}

int ofi_rdm_av_insert_with_keys(struct ofi_rdm_av *av, const void *addr, size_t count,
				fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct ofi_rdm_addr known;
	fi_addr_t *keys;
	size_t i;
	int ret = check_numbers(av, count, fi_addr, flags);

	flags &= ~FI_AUTH_KEY;
	if (!ret)
		ret = ofi_av_check_insert(&av->base, "fi_av_insert", addr, count, fi_addr, flags,
					  context);
	if (ret || !count)
		return ret;
	keys = malloc(count * sizeof(*keys));
	if (!keys)
		return -FI_ENOMEM;
	memcpy(keys, fi_addr, count * sizeof(*keys));
	ret = ofi_av_insert(&av->base, addr, NULL, count, fi_addr, flags, context);
	for (i = 0; i < count; i++)
		if (fi_addr[i] != FI_ADDR_NOTAVAIL && ofi_rdm_av_get(av, fi_addr[i], &known))
			ofi_rdm_av_set_key(av, &known, number_of(av, keys[i]));
	free(keys);
	return ret;
}

const struct ofi_rdm_av_key *ofi_rdm_av_key_of(struct ofi_rdm_av *av,
					       const struct ofi_rdm_addr *addr)
{
	uint32_t number = ofi_rdm_av_get_key(av, addr);

	return number ? av->keys[number - 1] : NULL;
}

void ofi_rdm_av_keys_free(struct ofi_rdm_av *av)
{
	uint32_t i;

	for (i = 0; i < av->key_count; i++) {
		explicit_bzero(av->keys[i]->bytes, av->keys[i]->len);
		free(av->keys[i]);
	}
	free(av->keys);
}
