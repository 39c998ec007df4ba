/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work requests that FI_MORE holds back, chained for one doorbell. They are copies, with inline data:
 * a caller's buffers and arrays are its own again when the call returns. Guarded by sq->lock.
 */
#ifndef VRB_BATCH_H
#define VRB_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VRB_BATCH_MAX 32

struct ibv_send_wr;
struct vrb_ep;
struct vrb_batch;

struct vrb_batch *vrb_batch_new(size_t iov_limit, size_t inline_size);
void vrb_batch_free(struct vrb_batch *batch);
/* Appends a copy of wr, whose slot is published. There is room: see VRB_BATCH_MAX. */
void vrb_batch_add(struct vrb_ep *ep, const struct ibv_send_wr *wr);
/*
 * Posts what is held. Of what the device refuses, the last `mine` (0 or 1) work requests fail by the return
 * value; those accepted by earlier calls complete in error, and the endpoint is over.
 */
ssize_t vrb_batch_ring(struct vrb_ep *ep, uint32_t mine);
/* Takes sq->lock and posts what is held; from any thread, since whoever holds back takes the lock too. */
void vrb_batch_flush(struct vrb_ep *ep);

#endif
