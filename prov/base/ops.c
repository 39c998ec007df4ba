/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions for unimplemented slots of ops tables. */
#include <string.h>
#include <rdma/fi_errno.h>
#include "ops.h"
#include "refuse.h"

/*
 * This is called with the arguments of any slot, and its result is read as int or ssize_t. By the
 * calling conventions of all supported machines, the caller removes the arguments, and an int is
 * the low half of the result.
 */
ssize_t ofi_enosys(void)
{
	return -FI_ENOSYS;
}

ssize_t ofi_eopnotsupp(void)
{
	return -FI_EOPNOTSUPP;
}

const struct fi_ops_cm ofi_no_cm_ops = { .size = OFI_CM_DEFAULTS };
const struct fi_ops_msg ofi_no_msg_ops = { .size = OFI_MSG_DEFAULTS };
const struct fi_ops_rma ofi_no_rma_ops = { .size = OFI_RMA_DEFAULTS };
const struct fi_ops_tagged ofi_no_tagged_ops = { .size = OFI_TAGGED_DEFAULTS };
const struct fi_ops_atomic ofi_no_atomic_ops = { .size = OFI_ATOMIC_DEFAULTS };
const struct fi_ops_collective ofi_no_collective_ops = { .size = OFI_COLLECTIVE_DEFAULTS };

void ofi_ep_fid_init(struct fid_ep *fid, size_t fclass, void *context, const struct fi_ops *ops,
		     const struct fi_ops_ep *ep_ops, const struct fi_ops_cm *cm)
{
	*fid = (struct fid_ep){
		.fid = { .fclass = fclass, .context = context, .ops = ofi_ops(ops) },
		.ops = ofi_ops(ep_ops),
		.cm = ofi_ops(cm),
		.msg = ofi_ops(&ofi_no_msg_ops),
		.rma = ofi_ops(&ofi_no_rma_ops),
		.tagged = ofi_ops(&ofi_no_tagged_ops),
		.atomic = ofi_ops(&ofi_no_atomic_ops),
		.collective = ofi_ops(&ofi_no_collective_ops),
	};
}

int ofi_stats_open_ops(const struct fi_provider *prov, const char *name, uint64_t flags, void **ops,
		       struct fi_ops_stats *table)
{
	if (!name || !ops)
		return ofi_refuse_null(prov, FI_LOG_CORE, "fi_open_ops", "name or ops");
	if (flags)
		return ofi_refuse_flags(prov, FI_LOG_CORE, "fi_open_ops", flags);
	if (strcmp(name, FI_STATS_OPS))
		return ofi_decline(prov, FI_LOG_CORE, -FI_ENOSYS,
				   "fi_open_ops: operations %s do not exist; this object has %s\n",
				   name, FI_STATS_OPS);
	*ops = table;
	return 0;
}
