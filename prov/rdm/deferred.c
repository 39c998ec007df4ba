/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the endpoint of deferred work. */
#include "ep.h"
#include "work.h"

bool ofi_rdm_work_find(const struct ofi_domain *domain, struct fid_ep *fid, struct ofi_work_ep *on)
{
	struct ofi_rdm_ep *ep = ofi_rdm_is_ep(&fid->fid) ? ofi_rdm_self(fid) : NULL;

	if (!ep || ep->domain != domain)
		return false;
	on->ep = ep;
	on->info = ep->info;
	return true;
}
