/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address vectors under hooks. */
#include <rdma/fi_domain.h>
#include "call.h"

#define AV_CALLS(CALL)                                                                             \
	CALL(PLAIN, int, insert, "fi_av_insert", (P, const void *, addr), (Z, size_t, count),      \
	     (P, fi_addr_t *, fi_addr), (X, uint64_t, flags), (P, void *, context))                \
	CALL(PLAIN, int, insertsvc, "fi_av_insertsvc", (S, const char *, node),                    \
	     (S, const char *, service), (P, fi_addr_t *, fi_addr), (X, uint64_t, flags),          \
	     (P, void *, context))                                                                 \
	CALL(PLAIN, int, insertsym, "fi_av_insertsym", (S, const char *, node),                    \
	     (Z, size_t, nodecnt), (S, const char *, service), (Z, size_t, svccnt),                \
	     (P, fi_addr_t *, fi_addr), (X, uint64_t, flags), (P, void *, context))                \
	CALL(PLAIN, int, remove, "fi_av_remove", (P, fi_addr_t *, fi_addr), (Z, size_t, count),    \
	     (X, uint64_t, flags))                                                                 \
	CALL(PLAIN, int, lookup, "fi_av_lookup", (X, fi_addr_t, fi_addr), (P, void *, addr),       \
	     (P, size_t *, addrlen))                                                               \
	CALL(OPTIONAL, int, av_set, "fi_av_set", (P, struct fi_av_set_attr *, attr),               \
	     (P, struct fid_av_set **, av_set), (P, void *, context))                              \
	CALL(OPTIONAL, int, insert_auth_key, "fi_av_insert_auth_key", (P, const void *, auth_key), \
	     (Z, size_t, auth_key_size), (P, fi_addr_t *, fi_addr), (X, uint64_t, flags))          \
	CALL(OPTIONAL, int, lookup_auth_key, "fi_av_lookup_auth_key", (X, fi_addr_t, addr),        \
	     (P, void *, auth_key), (P, size_t *, auth_key_size))                                  \
	CALL(OPTIONAL, int, set_user_id, "fi_av_set_user_id", (X, fi_addr_t, fi_addr),             \
	     (X, fi_addr_t, user_id), (X, uint64_t, flags))                                        \
	CALL(OPTIONAL, int, lookup2, "fi_av_lookup2", (X, fi_addr_t, fi_addr), (P, void *, buf),   \
	     (P, size_t *, len), (X, uint64_t, flags), (P, struct fid_xpu_ctx *, ctx))

#define AV_DEFINE(how, ret, ...)   HOOK_##how(fid_av, ops, ret, __VA_ARGS__)
#define AV_SLOT(how, ret, op, ...) HOOK_SLOT(fid_av, ops, op)
AV_CALLS(AV_DEFINE)

static const char *av_straddr(struct fid_av *av, const void *addr, char *buf, size_t *len)
{
	struct fid_av *real = ofi_hook_real(av);

	return real->ops->straddr(real, addr, buf, len);
}

struct fi_ops_av ofi_hook_av_ops = {
	.size = sizeof(struct fi_ops_av),
	.straddr = av_straddr AV_CALLS(AV_SLOT),
};
