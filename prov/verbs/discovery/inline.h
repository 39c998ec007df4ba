/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How much data a device takes inline, which no attribute says: it is found by trying. */
#ifndef VRB_INLINE_H
#define VRB_INLINE_H

#include <stdint.h>
#include <infiniband/verbs.h>

/*
 * Of queue pairs of this type; probes at most once per device and process. *max holds a guess, or
 * 0. 0 or errno, of the call named in *call.
 */
int vrb_inline_max(struct ibv_context *ctx, enum ibv_qp_type type, const char **call,
		   uint32_t *max);
/* Forgets what was found. */
void vrb_inline_forget(void);

#endif
