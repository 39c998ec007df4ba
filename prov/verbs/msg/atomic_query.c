/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_query_atomic: the atomics of a domain's endpoints. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include "atomic.h"
#include "prov/verbs/provider/domain.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"

static int atomic_decline(enum fi_datatype datatype, enum fi_op op)
{
	return ofi_decline(
		&vrb_prov, FI_LOG_DOMAIN, -FI_EOPNOTSUPP,
		"fi_query_atomic: operation %d is not supported on datatype %d in calls of this kind\n",
		(int)op, (int)datatype);
}

int vrb_query_atomic(struct fid_domain *fid, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags)
{
	struct vrb_domain *domain = vrb_domain(fid);
	bool known;

	if (!attr)
		return ofi_refuse_null(&vrb_prov, FI_LOG_DOMAIN, "fi_query_atomic", "attr");
	if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED))
		return ofi_refuse_flags(&vrb_prov, FI_LOG_DOMAIN, "fi_query_atomic", flags);
	if ((flags & FI_TAGGED) || domain->attr.atomic_cap == IBV_ATOMIC_NONE)
		return atomic_decline(datatype, op);
	if ((flags & FI_FETCH_ATOMIC) && (flags & FI_COMPARE_ATOMIC))
		return ofi_refuse(
			&vrb_prov, FI_LOG_DOMAIN, -FI_EINVAL,
			"fi_query_atomic: FI_FETCH_ATOMIC or FI_COMPARE_ATOMIC, not both\n");
	known = flags & FI_FETCH_ATOMIC	    ? vrb_atomic_fetch_op(op)
		: flags & FI_COMPARE_ATOMIC ? vrb_atomic_compare_op(op)
					    : vrb_atomic_write_op(op);
	if (!known || !vrb_atomic_is_word(datatype))
		return atomic_decline(datatype, op);
	attr->count = 1;
	attr->size = VRB_ATOMIC_SIZE;
	return 0;
}
