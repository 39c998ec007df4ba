/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_info.nic: what a device is and how its port is linked. */
#ifndef VRB_NIC_H
#define VRB_NIC_H

#include "device.h"

/* NULL when out of memory. Freed by fi_close, copied by fi_control(FI_DUP). */
struct fid_nic *vrb_nic_new(const struct vrb_device *dev, const struct vrb_port *port);
/* Bits per second of the active lanes, 0 when unknown. */
size_t vrb_port_speed(const struct ibv_port_attr *attr);
size_t vrb_port_mtu(const struct ibv_port_attr *attr);

#endif
