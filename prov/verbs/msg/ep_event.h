/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asynchronous events of an endpoint's queue pair. */
#ifndef VRB_EP_EVENT_H
#define VRB_EP_EVENT_H

#include "prov/verbs/cm/cm.h"

struct vrb_ep;

/* Of connected and of datagram endpoints. */
extern const struct vrb_owner_ops vrb_ep_owner_ops;
/* The endpoint can't go on: its connection ends with err, FI_E*, or its operations do. */
void vrb_ep_fatal(struct vrb_ep *ep, int err);

#endif
