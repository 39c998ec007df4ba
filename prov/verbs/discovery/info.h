/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_info from a snapshot: a pure function of the devices and the parameters. */
#ifndef VRB_INFO_H
#define VRB_INFO_H

#include <stdbool.h>
#include <rdma/fabric.h>
#include "device.h"
#include "prov/verbs/dgram/ud_name.h"

#define VRB_CQ_DATA_SIZE 4

/*
 * Everything a port can do as FI_EP_MSG, before hints: all flags, and of sizes the largest. It has
 * no address yet. NULL when out of memory.
 */
struct fi_info *vrb_info_msg(const struct vrb_device *dev, const struct vrb_port *port);
/* The same as FI_EP_DGRAM. */
struct fi_info *vrb_info_dgram(const struct vrb_device *dev, const struct vrb_port *port);
/* FI_MSG_PREFIX, for applications that leave room before each message, saves receive segments. */
void vrb_info_offer_prefix(struct fi_info *info, const struct fi_info *hints);
/*
 * Sources are kept only if the hints ask for them, because each address and receive pays; and the
 * AV gets a type.
 */
void vrb_info_settle_dgram(struct fi_info *info, const struct fi_info *hints);
/* The name that stands for a port in info->src_addr: it has no queue pair yet. */
void vrb_info_name(const struct vrb_port *port, struct vrb_ud_name *name);
/*
 * What an application does that its hints say: takes remote CQ data away from a target of RMA whose
 * receives may not be consumed (FI_RX_CQ_DATA) unless it asks for the data, and the prefix of
 * datagrams.
 */
void vrb_info_offer_mode(struct fi_info *info, const struct fi_info *hints);
/* If what is missed first, or NULL, cannot be had with datagrams, says why. */
void vrb_info_explain_dgram(const struct fi_info *info, const struct fi_info *hints,
			    struct ofi_miss *miss);
/* The receive queue of a caller that asks for FI_SHARED_CONTEXT is another. */
void vrb_info_offer_shared(struct fi_info *info, const struct fi_info *hints,
			   const struct vrb_device *dev);
/* FI_MULTI_RECV is for a caller that asks for it, and not with FI_SHARED_CONTEXT. */
void vrb_info_offer_multi(struct fi_info *info, const struct fi_info *hints);
/* From the largest sizes to what a caller gets: the defaults, or more when the hints say so. */
void vrb_info_settle(struct fi_info *info, const struct fi_info *hints);
/* Can the port be used at all? Else *why says what stands against it. */
bool vrb_port_usable(const struct vrb_port *port, struct ofi_miss *why);

int vrb_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info);

#endif
