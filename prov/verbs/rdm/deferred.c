/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_QUEUE_WORK: which endpoint the deferred work is for. */
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "ep.h"
#include "prov/verbs/provider/prov.h"
#include "work.h"

/* Every structure of the union begins with the endpoint. */
static ssize_t ep_of(const struct vrb_domain *domain, const struct fi_deferred_work *from,
		     struct vrb_rdm **ep)
{
	struct fid_ep *fid = from->op.msg->ep;

	if (from->op_type > FI_OP_COMPARE_ATOMIC)
		return -FI_EOPNOTSUPP;
	if (!fid || !vrb_rdm_is_ep(&fid->fid) || vrb_rdm_self(fid)->domain != domain) {
		FI_WARN(&vrb_prov, FI_LOG_DOMAIN,
			"fi_control(FI_QUEUE_WORK): %p is not an endpoint of the domain\n",
			(void *)fid);
		return -FI_EINVAL;
	}
	*ep = vrb_rdm_self(fid);
	if ((*ep)->info->caps & FI_TRIGGER)
		return (*ep)->enabled ? 0 : -FI_EOPBADSTATE;
	FI_WARN(&vrb_prov, FI_LOG_DOMAIN,
		"fi_control(FI_QUEUE_WORK): the endpoint was opened without FI_TRIGGER; request it in the hints of fi_getinfo\n");
	return -FI_EOPNOTSUPP;
}

ssize_t vrb_rdm_queue_work(struct vrb_domain *domain, const struct fi_deferred_work *from,
			   struct ofi_cntr *cntr)
{
	struct vrb_rdm *ep;
	ssize_t ret = ep_of(domain, from, &ep);

	return ret ? ret : vrb_rdm_work_defer(ep, from, cntr);
}
