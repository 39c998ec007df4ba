/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages, with tags and without, under hooks. */
#include <rdma/fi_tagged.h>
#include "call.h"

#define MSG_CALLS(CALL, OF...)                                                            \
	CALL(OF, RX, ssize_t, recv, "fi_recv", A_RECEIVED, A_SRC, A_CONTEXT)              \
	CALL(OF, RX, ssize_t, recvv, "fi_recvv", A_IOVS, A_SRC, A_CONTEXT)                \
	CALL(OF, TRIGGERED, ssize_t, recvmsg, "fi_recvmsg", A_MSG(fi_msg), A_FLAGS)       \
	CALL(OF, TX, ssize_t, send, "fi_send", A_SENT, A_DEST, A_CONTEXT)                 \
	CALL(OF, TX, ssize_t, sendv, "fi_sendv", A_IOVS, A_DEST, A_CONTEXT)               \
	CALL(OF, TRIGGERED, ssize_t, sendmsg, "fi_sendmsg", A_MSG(fi_msg), A_FLAGS)       \
	CALL(OF, PLAIN, ssize_t, inject, "fi_inject", A_BUF, A_LEN, A_DEST)               \
	CALL(OF, TX, ssize_t, senddata, "fi_senddata", A_SENT, A_DATA, A_DEST, A_CONTEXT) \
	CALL(OF, PLAIN, ssize_t, injectdata, "fi_injectdata", A_BUF, A_LEN, A_DATA, A_DEST)

HOOK_TABLE(fi_ops_msg, ofi_hook_msg_ops, fid_ep, msg, MSG_CALLS)

#define TAGGED_CALLS(CALL, OF...)                                                                 \
	CALL(OF, RX, ssize_t, recv, "fi_trecv", A_RECEIVED, A_SRC, A_SELECTOR, A_CONTEXT)         \
	CALL(OF, RX, ssize_t, recvv, "fi_trecvv", A_IOVS, A_SRC, A_SELECTOR, A_CONTEXT)           \
	CALL(OF, TRIGGERED, ssize_t, recvmsg, "fi_trecvmsg", A_MSG(fi_msg_tagged), A_FLAGS)       \
	CALL(OF, TX, ssize_t, send, "fi_tsend", A_SENT, A_DEST, A_TAG, A_CONTEXT)                 \
	CALL(OF, TX, ssize_t, sendv, "fi_tsendv", A_IOVS, A_DEST, A_TAG, A_CONTEXT)               \
	CALL(OF, TRIGGERED, ssize_t, sendmsg, "fi_tsendmsg", A_MSG(fi_msg_tagged), A_FLAGS)       \
	CALL(OF, PLAIN, ssize_t, inject, "fi_tinject", A_BUF, A_LEN, A_DEST, A_TAG)               \
	CALL(OF, TX, ssize_t, senddata, "fi_tsenddata", A_SENT, A_DATA, A_DEST, A_TAG, A_CONTEXT) \
	CALL(OF, PLAIN, ssize_t, injectdata, "fi_tinjectdata", A_BUF, A_LEN, A_DATA, A_DEST, A_TAG)

HOOK_TABLE(fi_ops_tagged, ofi_hook_tagged_ops, fid_ep, tagged, TAGGED_CALLS)
