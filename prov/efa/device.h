/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Elastic Fabric Adapters: recognizing them, and their attributes. */
#ifndef EFA_DEVICE_H
#define EFA_DEVICE_H

#include <stdbool.h>
#include <infiniband/efadv.h>
#include "prov/verbs/discovery/device.h"

/*
 * Reads the attributes that only libefa knows; they are kept, so later calls cannot fail. Returns
 * 0, or FI_E* with the call that failed in *call.
 */
int efa_device_query(const struct vrb_device *dev, struct efadv_device_attr *attr,
		     const char **call);
/* Returns true for an Elastic Fabric Adapter. Otherwise *why explains why not. */
bool efa_device_takes(const struct vrb_device *dev, struct ofi_miss *why);
/*
 * Returns the longest RDMA read in bytes, or 0 if the device has none or FI_EFA_USE_DEVICE_RDMA is
 * off.
 */
uint32_t efa_device_reads(struct ibv_context *ctx);
/* Returns true if an SRD queue pair takes IBV_QP_RNR_RETRY. */
bool efa_device_retries(struct ibv_context *ctx);

#endif
