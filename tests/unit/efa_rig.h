/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A machine with one simulated Elastic Fabric Adapter, efa0, and what libefa says of it. */
#ifndef EFA_RIG_H
#define EFA_RIG_H

#include "mock_device.h"
#include "prov/verbs/discovery/device.h"

enum { EFA_RIG_MTU = 8928, EFA_RIG_SQ_WR = 256, EFA_RIG_RQ_WR = 512 };

extern struct mock_device *efa_rig_device;
extern unsigned int efa_rig_queries; /* how often the device was asked */
extern int efa_rig_err;		     /* errno of efadv_query_device, or 0 */
extern uint32_t efa_rig_caps, efa_rig_max_read;
/* What the last queue pair was to have; creating it fails. */
extern struct ibv_qp_init_attr_ex efa_rig_qp;

/* Also resets the parameters of both providers. */
void efa_rig_reset(void);
/* Takes a snapshot and returns its only device. */
struct vrb_device *efa_rig_snapshot(void);
void efa_rig_close(void);

#endif
