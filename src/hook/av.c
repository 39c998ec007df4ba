/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address vectors under hooks. */
#include <rdma/fi_domain.h>
#include "call.h"

#define AV_CALLS(CALL)                                                                             \
	CALL(UNTOLD, const char *, straddr, (P, const void *, addr), (P, char *, buf),             \
	     (P, size_t *, len))                                                                   \
	CALL(PLAIN, int, insert, "fi_av_insert", (P, const void *, addr), A_COUNT, A_FI_ADDRS,     \
	     A_FLAGS, A_CONTEXT)                                                                   \
	CALL(PLAIN, int, insertsvc, "fi_av_insertsvc", A_NODE, A_SERVICE, A_FI_ADDRS, A_FLAGS,     \
	     A_CONTEXT)                                                                            \
	CALL(PLAIN, int, insertsym, "fi_av_insertsym", A_NODE, (Z, size_t, nodecnt), A_SERVICE,    \
	     (Z, size_t, svccnt), A_FI_ADDRS, A_FLAGS, A_CONTEXT)                                  \
	CALL(PLAIN, int, remove, "fi_av_remove", A_FI_ADDRS, A_COUNT, A_FLAGS)                     \
	CALL(PLAIN, int, lookup, "fi_av_lookup", A_FI_ADDR, (P, void *, addr),                     \
	     (P, size_t *, addrlen))                                                               \
	CALL(OPTIONAL, int, av_set, "fi_av_set", (P, struct fi_av_set_attr *, attr),               \
	     (P, struct fid_av_set **, av_set), A_CONTEXT)                                         \
	CALL(OPTIONAL, int, insert_auth_key, "fi_av_insert_auth_key", (P, const void *, auth_key), \
	     (Z, size_t, auth_key_size), A_FI_ADDRS, A_FLAGS)                                      \
	CALL(OPTIONAL, int, lookup_auth_key, "fi_av_lookup_auth_key", (X, fi_addr_t, addr),        \
	     (P, void *, auth_key), (P, size_t *, auth_key_size))                                  \
	CALL(OPTIONAL, int, set_user_id, "fi_av_set_user_id", A_FI_ADDR, (X, fi_addr_t, user_id),  \
	     A_FLAGS)                                                                              \
	CALL(OPTIONAL, int, lookup2, "fi_av_lookup2", A_FI_ADDR, A_BUF_OUT, (P, size_t *, len),    \
	     A_FLAGS, (P, struct fid_xpu_ctx *, ctx))

#define AV_DEFINE(how, ret, ...)   HOOK_##how(fid_av, ops, ret, __VA_ARGS__)
#define AV_SLOT(how, ret, op, ...) HOOK_SLOT(fid_av, ops, op)
AV_CALLS(AV_DEFINE)

struct fi_ops_av ofi_hook_av_ops = {
	.size = sizeof(struct fi_ops_av) AV_CALLS(AV_SLOT),
};
