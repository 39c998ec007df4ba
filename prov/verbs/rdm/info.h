/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a device's port can do with reliable datagrams, as fi_info. */
#ifndef VRB_RDM_INFO_H
#define VRB_RDM_INFO_H

#include "prov/verbs/device.h"

/* As vrb_info_msg(), for FI_EP_RDM. NULL when out of memory. */
struct fi_info *vrb_info_rdm(const struct vrb_device *dev, const struct vrb_port *port);

#endif
