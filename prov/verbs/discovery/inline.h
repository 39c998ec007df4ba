/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The amount of data that a device accepts inline. No attribute tells it, so it is found by
 * probing.
 */
#ifndef VRB_INLINE_H
#define VRB_INLINE_H

#include <stdint.h>
#include <infiniband/verbs.h>

#define VRB_INLINE_MAX 4096 /* what the library uses of it at most */

/*
 * Finds the maximum for queue pairs of this type and remembers it. On entry, *max is a guess, which
 * becomes the result if the device accepts it, or 0. Returns 0, or the errno of the call named in
 * *call with *max unchanged.
 */
int vrb_inline_max(struct ibv_context *ctx, enum ibv_qp_type type, const char **call,
		   uint32_t *max);

#endif
