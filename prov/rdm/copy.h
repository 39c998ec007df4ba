/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies payloads of eager messages, most of which are short. */
#ifndef OFI_RDM_COPY_H
#define OFI_RDM_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "src/ds/compiler.h"

/* Returns true for 8 to 16 bytes, which are copied inline, without a call. */
static inline bool ofi_rdm_copies_now(size_t len)
{
	return len - sizeof(uint64_t) <= sizeof(uint64_t);
}

static inline void ofi_rdm_copy_now(void *to, const uint8_t *from, size_t len)
{
	uint64_t head, tail;

	memcpy(&head, from, sizeof(head));
	memcpy(&tail, from + len - sizeof(tail), sizeof(tail));
	memcpy(to, &head, sizeof(head));
	memcpy((uint8_t *)to + len - sizeof(tail), &tail, sizeof(tail));
}

/* Copies the payload. The buffer may be NULL if len is 0. */
static inline void ofi_rdm_copy(void *to, const uint8_t *from, size_t len)
{
	if (ofi_likely(ofi_rdm_copies_now(len)))
		ofi_rdm_copy_now(to, from, len);
	else if (len)
		memcpy(to, from, len);
}

#endif
