/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The private data of connection manager messages. The messages have a fixed size and are padded
 * with zeros, so the first byte holds the length of the application's data that follows. The format
 * is the same in requests, replies and rejects, as libfabric's verbs provider has always sent it.
 */
#ifndef VRB_CM_WIRE_H
#define VRB_CM_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Private data available in a connect request, the smallest of all messages. */
#define VRB_CM_WIRE_MAX 56
#define VRB_CM_DATA_MAX (VRB_CM_WIRE_MAX - 1) /* FI_OPT_CM_DATA_SIZE */

/* The most that a peer of another library can send: a byte holds the size of all private data. */
#define VRB_CM_RECEIVED_MAX (UINT8_MAX - 1)

/* Returns how much of the application's data is sent. */
static inline size_t vrb_cm_cut(size_t len)
{
	return len < VRB_CM_DATA_MAX ? len : VRB_CM_DATA_MAX;
}

/* Packs the data into wire, which has room for it. Returns the number of bytes to send. */
static inline uint8_t vrb_cm_pack(uint8_t *wire, const void *data, size_t len)
{
	wire[0] = (uint8_t)len;
	if (len)
		memcpy(wire + 1, data, len);
	return (uint8_t)(len + 1);
}

/*
 * Returns the application's data from received private data, which may be missing or have a wrong
 * length.
 */
static inline const uint8_t *vrb_cm_unpack(const void *wire, size_t wire_len, size_t *len)
{
	const uint8_t *bytes = wire;

	*len = 0;
	if (!bytes || !wire_len)
		return NULL;
	*len = bytes[0] < wire_len ? bytes[0] : wire_len - 1;
	return bytes + 1;
}

#endif
