/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which atomic operations reliable connections carry out in hardware, on one 64-bit integer each. */
#ifndef VRB_ATOMIC_H
#define VRB_ATOMIC_H

#include <stdint.h>
#include <rdma/fi_atomic.h>

struct fid_domain;

int vrb_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op, struct fi_atomic_attr *attr,
		     uint64_t flags);

#endif
