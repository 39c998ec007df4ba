/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Default operation flags of an endpoint, the values that posting derives from them, and options.
 */
#ifndef VRB_EP_MODES_H
#define VRB_EP_MODES_H

#include <stdint.h>
#include <sys/types.h>
#include "prov/base/ep.h"

struct vrb_ep;

extern const struct fi_ops_ep vrb_ep_ops;

/* Selects the table of message calls, depending on locking and on whether receives are shared. */
void vrb_ep_set_msg(struct vrb_ep *ep);
/* Computes the values that the posting calls use from the operation flags and bindings. */
void vrb_ep_set_modes(struct vrb_ep *ep);
/* Returns the flags of the endpoint or alias. */
struct ofi_ep_op_flags vrb_ep_op_flags(struct vrb_ep *ep);
/* Sets the default flags of FI_TRANSMIT or FI_RECV. Returns 0 or -FI_E*. */
int vrb_ep_set_op_flags(struct vrb_ep *ep, const uint64_t *flags);
/* Implements fi_cancel of endpoints and shared receive contexts, which cannot cancel anything. */
ssize_t vrb_ep_cancel(struct fid *fid, void *context);

#endif
