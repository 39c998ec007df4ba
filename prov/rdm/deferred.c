/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_QUEUE_WORK: finds the endpoint of the deferred work. */
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "ep.h"
#include "work.h"

/* Every structure of the union begins with the endpoint. */
static ssize_t ep_of(const struct ofi_domain *domain, const struct fi_deferred_work *from,
		     struct ofi_rdm_ep **ep)
{
	struct fid_ep *fid = from->op.msg->ep;

	if (from->op_type > FI_OP_COMPARE_ATOMIC)
		return -FI_EOPNOTSUPP;
	if (!fid || !ofi_rdm_is_ep(&fid->fid) || ofi_rdm_self(fid)->domain != domain) {
		FI_WARN(domain->prov, FI_LOG_DOMAIN,
			"fi_control(FI_QUEUE_WORK): %p is not an endpoint of the domain\n",
			(void *)fid);
		return -FI_EINVAL;
	}
	*ep = ofi_rdm_self(fid);
	if ((*ep)->info->caps & FI_TRIGGER)
		return (*ep)->enabled ? 0 : -FI_EOPBADSTATE;
	FI_WARN(domain->prov, FI_LOG_DOMAIN,
		"fi_control(FI_QUEUE_WORK): the endpoint was opened without FI_TRIGGER; request it in the hints of fi_getinfo\n");
	return -FI_EOPNOTSUPP;
}

ssize_t ofi_rdm_queue_work(struct ofi_domain *domain, const struct fi_deferred_work *from,
			   struct ofi_cntr *cntr)
{
	struct ofi_rdm_ep *ep;
	ssize_t ret = ep_of(domain, from, &ep);

	return ret ? ret : ofi_rdm_work_defer(ep, from, cntr);
}
