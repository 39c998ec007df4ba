/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_info.nic: describes the device and the link of its port. */
#ifndef VRB_NIC_H
#define VRB_NIC_H

#include "device.h"

/* Returns NULL when out of memory. fi_close frees it, fi_control(FI_DUP) copies it. */
struct fid_nic *vrb_nic_new(const struct vrb_device *dev, const struct vrb_port *port);
/* Returns the speed of the active lanes in bits per second, 0 if unknown. */
size_t vrb_port_speed(const struct ibv_port_attr *attr);
size_t vrb_port_mtu(const struct ibv_port_attr *attr);

#endif
