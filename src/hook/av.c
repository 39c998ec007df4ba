/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address vectors under hooks. */
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include "hook.h"

static int av_insert(struct fid_av *av, const void *addr, size_t count, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_av_insert" };
	struct fid_av *real = ofi_hook_real(av);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(
		&site, av, start, real->ops->insert(real, addr, count, fi_addr, flags, context),
		"addr %p, count %zu, fi_addr %p, flags 0x%llx, context %p", (const void *)addr,
		count, (const void *)fi_addr, (unsigned long long)flags, (const void *)context);
}

static int av_insertsvc(struct fid_av *av, const char *node, const char *service,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_av_insertsvc" };
	struct fid_av *real = ofi_hook_real(av);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, av, start,
				 real->ops->insertsvc(real, node, service, fi_addr, flags, context),
				 "node %s, service %s, fi_addr %p, flags 0x%llx, context %p",
				 node ? node : "NULL", service ? service : "NULL",
				 (const void *)fi_addr, (unsigned long long)flags,
				 (const void *)context);
}

static int av_insertsym(struct fid_av *av, const char *node, size_t nodecnt, const char *service,
			size_t svccnt, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_av_insertsym" };
	struct fid_av *real = ofi_hook_real(av);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(
		&site, av, start,
		real->ops->insertsym(real, node, nodecnt, service, svccnt, fi_addr, flags, context),
		"node %s, nodecnt %zu, service %s, svccnt %zu, fi_addr %p, flags 0x%llx, context %p",
		node ? node : "NULL", nodecnt, service ? service : "NULL", svccnt,
		(const void *)fi_addr, (unsigned long long)flags, (const void *)context);
}

static int av_remove(struct fid_av *av, fi_addr_t *fi_addr, size_t count, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_av_remove" };
	struct fid_av *real = ofi_hook_real(av);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, av, start, real->ops->remove(real, fi_addr, count, flags),
				 "fi_addr %p, count %zu, flags 0x%llx", (const void *)fi_addr,
				 count, (unsigned long long)flags);
}

static int av_lookup(struct fid_av *av, fi_addr_t fi_addr, void *addr, size_t *addrlen)
{
	static struct ofi_hook_site site = { .name = "fi_av_lookup" };
	struct fid_av *real = ofi_hook_real(av);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, av, start, real->ops->lookup(real, fi_addr, addr, addrlen),
				 "fi_addr 0x%llx, addr %p, addrlen %p", (unsigned long long)fi_addr,
				 (const void *)addr, (const void *)addrlen);
}

static const char *av_straddr(struct fid_av *av, const void *addr, char *buf, size_t *len)
{
	struct fid_av *real = ofi_hook_real(av);

	return real->ops->straddr(real, addr, buf, len);
}

static int av_av_set(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **av_set,
		     void *context)
{
	static struct ofi_hook_site site = { .name = "fi_av_set" };
	struct fid_av *real = ofi_hook_real(av);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_av, av_set))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(&site, av, start, real->ops->av_set(real, attr, av_set, context),
				 "attr %p, av_set %p, context %p", (const void *)attr,
				 (const void *)av_set, (const void *)context);
}

static int av_insert_auth_key(struct fid_av *av, const void *auth_key, size_t auth_key_size,
			      fi_addr_t *fi_addr, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_av_insert_auth_key" };
	struct fid_av *real = ofi_hook_real(av);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_av, insert_auth_key))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(
		&site, av, start,
		real->ops->insert_auth_key(real, auth_key, auth_key_size, fi_addr, flags),
		"auth_key %p, auth_key_size %zu, fi_addr %p, flags 0x%llx", (const void *)auth_key,
		auth_key_size, (const void *)fi_addr, (unsigned long long)flags);
}

static int av_lookup_auth_key(struct fid_av *av, fi_addr_t addr, void *auth_key,
			      size_t *auth_key_size)
{
	static struct ofi_hook_site site = { .name = "fi_av_lookup_auth_key" };
	struct fid_av *real = ofi_hook_real(av);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_av, lookup_auth_key))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(
		&site, av, start, real->ops->lookup_auth_key(real, addr, auth_key, auth_key_size),
		"addr 0x%llx, auth_key %p, auth_key_size %p", (unsigned long long)addr,
		(const void *)auth_key, (const void *)auth_key_size);
}

static int av_set_user_id(struct fid_av *av, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_av_set_user_id" };
	struct fid_av *real = ofi_hook_real(av);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_av, set_user_id))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(
		&site, av, start, real->ops->set_user_id(real, fi_addr, user_id, flags),
		"fi_addr 0x%llx, user_id 0x%llx, flags 0x%llx", (unsigned long long)fi_addr,
		(unsigned long long)user_id, (unsigned long long)flags);
}

static int av_lookup2(struct fid_av *av, fi_addr_t fi_addr, void *buf, size_t *len, uint64_t flags,
		      struct fid_xpu_ctx *ctx)
{
	static struct ofi_hook_site site = { .name = "fi_av_lookup2" };
	struct fid_av *real = ofi_hook_real(av);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_av, lookup2))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(
		&site, av, start, real->ops->lookup2(real, fi_addr, buf, len, flags, ctx),
		"fi_addr 0x%llx, buf %p, len %p, flags 0x%llx, ctx %p", (unsigned long long)fi_addr,
		(const void *)buf, (const void *)len, (unsigned long long)flags, (const void *)ctx);
}

struct fi_ops_av ofi_hook_av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = av_insert,
	.insertsvc = av_insertsvc,
	.insertsym = av_insertsym,
	.remove = av_remove,
	.lookup = av_lookup,
	.straddr = av_straddr,
	.av_set = av_av_set,
	.insert_auth_key = av_insert_auth_key,
	.lookup_auth_key = av_lookup_auth_key,
	.set_user_id = av_set_user_id,
	.lookup2 = av_lookup2,
};
