/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef VRB_RDM_ATOMIC_H
#define VRB_RDM_ATOMIC_H

#include <stddef.h>
#include <rdma/fi_domain.h>
#include "prov/verbs/prov.h"
#include "wire.h"

/* Elements that fit a payload; 0 when the operation is not defined on the type. */
size_t vrb_rdm_atomic_count(size_t payload, enum fi_datatype datatype, enum fi_op op);
int vrb_rdm_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
			 struct fi_atomic_attr *attr, uint64_t flags);

/* Bytes of a packet's payload. */
static inline size_t vrb_rdm_payload(void)
{
	return (size_t)vrb_params.rdm_buffer_size - VRB_WIRE_HEADER_MAX;
}

#endif
