/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Creates the fi_info of a port. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "info.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/msg/srx.h"
#include "prov/verbs/queue/wc.h"

#define QUEUE_MIN 16 /* a smaller queue is never chosen because of a hint */

#define TX_CAPS	  (FI_SEND | FI_READ | FI_WRITE | FI_FENCE | FI_TRIGGER)
#define RX_CAPS	  (FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_TRIGGER)
#define BOTH_CAPS (FI_MSG | FI_RMA | FI_ATOMIC)

/* Ordering of a reliable connection; a read may be overtaken by later operations. */
#define ORDER                                                                                      \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW | FI_ORDER_WAS | FI_ORDER_SAW | \
	 FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAW)
#define ATOMIC_ORDER (FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAW)

static bool is_iwarp(const struct vrb_device *dev)
{
	return dev->transport == IBV_TRANSPORT_IWARP;
}

static bool has_atomics(const struct vrb_device *dev)
{
	return !is_iwarp(dev) && dev->attr.atomic_cap != IBV_ATOMIC_NONE;
}

static uint64_t device_order(const struct vrb_device *dev)
{
	return has_atomics(dev) ? ORDER | ATOMIC_ORDER : ORDER;
}

static void set_caps(struct fi_info *info, const struct vrb_device *dev)
{
	uint64_t both = has_atomics(dev) ? BOTH_CAPS : BOTH_CAPS & ~FI_ATOMIC;

	info->caps = both | TX_CAPS | RX_CAPS | FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->caps |= FI_MULTI_RECV;
	info->tx_attr->caps = both | TX_CAPS;
	info->rx_attr->caps = both | RX_CAPS | FI_MULTI_RECV;
	info->domain_attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
}

/* Devices may have more than a queue pair is opened with. */
static size_t iov_limit(const struct vrb_device *dev)
{
	return (size_t)(dev->attr.max_sge < VRB_IOV_MAX ? dev->attr.max_sge : VRB_IOV_MAX);
}

static void set_tx(struct fi_tx_attr *tx, const struct vrb_device *dev)
{
	tx->op_flags =
		FI_INJECT | FI_COMPLETION | FI_FENCE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE;
	tx->op_flags |= is_iwarp(dev) ? 0 : FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE;
	tx->msg_order = device_order(dev);
	tx->comp_order = FI_ORDER_STRICT;
	tx->inject_size = dev->max_inline;
	tx->size = (size_t)dev->attr.max_qp_wr;
	tx->iov_limit = iov_limit(dev);
	tx->rma_iov_limit = 1;
}

static void info_set_rx(struct fi_rx_attr *rx, const struct vrb_device *dev)
{
	rx->op_flags = FI_COMPLETION | FI_MULTI_RECV | FI_TRANSMIT_COMPLETE;
	rx->msg_order = device_order(dev);
	rx->comp_order = FI_ORDER_STRICT | FI_ORDER_DATA;
	rx->size = (size_t)dev->attr.max_qp_wr;
	rx->iov_limit = iov_limit(dev);
}

static void set_ep(struct fi_ep_attr *ep, const struct vrb_device *dev, const struct vrb_port *port)
{
	ep->type = FI_EP_MSG;
	ep->protocol = is_iwarp(dev) ? FI_PROTO_IWARP : FI_PROTO_RDMA_CM_IB_RC;
	ep->protocol_version = 1;
	ep->max_msg_size = port->attr.max_msg_sz;
	ep->max_order_raw_size = port->attr.max_msg_sz;
	ep->max_order_waw_size = port->attr.max_msg_sz;
	ep->tx_ctx_cnt = 1;
	ep->rx_ctx_cnt = 1;
}

_Static_assert(sizeof(struct vrb_wc_detail) <= VRB_CM_RECEIVED_MAX,
	       "error data of completions is no longer than that of events");

static void set_domain(struct fi_domain_attr *domain, const struct vrb_device *dev)
{
	domain->threading = FI_THREAD_SAFE;
	domain->control_progress = FI_PROGRESS_AUTO;
	domain->data_progress = FI_PROGRESS_AUTO;
	domain->resource_mgmt = FI_RM_ENABLED;
	domain->av_type = FI_AV_UNSPEC;
	domain->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	domain->mr_key_size = sizeof(((struct ibv_mr *)0)->rkey);
	domain->cq_cnt = (size_t)dev->attr.max_cq;
	domain->cntr_cnt = SIZE_MAX;
	domain->max_cntr_value = UINT64_MAX;
	domain->max_err_cntr_value = UINT64_MAX;
	domain->ep_cnt = (size_t)dev->attr.max_qp;
	domain->tx_ctx_cnt = (size_t)dev->attr.max_qp;
	domain->rx_ctx_cnt = (size_t)dev->attr.max_qp;
	domain->max_ep_tx_ctx = 1;
	domain->max_ep_rx_ctx = 1;
	domain->max_ep_stx_ctx = (size_t)dev->attr.max_qp;
	domain->max_ep_srx_ctx = dev->attr.max_srq > 0 ? (size_t)dev->attr.max_qp : 0;
	domain->mr_iov_limit = 1;
	domain->mr_cnt = (size_t)dev->attr.max_mr;
	domain->max_err_data = VRB_CM_RECEIVED_MAX;
}

/* Immediate data of an RDMA write consumes a receive; iWARP has no immediate data. */
static void set_cq_data(struct fi_info *info, const struct vrb_device *dev)
{
	if (is_iwarp(dev))
		return;
	info->mode = FI_RX_CQ_DATA;
	info->rx_attr->mode = FI_RX_CQ_DATA;
	info->domain_attr->cq_data_size = VRB_CQ_DATA_SIZE;
}

static char *fabric_name(const struct vrb_device *dev, const struct vrb_port *port)
{
	char name[FI_NAME_MAX];

	if (is_iwarp(dev))
		return strdup("Ethernet");
	snprintf(name, sizeof(name), "IB-0x%" PRIx64, be64toh(port->subnet));
	return strdup(name);
}

struct fi_info *vrb_info_msg(const struct vrb_device *dev, const struct vrb_port *port)
{
	struct fi_info *info = fi_allocinfo();

	if (!info)
		return NULL;
	set_caps(info, dev);
	set_tx(info->tx_attr, dev);
	info_set_rx(info->rx_attr, dev);
	set_ep(info->ep_attr, dev, port);
	set_domain(info->domain_attr, dev);
	set_cq_data(info, dev);
	info->fabric_attr->prov_version = vrb_prov.version;
	info->fabric_attr->name = fabric_name(dev, port);
	info->domain_attr->name = strdup(dev->name);
	info->nic = vrb_nic_new(dev, port);
	if (!info->fabric_attr->name || !info->domain_attr->name || !info->nic) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}

/* RMA without modifiers includes the target side. */
static bool is_rma_target(uint64_t caps)
{
	return caps & FI_RMA &&
	       (caps & FI_REMOTE_WRITE || !(caps & (FI_READ | FI_WRITE | FI_REMOTE_READ)));
}

void vrb_info_offer_mode(struct fi_info *info, const struct fi_info *hints)
{
	uint64_t caps = hints && hints->caps ? hints->caps : info->caps;

	vrb_info_offer_hmem(info, hints);
	if (info->ep_attr->type == FI_EP_DGRAM)
		vrb_info_offer_prefix(info, hints);
	if (!hints || hints->mode & FI_RX_CQ_DATA)
		return;
	info->mode &= ~FI_RX_CQ_DATA;
	info->rx_attr->mode &= ~FI_RX_CQ_DATA;
	if (is_rma_target(caps) && !(hints->domain_attr && hints->domain_attr->cq_data_size))
		info->domain_attr->cq_data_size = 0;
}

/*
 * An application that requests remote CQ data with RMA but does not set FI_RX_CQ_DATA gets the mode
 * anyway, since the device has no other method.
 */
static void settle_cq_data(struct fi_info *info)
{
	if (info->ep_attr->type != FI_EP_MSG || !info->domain_attr->cq_data_size ||
	    !is_rma_target(info->caps) || info->mode & FI_RX_CQ_DATA)
		return;
	info->mode |= FI_RX_CQ_DATA;
	info->rx_attr->mode |= FI_RX_CQ_DATA;
	FI_INFO(&vrb_prov, FI_LOG_CORE,
		"fi_getinfo: remote CQ data of RMA consumes a receive (mode FI_RX_CQ_DATA, which the hints lack)\n");
}

/* Triggers slow down each operation, so only applications that request them get them. */
static void settle_trigger(struct fi_info *info, const struct fi_info *hints)
{
	if (ofi_attr_asked_caps(hints) & FI_TRIGGER)
		return;
	info->caps &= ~FI_TRIGGER;
	info->tx_attr->caps &= ~FI_TRIGGER;
	info->rx_attr->caps &= ~FI_TRIGGER;
}

void vrb_info_offer_shared(struct fi_info *info, const struct fi_info *hints,
			   const struct vrb_device *dev)
{
	if (!hints || !hints->ep_attr || hints->ep_attr->rx_ctx_cnt != FI_SHARED_CONTEXT)
		return;
	info->rx_attr->size = (size_t)dev->attr.max_srq_wr;
	info->rx_attr->iov_limit = vrb_srx_max_iov(&dev->attr);
}

/*
 * Several completions per buffer make reading a CQ more expensive, so only applications that ask
 * get them.
 */
void vrb_info_offer_multi(struct fi_info *info, const struct fi_info *hints)
{
	bool shared = hints && hints->ep_attr && hints->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;

	if (!shared && ofi_attr_asked_caps(hints) & FI_MULTI_RECV)
		return;
	info->caps &= ~FI_MULTI_RECV;
	info->rx_attr->caps &= ~FI_MULTI_RECV;
	info->rx_attr->op_flags &= ~FI_MULTI_RECV;
}

static size_t info_settle(size_t max, int def, size_t asked)
{
	size_t size = (size_t)def < max ? (size_t)def : max;

	return asked > size ? asked : size;
}

/*
 * Returns the size of a queue. With connected endpoints each connection pays for its queues in
 * memory and time, so an application that requests fewer entries than the default gets fewer,
 * rounded up to a power of two. A request for only a few entries is treated as a minimum, which the
 * default satisfies.
 */
static size_t info_settle_queue(const struct fi_info *info, size_t max, int def, size_t asked)
{
	size_t size = QUEUE_MIN;

	if (info->ep_attr->type != FI_EP_MSG || asked < QUEUE_MIN)
		return info_settle(max, def, asked);
	while (size < asked && size < (size_t)def)
		size *= 2;
	return info_settle(max, size < (size_t)def ? (int)size : def, asked);
}

void vrb_info_settle(const struct vrb_params *sizes, struct fi_info *info,
		     const struct fi_info *hints)
{
	static const struct fi_tx_attr no_tx;
	static const struct fi_rx_attr no_rx;
	const struct fi_tx_attr *asked_tx = hints && hints->tx_attr ? hints->tx_attr : &no_tx;
	const struct fi_rx_attr *asked_rx = hints && hints->rx_attr ? hints->rx_attr : &no_rx;
	struct fi_tx_attr *tx = info->tx_attr;
	struct fi_rx_attr *rx = info->rx_attr;

	settle_trigger(info, hints);
	settle_cq_data(info);
	tx->size = info_settle_queue(info, tx->size, sizes->tx_size, asked_tx->size);
	tx->iov_limit = info_settle(tx->iov_limit, sizes->tx_iov_limit, asked_tx->iov_limit);
	if (sizes->inline_size)
		tx->inject_size =
			info_settle(tx->inject_size, sizes->inline_size, asked_tx->inject_size);
	rx->size = info_settle_queue(info, rx->size, sizes->rx_size, asked_rx->size);
	rx->iov_limit = info_settle(rx->iov_limit, sizes->rx_iov_limit, asked_rx->iov_limit);
	if (info->ep_attr->type == FI_EP_DGRAM)
		vrb_info_settle_dgram(info, hints);
}

static const char *state_name(enum ibv_port_state state)
{
	static const char *const names[] = {
		[IBV_PORT_NOP] = "NOP",	      [IBV_PORT_DOWN] = "DOWN",
		[IBV_PORT_INIT] = "INIT",     [IBV_PORT_ARMED] = "ARMED",
		[IBV_PORT_ACTIVE] = "ACTIVE", [IBV_PORT_ACTIVE_DEFER] = "ACTIVE_DEFER",
	};

	return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

static bool port_miss(struct ofi_miss *why, const char *attr, const char *asked, const char *has)
{
	why->attr = attr;
	snprintf(why->asked, sizeof(why->asked), "%s", asked);
	snprintf(why->has, sizeof(why->has), "%s", has);
	return false;
}

static const char *no_address(void)
{
	if (vrb_params.iface)
		return "none that FI_VERBS_IFACE lets pass";
	if (vrb_params.gid_idx >= 0)
		return "none that belongs to the GID of FI_VERBS_GID_IDX";
	return "none: give its network interface an IP address";
}

bool vrb_port_usable(const struct vrb_port *port, bool addressed, struct ofi_miss *why)
{
	char index[24];

	if (port->attr.state != IBV_PORT_ACTIVE)
		return port_miss(why, "port state", "ACTIVE", state_name(port->attr.state));
	if (port->gid_index < 0 && vrb_params.gid_idx >= 0) {
		snprintf(index, sizeof(index), "%d", vrb_params.gid_idx);
		return port_miss(why, "FI_VERBS_GID_IDX", index, "no GID at this index");
	}
	if (port->gid_index < 0)
		return port_miss(why, "port GID", "one GID", "none");
	if (addressed && STAILQ_EMPTY(&port->addrs))
		return port_miss(why, "port address", "an address of an interface that is up",
				 no_address());
	return true;
}
