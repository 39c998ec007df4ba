/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Names of the flags and enumerations of the API, and bounded writing of text. */
#ifndef OFI_NAMES_H
#define OFI_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ofi_names_id {
	/* flags */
	OFI_NAMES_CAPS,
	OFI_NAMES_MODE,
	OFI_NAMES_OP_FLAGS,
	OFI_NAMES_CQ_FLAGS,
	OFI_NAMES_ORDER,
	OFI_NAMES_COMP_ORDER,
	OFI_NAMES_MR_MODE,
	OFI_NAMES_AV_FLAGS,
	/* enumerations */
	OFI_NAMES_EP_TYPE,
	OFI_NAMES_ADDR_FORMAT,
	OFI_NAMES_THREADING,
	OFI_NAMES_PROGRESS,
	OFI_NAMES_RM,
	OFI_NAMES_PROTOCOL,
	OFI_NAMES_AV_TYPE,
	OFI_NAMES_DATATYPE,
	OFI_NAMES_OP,
	OFI_NAMES_EQ_EVENT,
	OFI_NAMES_OP_TYPE,
	OFI_NAMES_CLASS,
	OFI_NAMES_COLLECTIVE,
	OFI_NAMES_HMEM,
	OFI_NAMES_CQ_FORMAT,
	OFI_NAMES_LOG_LEVEL,
	OFI_NAMES_LOG_SUBSYS,
	OFI_NAMES_CQ_COND,
	OFI_NAMES_WAIT_OBJ,
	OFI_NAMES_CNTR_EVENTS,
	OFI_NAMES_BUS,
	OFI_NAMES_LINK,
	OFI_NAMES_COUNT,
};

/*
 * A text that is being written. Anything that does not fit is dropped, and the buffer is always
 * null-terminated.
 */
struct ofi_text {
	char *buf;
	size_t len;
	size_t pos;
};

void ofi_text_printf(struct ofi_text *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Writes flags as "FI_MSG, FI_RMA"; unnamed bits are written as one number. */
void ofi_names_flags(struct ofi_text *text, enum ofi_names_id id, uint64_t flags);
/* Writes a value as "FI_EP_MSG"; an unnamed value is written as a number. */
void ofi_names_enum(struct ofi_text *text, enum ofi_names_id id, uint64_t value);
bool ofi_names_is_flags(enum ofi_names_id id);

#endif
