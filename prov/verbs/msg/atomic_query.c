/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_query_atomic: what a domain's endpoints can do. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include "atomic.h"
#include "prov/verbs/provider/domain.h"

int vrb_query_atomic(struct fid_domain *fid, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags)
{
	struct vrb_domain *domain = vrb_domain(fid);
	bool known;

	if (!attr)
		return -FI_EINVAL;
	if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED))
		return -FI_EBADFLAGS;
	if ((flags & FI_TAGGED) || domain->attr.atomic_cap == IBV_ATOMIC_NONE)
		return -FI_EOPNOTSUPP;
	if ((flags & FI_FETCH_ATOMIC) && (flags & FI_COMPARE_ATOMIC))
		return -FI_EINVAL;
	known = flags & FI_FETCH_ATOMIC	    ? vrb_atomic_fetch_op(op)
		: flags & FI_COMPARE_ATOMIC ? vrb_atomic_compare_op(op)
					    : vrb_atomic_write_op(op);
	if (!known || !vrb_atomic_is_word(datatype))
		return -FI_EOPNOTSUPP;
	attr->count = 1;
	attr->size = VRB_ATOMIC_SIZE;
	return 0;
}
