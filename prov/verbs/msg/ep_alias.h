/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Aliases of an endpoint: a struct vrb_ep each, of which only what posting looks at is set; `self`
 * leads to the endpoint, which all other calls go to. Aliases and the endpoint's own fid keep the
 * endpoint open.
 */
#ifndef VRB_EP_ALIAS_H
#define VRB_EP_ALIAS_H

#include <stdbool.h>

struct fi_alias;
struct vrb_ep;

/* FI_ALIAS on an endpoint or on an alias of it, whose flags are inherited. */
int vrb_ep_alias_open(struct vrb_ep *from, const struct fi_alias *alias);
/* Lets go of one fid. True when it was the last: the endpoint is to be freed. */
bool vrb_ep_alias_close(struct vrb_ep *ep);
/* Bindings of the endpoint have changed. */
void vrb_ep_alias_update(struct vrb_ep *self);

#endif
