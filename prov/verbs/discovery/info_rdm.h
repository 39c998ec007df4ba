/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a device's port can do with reliable datagrams, as fi_info. */
#ifndef VRB_INFO_RDM_H
#define VRB_INFO_RDM_H

#include "prov/base/attr.h"
#include "device.h"

/* As vrb_info_msg(), for FI_EP_RDM. NULL when out of memory. */
struct fi_info *vrb_info_rdm(const struct vrb_device *dev, const struct vrb_port *port);

/*
 * The same by the provider's name with the layer that other releases need, "verbs;ofi_rxm", and
 * FI_PROTO_RXM.
 */
struct fi_info *vrb_info_rxm(const struct vrb_device *dev, const struct vrb_port *port);

/*
 * Without registration modes of the application's own, keys and offsets are its own too (mr_mode
 * 0); with all of FI_MR_VIRT_ADDR, ALLOCATED and PROV_KEY they are the device's.
 */
void vrb_rdm_offer_mode(struct fi_info *info, const struct fi_info *hints);
/* If what is missed first, or NULL, is a key of which the hints have the size alone, it says so. */
void vrb_rdm_explain_key(const struct fi_info *info, const struct fi_info *hints,
			 struct ofi_miss *miss);
/* Can they work on the device? Else *why says what it lacks. */
bool vrb_rdm_fits(const struct vrb_device *dev, struct ofi_miss *why);
/* What an endpoint can transmit, at most. */
struct fi_tx_attr vrb_rdm_tx_limits(void);

#endif
