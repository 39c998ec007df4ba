/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the completion queues of all providers have in common: sizes of entries, conditions, errors.
 */
#ifndef OFI_CQ_H
#define OFI_CQ_H

#include <rdma/fi_eq.h>

/* Bytes of an entry; not of FI_CQ_FORMAT_UNSPEC. */
size_t ofi_cq_entry_size(enum fi_cq_format format);
/* Entries, of count at most, that end a wait with the condition. */
size_t ofi_cq_threshold(enum fi_cq_wait_cond wait_cond, const void *cond, size_t count);
/*
 * An error for an application of that API version: the fields of `from` before err_data, and len
 * bytes of detail, in the application's buffer where it gave one, else where they are.
 */
void ofi_cq_copy_error(uint32_t version, struct fi_cq_err_entry *to,
		       const struct fi_cq_err_entry *from, const void *detail, size_t len);

#endif
