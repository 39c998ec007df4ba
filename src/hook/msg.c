/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages, with tags and without, under hooks. */
#include <rdma/fi_tagged.h>
#include "call.h"

#define MSG_CALLS(CALL)                                                                           \
	CALL(PLAIN, ssize_t, recv, "fi_recv", A_BUF_OUT, A_LEN, A_DESC, A_SRC, A_CONTEXT)         \
	CALL(PLAIN, ssize_t, recvv, "fi_recvv", A_IOV, A_DESCS, A_COUNT, A_SRC, A_CONTEXT)        \
	CALL(TRIGGERED, ssize_t, recvmsg, "fi_recvmsg", (P, const struct fi_msg *, msg), A_FLAGS) \
	CALL(PLAIN, ssize_t, send, "fi_send", A_BUF, A_LEN, A_DESC, A_DEST, A_CONTEXT)            \
	CALL(PLAIN, ssize_t, sendv, "fi_sendv", A_IOV, A_DESCS, A_COUNT, A_DEST, A_CONTEXT)       \
	CALL(TRIGGERED, ssize_t, sendmsg, "fi_sendmsg", (P, const struct fi_msg *, msg), A_FLAGS) \
	CALL(PLAIN, ssize_t, inject, "fi_inject", A_BUF, A_LEN, A_DEST)                           \
	CALL(PLAIN, ssize_t, senddata, "fi_senddata", A_BUF, A_LEN, A_DESC, A_DATA, A_DEST,       \
	     A_CONTEXT)                                                                           \
	CALL(PLAIN, ssize_t, injectdata, "fi_injectdata", A_BUF, A_LEN, A_DATA, A_DEST)

#define MSG_DEFINE(how, ret, ...)   HOOK_##how(fid_ep, msg, ret, __VA_ARGS__)
#define MSG_SLOT(how, ret, op, ...) HOOK_SLOT(fid_ep, msg, op)
MSG_CALLS(MSG_DEFINE)

struct fi_ops_msg ofi_hook_msg_ops = {
	.size = sizeof(struct fi_ops_msg) MSG_CALLS(MSG_SLOT),
};

#define TAGGED_CALLS(CALL)                                                                        \
	CALL(PLAIN, ssize_t, recv, "fi_trecv", A_BUF_OUT, A_LEN, A_DESC, A_SRC, A_TAG, A_IGNORE,  \
	     A_CONTEXT)                                                                           \
	CALL(PLAIN, ssize_t, recvv, "fi_trecvv", A_IOV, A_DESCS, A_COUNT, A_SRC, A_TAG, A_IGNORE, \
	     A_CONTEXT)                                                                           \
	CALL(TRIGGERED, ssize_t, recvmsg, "fi_trecvmsg", (P, const struct fi_msg_tagged *, msg),  \
	     A_FLAGS)                                                                             \
	CALL(PLAIN, ssize_t, send, "fi_tsend", A_BUF, A_LEN, A_DESC, A_DEST, A_TAG, A_CONTEXT)    \
	CALL(PLAIN, ssize_t, sendv, "fi_tsendv", A_IOV, A_DESCS, A_COUNT, A_DEST, A_TAG,          \
	     A_CONTEXT)                                                                           \
	CALL(TRIGGERED, ssize_t, sendmsg, "fi_tsendmsg", (P, const struct fi_msg_tagged *, msg),  \
	     A_FLAGS)                                                                             \
	CALL(PLAIN, ssize_t, inject, "fi_tinject", A_BUF, A_LEN, A_DEST, A_TAG)                   \
	CALL(PLAIN, ssize_t, senddata, "fi_tsenddata", A_BUF, A_LEN, A_DESC, A_DATA, A_DEST,      \
	     A_TAG, A_CONTEXT)                                                                    \
	CALL(PLAIN, ssize_t, injectdata, "fi_tinjectdata", A_BUF, A_LEN, A_DATA, A_DEST, A_TAG)

#define TAGGED_DEFINE(how, ret, ...)   HOOK_##how(fid_ep, tagged, ret, __VA_ARGS__)
#define TAGGED_SLOT(how, ret, op, ...) HOOK_SLOT(fid_ep, tagged, op)
TAGGED_CALLS(TAGGED_DEFINE)

struct fi_ops_tagged ofi_hook_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged) TAGGED_CALLS(TAGGED_SLOT),
};
