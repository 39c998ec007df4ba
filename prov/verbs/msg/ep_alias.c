/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoint aliases. */
#include <stdlib.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include "ep.h"
#include "alias_trigger.h"
#include "ep_alias.h"
#include "ep_modes.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"

/* Copies the fields used for posting, except the flags, which are the alias's own. */
static void alias_mirror(struct vrb_ep *alias, const struct vrb_ep *self)
{
	void *context = alias->fid.fid.context;

	alias->fid = self->fid;
	alias->fid.fid.context = context;
	alias->sq = self->sq;
	alias->rq = self->rq;
	alias->inject_size = self->inject_size;
	alias->max_msg_size = self->max_msg_size;
	alias->tx_flags = self->tx_flags;
	alias->lock_posts = self->lock_posts;
	alias->type = self->type;
	alias->tx_selective = self->tx_selective;
	alias->rx_selective = self->rx_selective;
	alias->domain = self->domain;
	alias->info = self->info;
	alias->enabled = self->enabled;
	if (vrb_ep_is_dgram(self))
		vrb_dgram_mirror(vrb_dgram_of(alias), (const struct vrb_dgram *)self);
	vrb_ep_set_modes(alias);
}

void vrb_ep_alias_update(struct vrb_ep *self)
{
	struct vrb_ep *alias;

	ofi_lock(&self->domain->lock);
	LIST_FOREACH (alias, &self->aliases, siblings)
		alias_mirror(alias, self);
	ofi_unlock(&self->domain->lock);
}

int vrb_ep_alias_open(struct vrb_ep *from, const struct fi_alias *arg)
{
	struct vrb_ep *alias, *self = from->self;
	int ret;

	if (!arg || !arg->fid)
		return ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_alias", "alias_ep");
	alias = calloc(1, vrb_ep_is_dgram(self) ? sizeof(struct vrb_dgram)
						: sizeof(struct vrb_msg_alias));
	if (!alias)
		return -FI_ENOMEM;
	alias->self = self;
	alias->fid.fid.context = from->fid.fid.context;
	alias->tx_op_flags = from->tx_op_flags;
	alias->rx_op_flags = from->rx_op_flags;
	ofi_lock(&self->domain->lock);
	alias_mirror(alias, self);
	ret = vrb_ep_set_op_flags(alias, &arg->flags);
	if (!ret)
		LIST_INSERT_HEAD(&self->aliases, alias, siblings);
	ofi_unlock(&self->domain->lock);
	if (ret) {
		free(alias);
		return ret;
	}
	ofi_ref_get(&self->fids);
	*arg->fid = &alias->fid.fid;
	return 0;
}

bool vrb_ep_alias_close(struct vrb_ep *ep)
{
	struct vrb_ep *self = ep->self;

	if (ep != self) {
		ofi_lock(&self->domain->lock);
		LIST_REMOVE(ep, siblings);
		ofi_unlock(&self->domain->lock);
		free(ep);
	}
	return !__atomic_sub_fetch(&self->fids.children, 1, __ATOMIC_ACQ_REL);
}
