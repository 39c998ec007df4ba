/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages, with tags and without, under hooks. */
#include <rdma/fi_tagged.h>
#include "call.h"

#define MSG_CALLS(CALL)                                                                         \
	CALL(PLAIN, ssize_t, recv, "fi_recv", (P, void *, buf), (Z, size_t, len),               \
	     (P, void *, desc), (X, fi_addr_t, src_addr), (P, void *, context))                 \
	CALL(PLAIN, ssize_t, recvv, "fi_recvv", (P, const struct iovec *, iov),                 \
	     (P, void **, desc), (Z, size_t, count), (X, fi_addr_t, src_addr),                  \
	     (P, void *, context))                                                              \
	CALL(TRIGGERED, ssize_t, recvmsg, "fi_recvmsg", (P, const struct fi_msg *, msg),        \
	     (X, uint64_t, flags))                                                              \
	CALL(PLAIN, ssize_t, send, "fi_send", (P, const void *, buf), (Z, size_t, len),         \
	     (P, void *, desc), (X, fi_addr_t, dest_addr), (P, void *, context))                \
	CALL(PLAIN, ssize_t, sendv, "fi_sendv", (P, const struct iovec *, iov),                 \
	     (P, void **, desc), (Z, size_t, count), (X, fi_addr_t, dest_addr),                 \
	     (P, void *, context))                                                              \
	CALL(TRIGGERED, ssize_t, sendmsg, "fi_sendmsg", (P, const struct fi_msg *, msg),        \
	     (X, uint64_t, flags))                                                              \
	CALL(PLAIN, ssize_t, inject, "fi_inject", (P, const void *, buf), (Z, size_t, len),     \
	     (X, fi_addr_t, dest_addr))                                                         \
	CALL(PLAIN, ssize_t, senddata, "fi_senddata", (P, const void *, buf), (Z, size_t, len), \
	     (P, void *, desc), (X, uint64_t, data), (X, fi_addr_t, dest_addr),                 \
	     (P, void *, context))                                                              \
	CALL(PLAIN, ssize_t, injectdata, "fi_injectdata", (P, const void *, buf),               \
	     (Z, size_t, len), (X, uint64_t, data), (X, fi_addr_t, dest_addr))

#define MSG_DEFINE(how, ret, ...)   HOOK_##how(fid_ep, msg, ret, __VA_ARGS__)
#define MSG_SLOT(how, ret, op, ...) HOOK_SLOT(fid_ep, msg, op)
MSG_CALLS(MSG_DEFINE)

struct fi_ops_msg ofi_hook_msg_ops = {
	.size = sizeof(struct fi_ops_msg) MSG_CALLS(MSG_SLOT),
};

#define TAGGED_CALLS(CALL)                                                                         \
	CALL(PLAIN, ssize_t, recv, "fi_trecv", (P, void *, buf), (Z, size_t, len),                 \
	     (P, void *, desc), (X, fi_addr_t, src_addr), (X, uint64_t, tag),                      \
	     (X, uint64_t, ignore), (P, void *, context))                                          \
	CALL(PLAIN, ssize_t, recvv, "fi_trecvv", (P, const struct iovec *, iov),                   \
	     (P, void **, desc), (Z, size_t, count), (X, fi_addr_t, src_addr), (X, uint64_t, tag), \
	     (X, uint64_t, ignore), (P, void *, context))                                          \
	CALL(TRIGGERED, ssize_t, recvmsg, "fi_trecvmsg", (P, const struct fi_msg_tagged *, msg),   \
	     (X, uint64_t, flags))                                                                 \
	CALL(PLAIN, ssize_t, send, "fi_tsend", (P, const void *, buf), (Z, size_t, len),           \
	     (P, void *, desc), (X, fi_addr_t, dest_addr), (X, uint64_t, tag),                     \
	     (P, void *, context))                                                                 \
	CALL(PLAIN, ssize_t, sendv, "fi_tsendv", (P, const struct iovec *, iov),                   \
	     (P, void **, desc), (Z, size_t, count), (X, fi_addr_t, dest_addr),                    \
	     (X, uint64_t, tag), (P, void *, context))                                             \
	CALL(TRIGGERED, ssize_t, sendmsg, "fi_tsendmsg", (P, const struct fi_msg_tagged *, msg),   \
	     (X, uint64_t, flags))                                                                 \
	CALL(PLAIN, ssize_t, inject, "fi_tinject", (P, const void *, buf), (Z, size_t, len),       \
	     (X, fi_addr_t, dest_addr), (X, uint64_t, tag))                                        \
	CALL(PLAIN, ssize_t, senddata, "fi_tsenddata", (P, const void *, buf), (Z, size_t, len),   \
	     (P, void *, desc), (X, uint64_t, data), (X, fi_addr_t, dest_addr),                    \
	     (X, uint64_t, tag), (P, void *, context))                                             \
	CALL(PLAIN, ssize_t, injectdata, "fi_tinjectdata", (P, const void *, buf),                 \
	     (Z, size_t, len), (X, uint64_t, data), (X, fi_addr_t, dest_addr), (X, uint64_t, tag))

#define TAGGED_DEFINE(how, ret, ...)   HOOK_##how(fid_ep, tagged, ret, __VA_ARGS__)
#define TAGGED_SLOT(how, ret, op, ...) HOOK_SLOT(fid_ep, tagged, op)
TAGGED_CALLS(TAGGED_DEFINE)

struct fi_ops_tagged ofi_hook_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged) TAGGED_CALLS(TAGGED_SLOT),
};
