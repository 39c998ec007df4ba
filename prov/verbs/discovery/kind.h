/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The differences between verbs and efa in the devices that they offer; they share the rest. */
#ifndef VRB_KIND_H
#define VRB_KIND_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/providers/fi_prov.h>
#include "device.h"

#define VRB_VENDOR_AMAZON 0x1d0f /* the vendor of Elastic Fabric Adapters */

struct vrb_params;

struct vrb_kind {
	struct fi_provider *prov;
	const struct vrb_params *sizes; /* default sizes of queues */
	/* Returns true if the provider drives the device. Otherwise *why explains why not. */
	bool (*takes)(const struct vrb_device *dev, struct ofi_miss *why);
	/* Creates the fi_info of a port for FI_EP_DGRAM; returns NULL when out of memory. */
	struct fi_info *(*dgram)(const struct vrb_device *dev, const struct vrb_port *port);
	uint32_t names; /* address format of the names of datagram endpoints */
	bool has_ip;	/* endpoints can have IP addresses */
	/*
	 * Without IP addresses: creates the fi_info of a port for FI_EP_RDM, and the queue pair for
	 * its packets, which are reliable but have no order. It may have less inline data than
	 * asked for.
	 */
	struct fi_info *(*rdm)(const struct vrb_device *dev, const struct vrb_port *port);
	struct ibv_qp *(*srd)(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, bool reads);
	/* Returns the longest RDMA read of such a queue pair in bytes, or 0 if it has none. */
	uint32_t (*reads)(struct ibv_context *ctx);
	/* Returns true if it can be told how often to try again while a receiver is not ready. */
	bool (*retries)(struct ibv_context *ctx);
};

extern const struct vrb_kind vrb_kind;

/* Implements fi_getinfo for the devices of a kind. */
int vrb_kind_getinfo(const struct vrb_kind *kind, uint32_t version, const char *node,
		     const char *service, uint64_t flags, const struct fi_info *hints,
		     struct fi_info **info);

#endif
