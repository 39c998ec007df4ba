/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Aliases of an endpoint. Each is a struct vrb_ep in which only the fields used for posting are
 * set; `self` points to the endpoint, on which all other calls operate. The endpoint stays open
 * until its own fid and all aliases are closed.
 */
#ifndef VRB_EP_ALIAS_H
#define VRB_EP_ALIAS_H

#include <stdbool.h>

struct fi_alias;
struct vrb_ep;

/* Implements FI_ALIAS on an endpoint or on an alias, whose flags are inherited. */
int vrb_ep_alias_open(struct vrb_ep *from, const struct fi_alias *alias);
/* Closes one fid. Returns true if it was the last one and the endpoint must be freed. */
bool vrb_ep_alias_close(struct vrb_ep *ep);
/* Called when the endpoint's bindings have changed, or it has been enabled. */
void vrb_ep_alias_update(struct vrb_ep *self);

#endif
