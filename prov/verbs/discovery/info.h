/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Creates fi_info from a snapshot: pure functions of the devices and the parameters. */
#ifndef VRB_INFO_H
#define VRB_INFO_H

#include <stdbool.h>
#include <rdma/fabric.h>
#include "device.h"

#define VRB_CQ_DATA_SIZE 4

struct vrb_params;

/*
 * Returns everything that a port supports as FI_EP_MSG, before hints: all flags, and the largest
 * sizes. It has no address yet. Returns NULL when out of memory.
 */
struct fi_info *vrb_info_msg(const struct vrb_device *dev, const struct vrb_port *port);
/* Does the same for FI_EP_DGRAM. */
struct fi_info *vrb_info_dgram(const struct vrb_device *dev, const struct vrb_port *port);
/*
 * Offers FI_MSG_PREFIX, which saves receive segments if the application leaves room before each
 * message.
 */
void vrb_info_offer_prefix(struct fi_info *info, const struct fi_info *hints);
/*
 * Completes a datagram info: source addresses are reported only if the hints request them, because
 * that slows down each insertion and receive; an AV of unspecified type becomes a table.
 */
void vrb_info_settle_dgram(struct fi_info *info, const struct fi_info *hints);
/*
 * Applies the application's modes: without FI_RX_CQ_DATA an RMA target has no remote CQ data, which
 * would consume its receives, unless the hints request cq_data_size. Also offers FI_HMEM and the
 * prefix of datagrams.
 */
void vrb_info_offer_mode(struct fi_info *info, const struct fi_info *hints);
/* Adds to a miss the reason why datagrams cannot provide the attribute; miss may be NULL. */
void vrb_info_explain_dgram(const struct fi_info *info, const struct fi_info *hints,
			    struct ofi_miss *miss);
/* Adapts the receive queue for a caller that asks for FI_SHARED_CONTEXT. */
void vrb_info_offer_shared(struct fi_info *info, const struct fi_info *hints,
			   const struct vrb_device *dev);
/* Offers FI_MULTI_RECV to a caller that asks for it without FI_SHARED_CONTEXT. */
void vrb_info_offer_multi(struct fi_info *info, const struct fi_info *hints);
/*
 * Replaces the maximum sizes with those that the caller gets: the defaults, or more if the hints
 * request more. Queues of FI_EP_MSG are smaller than the default if the hints request less.
 */
void vrb_info_settle(const struct vrb_params *sizes, struct fi_info *info,
		     const struct fi_info *hints);
/* Offers FI_HMEM to a caller that asks for it, if an interface of device memory works. */
void vrb_info_offer_hmem(struct fi_info *info, const struct fi_info *hints);
/* Adds to a miss the reason why FI_HMEM is not offered; miss may be NULL. */
void vrb_info_explain_hmem(const struct fi_info *info, const struct fi_info *hints,
			   struct ofi_miss *miss);
/*
 * Returns true if the port can be used, with an address or without. Otherwise *why explains why
 * not.
 */
bool vrb_port_usable(const struct vrb_port *port, bool addressed, struct ofi_miss *why);

/* fi_info.nic describes the device and the link of its port (nic.c). */

/* Returns NULL when out of memory. fi_close frees it, fi_control(FI_DUP) copies it. */
struct fid_nic *vrb_nic_new(const struct vrb_device *dev, const struct vrb_port *port);

int vrb_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info);

#endif
