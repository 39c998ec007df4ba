/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_MULTI_RECV buffers on the receive queues of connected endpoints. */
#ifndef VRB_MULTI_H
#define VRB_MULTI_H

#include "prov/base/ops.h"
#include "ep.h"

#define VRB_MULTI_PARTS	  64	/* maximum number of parts of a buffer */
#define VRB_MULTI_DEFAULT 16384 /* default of FI_OPT_MIN_MULTI_RECV in bytes */

/*
 * Returns the number of parts into which a buffer is divided, each of at least min bytes; *size is
 * the size of all but the last.
 */
uint32_t vrb_multi_parts(size_t len, size_t min, uint32_t room, size_t *size);
/* The receive calls of endpoints with FI_MULTI_RECV. */
OFI_CALL(fi_ops_msg, recv) vrb_multi_recv;
OFI_CALL(fi_ops_msg, recvv) vrb_multi_recvv;
OFI_CALL(fi_ops_msg, recvmsg) vrb_multi_recvmsg;

#endif
