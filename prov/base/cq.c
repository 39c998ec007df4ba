/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues: what does not depend on where completions come from. */
#include <stddef.h>
#include <string.h>
#include "cq.h"
#include <rdma/fabric.h>

size_t ofi_cq_entry_size(enum fi_cq_format format)
{
	static const size_t sizes[] = {
		[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
		[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
		[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
		[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
	};

	return sizes[format];
}

size_t ofi_cq_threshold(enum fi_cq_wait_cond wait_cond, const void *cond, size_t count)
{
	size_t want = 1;

	if (wait_cond == FI_CQ_COND_THRESHOLD && cond)
		memcpy(&want, &cond, sizeof(want));
	return want < 1 ? 1 : want < count ? want : count;
}

/* The structure grew: err_data_size came with API 1.5, src_addr with 1.20. */
void ofi_cq_copy_error(uint32_t version, struct fi_cq_err_entry *to,
		       const struct fi_cq_err_entry *from, const void *detail, size_t len)
{
	void *data = to->err_data;
	size_t room = 0;

	if (data && FI_VERSION_GE(version, FI_VERSION(1, 5)))
		room = to->err_data_size;
	memcpy(to, from, offsetof(struct fi_cq_err_entry, err_data));
	if (!room)
		to->err_data = (void *)(uintptr_t)detail;
	else if (room < len)
		len = 0;
	else if (len)
		memcpy(data, detail, len);
	if (FI_VERSION_GE(version, FI_VERSION(1, 5)))
		to->err_data_size = len;
	if (FI_VERSION_GE(version, FI_VERSION(1, 20)))
		to->src_addr = FI_ADDR_NOTAVAIL;
}
