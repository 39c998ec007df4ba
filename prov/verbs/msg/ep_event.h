/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asynchronous events of an endpoint's queue pair. */
#ifndef VRB_EP_EVENT_H
#define VRB_EP_EVENT_H

#include "prov/verbs/cm/cm.h"

/* For connected and datagram endpoints. */
extern const struct vrb_owner_ops vrb_ep_owner_ops;

#endif
