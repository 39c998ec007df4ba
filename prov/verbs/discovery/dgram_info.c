/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Creates the fi_info of a port for FI_EP_DGRAM. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "prov/verbs/dgram/dgram.h"
#include "info.h"

#define TX_CAPS	  (FI_SEND | FI_FENCE)
#define RX_CAPS	  (FI_RECV | FI_SOURCE)
#define BOTH_CAPS FI_MSG

static uint64_t groups(const struct vrb_device *dev)
{
	return dev->attr.max_mcast_grp > 0 ? FI_MULTICAST : 0;
}

static void set_tx(struct fi_tx_attr *tx, const struct vrb_device *dev)
{
	tx->caps = BOTH_CAPS | TX_CAPS | groups(dev);
	tx->op_flags &= ~FI_DELIVERY_COMPLETE;
	tx->op_flags |= groups(dev);
	tx->msg_order = FI_ORDER_NONE;
	tx->inject_size = dev->max_inline_ud;
	tx->rma_iov_limit = 0;
}

/* One segment of each receive is used for the GRH, except with FI_MSG_PREFIX. */
static void dgram_info_set_rx(struct fi_rx_attr *rx)
{
	rx->caps = BOTH_CAPS | RX_CAPS;
	rx->op_flags &= ~FI_MULTI_RECV;
	rx->mode = 0;
	rx->msg_order = FI_ORDER_NONE;
	if (rx->iov_limit > 1)
		rx->iov_limit--;
}

static void set_ep(struct fi_ep_attr *ep, const struct vrb_port *port)
{
	ep->type = FI_EP_DGRAM;
	ep->protocol = FI_PROTO_IB_UD;
	ep->max_msg_size = vrb_ud_mtu(&port->attr);
	ep->max_order_raw_size = 0;
	ep->max_order_waw_size = 0;
}

static void set_prefix(struct fi_info *info)
{
	info->mode |= FI_MSG_PREFIX;
	info->tx_attr->mode |= FI_MSG_PREFIX;
	info->rx_attr->mode |= FI_MSG_PREFIX;
	info->ep_attr->msg_prefix_size = VRB_GRH_SIZE;
}

struct fi_info *vrb_info_dgram(const struct vrb_device *dev, const struct vrb_port *port)
{
	struct fi_info *info = vrb_info_msg(dev, port);
	char name[sizeof(dev->name) + sizeof(VRB_DGRAM_SUFFIX)];

	if (!info)
		return NULL;
	info->caps = BOTH_CAPS | TX_CAPS | RX_CAPS | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_AV_USER_ID;
	info->caps |= groups(dev);
	info->domain_attr->caps |= FI_AV_USER_ID;
	info->mode = 0;
	set_tx(info->tx_attr, dev);
	dgram_info_set_rx(info->rx_attr);
	if (dev->attr.max_sge < 2)
		set_prefix(info);
	set_ep(info->ep_attr, port);
	if (info->tx_attr->inject_size > info->ep_attr->max_msg_size)
		info->tx_attr->inject_size = info->ep_attr->max_msg_size;
	info->domain_attr->mr_mode = FI_MR_LOCAL;
	info->domain_attr->max_ep_stx_ctx = 0;
	info->domain_attr->max_ep_srx_ctx = 0;
	snprintf(name, sizeof(name), "%s" VRB_DGRAM_SUFFIX, dev->name);
	free(info->domain_attr->name);
	info->domain_attr->name = strdup(name);
	if (!info->domain_attr->name) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}

/* Returns true if a context's mode permits a prefix. 0 stands for the mode of the fi_info. */
static bool leaves_prefix(uint64_t mode)
{
	return !mode || mode & FI_MSG_PREFIX;
}

void vrb_info_offer_prefix(struct fi_info *info, const struct fi_info *hints)
{
	if (!hints || !(hints->mode & FI_MSG_PREFIX) ||
	    (hints->tx_attr && !leaves_prefix(hints->tx_attr->mode)) ||
	    (hints->rx_attr && !leaves_prefix(hints->rx_attr->mode)))
		return;
	set_prefix(info);
}

void vrb_info_explain_dgram(const struct fi_info *info, const struct fi_info *hints,
			    struct ofi_miss *miss)
{
	if (!miss || info->ep_attr->type != FI_EP_DGRAM)
		return;
	if (!strcmp(miss->asked, "FI_MULTICAST") && !(info->caps & FI_MULTICAST))
		snprintf(miss->has, sizeof(miss->has), "no multicast groups (max_mcast_grp 0)");
	else if (!strcmp(miss->attr, "tx_attr->op_flags") &&
		 hints->tx_attr->op_flags & FI_DELIVERY_COMPLETE)
		snprintf(miss->has, sizeof(miss->has),
			 "FI_TRANSMIT_COMPLETE at most: receivers do not acknowledge datagrams");
}

void vrb_info_settle_dgram(struct fi_info *info, const struct fi_info *hints)
{
	if (hints && hints->caps && !(ofi_attr_asked_caps(hints) & FI_SOURCE)) {
		info->caps &= ~FI_SOURCE;
		info->rx_attr->caps &= ~FI_SOURCE;
	}
	if (info->domain_attr->av_type == FI_AV_UNSPEC)
		info->domain_attr->av_type = FI_AV_TABLE;
}
