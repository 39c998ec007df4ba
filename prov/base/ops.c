/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Empty slots of ops tables. */
#include <stddef.h>
#include <sys/types.h>
#include "ops.h"
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

typedef ssize_t slot_fn(void);

/*
 * Called with whatever arguments the slot has and read as int or ssize_t: in the calling
 * conventions of all supported machines the caller clears the arguments away, and an int is the low
 * half of the result.
 */
static ssize_t no_such_call(void)
{
	return -FI_ENOSYS;
}

void ofi_ops_fill(void *ops)
{
	size_t size = *(size_t *)ops;
	slot_fn **slot = (slot_fn **)((size_t *)ops + 1);
	slot_fn **end = (slot_fn **)((char *)ops + size);

	for (; slot < end; slot++)
		if (!*slot)
			*slot = no_such_call;
}

struct fi_ops_cm ofi_no_cm_ops = { .size = sizeof(struct fi_ops_cm) };
struct fi_ops_msg ofi_no_msg_ops = { .size = sizeof(struct fi_ops_msg) };
struct fi_ops_rma ofi_no_rma_ops = { .size = sizeof(struct fi_ops_rma) };
struct fi_ops_tagged ofi_no_tagged_ops = { .size = sizeof(struct fi_ops_tagged) };
struct fi_ops_atomic ofi_no_atomic_ops = { .size = sizeof(struct fi_ops_atomic) };
struct fi_ops_collective ofi_no_collective_ops = { .size = sizeof(struct fi_ops_collective) };

void ofi_ops_init(void)
{
	ofi_ops_fill(&ofi_no_cm_ops);
	ofi_ops_fill(&ofi_no_msg_ops);
	ofi_ops_fill(&ofi_no_rma_ops);
	ofi_ops_fill(&ofi_no_tagged_ops);
	ofi_ops_fill(&ofi_no_atomic_ops);
	ofi_ops_fill(&ofi_no_collective_ops);
}
