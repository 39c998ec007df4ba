/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared transmit contexts: the limits of a device's endpoints. */
#ifndef VRB_STX_H
#define VRB_STX_H

#include <rdma/fi_endpoint.h>

int vrb_stx_open(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
		 void *context);

#endif
