/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an application sets on an endpoint: bindings, options, default operation flags. */
#ifndef VRB_EP_BIND_H
#define VRB_EP_BIND_H

#include <stdint.h>
#include <sys/types.h>

struct fid;
struct fi_ops_ep;
struct vrb_ep;

extern struct fi_ops_ep vrb_ep_ops;

int vrb_ep_bind(struct fid *ep, struct fid *bfid, uint64_t flags);
void vrb_ep_unbind(struct vrb_ep *ep);
/* The event queue of the domain serves an endpoint that has none of its own. */
void vrb_ep_use_domain_eq(struct vrb_ep *ep);
/* fi_cancel of endpoints and shared receive contexts: there is nothing to cancel. */
ssize_t vrb_ep_cancel(struct fid *fid, void *context);
int vrb_ep_control(struct fid *ep, int command, void *arg);
/* The table of messages, by locks and by whether receives are shared. */
void vrb_ep_set_msg(struct vrb_ep *ep);
/* Derives what the posting calls look at from the operation flags and bindings. */
void vrb_ep_set_modes(struct vrb_ep *ep);
/* FI_TRANSMIT or FI_RECV with its default flags. 0 or -FI_E*. */
int vrb_ep_set_op_flags(struct vrb_ep *ep, uint64_t flags);

#endif
