/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared transmit contexts: the limits of a device's endpoints. */
#include "ep.h"
#include "ops.h"
#include "prov/base/stx.h"
#include "prov/verbs/discovery/info_rdm.h"
#include "stx.h"

/* Capabilities of a transmit context. */
#define STX_CAPS                                                                                 \
	(FI_MSG | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE | FI_FENCE | FI_LOCAL_COMM | \
	 FI_REMOTE_COMM | FI_TRIGGER)

/* Returns the limits of the domain's endpoints. */
static struct fi_tx_attr limits_of(const struct vrb_domain *domain)
{
	const struct ibv_device_attr *device = &domain->attr;

	if (domain->rdm)
		return vrb_rdm_tx_limits();
	return (struct fi_tx_attr){
		.caps = STX_CAPS,
		.size = (size_t)device->max_qp_wr,
		.iov_limit = device->max_sge < VRB_IOV_MAX ? (size_t)device->max_sge : VRB_IOV_MAX,
		.rma_iov_limit = 1,
	};
}

int vrb_stx_open(struct fid_domain *fid, struct fi_tx_attr *attr, struct fid_stx **stx,
		 void *context)
{
	const struct fi_tx_attr limit = limits_of(vrb_domain(fid));

	return ofi_stx_open(&vrb_domain(fid)->base, &limit, attr, stx, context);
}
