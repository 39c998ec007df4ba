/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address vectors under hooks. */
#include <rdma/fi_domain.h>
#include "call.h"

#define AV_CALLS(CALL, OF...)                                                                      \
	CALL(OF, UNTOLD, const char *, straddr, (P, const void *, addr), (P, char *, buf),         \
	     (P, size_t *, len))                                                                   \
	CALL(OF, PLAIN, int, insert, "fi_av_insert", (P, const void *, addr), A_COUNT, A_FI_ADDRS, \
	     A_FLAGS, A_CONTEXT)                                                                   \
	CALL(OF, PLAIN, int, insertsvc, "fi_av_insertsvc", A_NODE, A_SERVICE, A_FI_ADDRS, A_FLAGS, \
	     A_CONTEXT)                                                                            \
	CALL(OF, PLAIN, int, insertsym, "fi_av_insertsym", A_NODE, (Z, size_t, nodecnt),           \
	     A_SERVICE, (Z, size_t, svccnt), A_FI_ADDRS, A_FLAGS, A_CONTEXT)                       \
	CALL(OF, PLAIN, int, remove, "fi_av_remove", A_FI_ADDRS, A_COUNT, A_FLAGS)                 \
	CALL(OF, PLAIN, int, lookup, "fi_av_lookup", A_FI_ADDR, (P, void *, addr),                 \
	     (P, size_t *, addrlen))                                                               \
	CALL(OF, OPTIONAL, int, av_set, "fi_av_set", A_ATTR(fi_av_set_attr), A_NEW(av_set),        \
	     A_CONTEXT)                                                                            \
	CALL(OF, OPTIONAL, int, insert_auth_key, "fi_av_insert_auth_key",                          \
	     (P, const void *, auth_key), (Z, size_t, auth_key_size), A_FI_ADDRS, A_FLAGS)         \
	CALL(OF, OPTIONAL, int, lookup_auth_key, "fi_av_lookup_auth_key", (X, fi_addr_t, addr),    \
	     (P, void *, auth_key), (P, size_t *, auth_key_size))                                  \
	CALL(OF, OPTIONAL, int, set_user_id, "fi_av_set_user_id", A_FI_ADDR,                       \
	     (X, fi_addr_t, user_id), A_FLAGS)                                                     \
	CALL(OF, OPTIONAL, int, lookup2, "fi_av_lookup2", A_FI_ADDR, A_BUF_OUT,                    \
	     (P, size_t *, len), A_FLAGS, (P, struct fid_xpu_ctx *, ctx))

HOOK_TABLE(fi_ops_av, ofi_hook_av_ops, fid_av, ops, AV_CALLS)
