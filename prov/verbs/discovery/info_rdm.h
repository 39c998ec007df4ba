/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Creates the fi_info of a port for reliable datagrams. */
#ifndef VRB_INFO_RDM_H
#define VRB_INFO_RDM_H

#include "prov/base/attr.h"
#include "prov/rdm/wire.h"
#include "device.h"

#define VRB_RDM_SGE_MIN 2 /* a message's header and payload, on a connection's queue pair */
/* Work requests of a queue pair for datagrams, and of a connection's. A CQ has twice as many. */
#define VRB_UD_WR_MIN  64
#define VRB_RDM_WR_MIN (OFI_RDM_WIRE_WINDOW + 5)

/* Like vrb_info_msg(), for FI_EP_RDM. Returns NULL when out of memory. */
struct fi_info *vrb_info_rdm(const struct vrb_device *dev, const struct vrb_port *port);

/*
 * The same under the name of a layered provider of other releases: "verbs;ofi_rxm", with
 * FI_PROTO_RXM, or "verbs;ofi_rxd", with FI_PROTO_RXD.
 */
struct fi_info *vrb_info_layered(const struct vrb_device *dev, const struct vrb_port *port,
				 const char *name);

/*
 * Applies the hints of a program of an API version: costly features, FI_HMEM, job keys, progress,
 * and the registration mode. An application that accepts FI_MR_VIRT_ADDR, ALLOCATED and PROV_KEY
 * gets all three, as does one of API 1.4 or earlier; any other one chooses keys and uses offsets as
 * addresses.
 */
void vrb_rdm_offer_mode(uint32_t version, struct fi_info *info, const struct fi_info *hints);
/*
 * If the missed attribute is auth_key_size, explains that the hints have a size but no key; miss
 * may be NULL.
 */
void vrb_rdm_explain_key(const struct fi_info *info, const struct fi_info *hints,
			 struct ofi_miss *miss);
/*
 * Returns true if reliable datagrams work on the device, under a layered provider's name if that is
 * not NULL. Otherwise *why names the missing feature.
 */
bool vrb_rdm_fits(const struct vrb_device *dev, const char *name, struct ofi_miss *why);
/* Return the limits of an endpoint's transmit and receive attributes. */
struct fi_tx_attr vrb_rdm_tx_limits(void);
struct fi_rx_attr vrb_rdm_rx_limits(void);

#endif
