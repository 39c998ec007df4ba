/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Binding objects to an endpoint. */
#ifndef VRB_EP_BIND_H
#define VRB_EP_BIND_H

#include <stdint.h>
#include <sys/types.h>

struct fid;
struct vrb_ep;

int vrb_ep_bind(struct fid *ep, struct fid *bfid, uint64_t flags);
void vrb_ep_unbind(struct vrb_ep *ep);
/* Uses the domain's event queue if the endpoint has none of its own. */
void vrb_ep_use_domain_eq(struct vrb_ep *ep);

#endif
