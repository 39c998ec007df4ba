/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Creates the fi_info of a port for reliable datagrams. */
#include <stdio.h>
#include <string.h>
#include "info.h"
#include "info_rdm.h"
#include "prov/base/domain.h"
#include "prov/base/name.h"
#include "prov/verbs/provider/prov.h"
#include "prov/rdm/av_key.h"
#include "prov/rdm/msg.h"
#include "prov/rdm/proto.h"
#include "prov/rdm/sep.h"

#define TX_CAPS (FI_SEND | FI_READ | FI_WRITE | FI_FENCE | FI_TRIGGER | FI_NAMED_RX_CTX)
#define RX_CAPS                                                                          \
	(FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_DIRECTED_RECV | FI_MULTI_RECV | \
	 FI_SOURCE | FI_SOURCE_ERR | FI_RMA_EVENT | FI_TRIGGER | OFI_RDM_RECV_VARIANTS)
#define BOTH_CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_COLLECTIVE)
#define SIZE	  65536

/*
 * Ordering within a kind: operations on a peer are posted in order, and the target performs atomics
 * in order.
 */
#define ORDER                                                                    \
	(FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAW | \
	 FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)
/*
 * Ordering between kinds; such an endpoint waits when an operation would overtake one of another
 * kind.
 */
#define ASKED_ORDER                                                                                \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_WAS | \
	 FI_ORDER_SAR | FI_ORDER_SAW | FI_ORDER_RMA_WAR)

struct fi_tx_attr vrb_rdm_tx_limits(void)
{
	return (struct fi_tx_attr){
		.caps = BOTH_CAPS | TX_CAPS,
		.op_flags = FI_INJECT | FI_COMPLETION | FI_FENCE | FI_INJECT_COMPLETE |
			    FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE |
			    FI_REMOTE_CQ_DATA,
		.msg_order = ORDER | ASKED_ORDER,
		.comp_order = FI_ORDER_NONE,
		.inject_size = (size_t)vrb_params.rdm_buffer_size - OFI_RDM_WIRE_HEADER_MAX,
		.size = SIZE,
		.iov_limit = OFI_RDM_PROTO_IOV,
		.rma_iov_limit = OFI_RDM_PROTO_IOV,
	};
}

struct fi_rx_attr vrb_rdm_rx_limits(void)
{
	return (struct fi_rx_attr){
		.caps = BOTH_CAPS | RX_CAPS,
		.op_flags = FI_COMPLETION | FI_MULTI_RECV | FI_TRANSMIT_COMPLETE,
		.msg_order = ORDER | ASKED_ORDER,
		.comp_order = FI_ORDER_NONE,
		.size = SIZE,
		.iov_limit = OFI_RDM_PROTO_IOV,
	};
}

static bool is_rxd(const char *name)
{
	return name && strcasestr(name, ";ofi_rxd");
}

static bool uses_ud(const char *name)
{
	return is_rxd(name) || vrb_rdm_transport_is("ud") || vrb_rdm_transport_is("auto");
}

static bool queues_fit(const struct vrb_device *dev, const char *name, struct ofi_miss *why)
{
	int need = uses_ud(name) ? VRB_UD_WR_MIN : VRB_RDM_WR_MIN;

	if (dev->attr.max_qp_wr >= need && dev->attr.max_cqe / 2 >= need)
		return true;
	snprintf(
		why->has, sizeof(why->has),
		"%d work requests in a queue (max_qp_wr) and %d completions (max_cqe), of %d and %d",
		dev->attr.max_qp_wr, dev->attr.max_cqe, need, 2 * need);
	return false;
}

/*
 * UD queue pairs need one segment and no inline data. RC queue pairs send small messages inline,
 * from a header and a buffer.
 */
static bool connections_fit(const struct vrb_device *dev, const char *name, struct ofi_miss *why)
{
	const uint32_t header = sizeof(struct ofi_rdm_wire_fast);

	if (uses_ud(name) || (dev->attr.max_sge >= VRB_RDM_SGE_MIN && dev->max_inline >= header))
		return true;
	if (dev->max_inline < header)
		snprintf(why->has, sizeof(why->has),
			 "%u B of inline data, connections need %u; set FI_VERBS_RDM_TRANSPORT=ud",
			 dev->max_inline, header);
	else
		snprintf(why->has, sizeof(why->has),
			 "%d segment in a work request (max_sge), connections need %d; "
			 "set FI_VERBS_RDM_TRANSPORT=ud",
			 dev->attr.max_sge, VRB_RDM_SGE_MIN);
	return false;
}

/*
 * Reliable datagrams need a shared receive queue for all peers. iWARP is excluded, because its
 * connection manager establishes a connection before the passive side has sent the parameters that
 * both sides must agree on.
 */
bool vrb_rdm_fits(const struct vrb_device *dev, const char *name, struct ofi_miss *why)
{
	why->attr = "ep_attr->type";
	snprintf(why->asked, sizeof(why->asked), "FI_EP_RDM");
	if (dev->rc_err)
		snprintf(why->has, sizeof(why->has), "no RC queue pair: %s", strerror(dev->rc_err));
	else if (dev->transport == IBV_TRANSPORT_IWARP)
		snprintf(why->has, sizeof(why->has), "iWARP; use FI_EP_MSG");
	else if (is_rxd(name) && dev->ud_err)
		snprintf(why->has, sizeof(why->has), "no UD queue pair: %s", strerror(dev->ud_err));
	else if (dev->attr.max_srq <= 0)
		snprintf(why->has, sizeof(why->has),
			 "no shared receive queues (max_srq 0); use FI_EP_MSG");
	else
		return queues_fit(dev, name, why) && connections_fit(dev, name, why);
	return false;
}

struct fi_info *vrb_info_rdm(const struct vrb_device *dev, const struct vrb_port *port)
{
	struct fi_info *info = vrb_info_msg(dev, port);

	if (!info)
		return NULL;
	info->caps = BOTH_CAPS | TX_CAPS | RX_CAPS | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV |
		     FI_AV_USER_ID;
	info->domain_attr->caps |= FI_SHARED_AV | FI_AV_USER_ID;
	info->mode = 0;
	*info->tx_attr = vrb_rdm_tx_limits();
	*info->rx_attr = vrb_rdm_rx_limits();
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->protocol = FI_PROTO_IB_RDM;
	info->ep_attr->protocol_version = OFI_RDM_WIRE_VERSION;
	info->ep_attr->max_msg_size = SIZE_MAX;
	info->ep_attr->max_order_war_size = info->ep_attr->max_order_waw_size;
	info->ep_attr->mem_tag_format = 0xaaaaaaaaaaaaaaaaULL;
	info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->mr_mode &= ~FI_MR_LOCAL;
	info->domain_attr->cq_data_size = sizeof(uint64_t);
	info->domain_attr->max_ep_tx_ctx = info->domain_attr->max_ep_rx_ctx = OFI_RDM_SEP_MAX;
	info->domain_attr->max_ep_srx_ctx = info->domain_attr->ep_cnt;
	return info;
}

struct fi_info *vrb_info_layered(const struct vrb_device *dev, const struct vrb_port *port,
				 const char *name)
{
	struct fi_info *info = vrb_info_rdm(dev, port);

	if (!info)
		return NULL;
	info->ep_attr->protocol = is_rxd(name) ? FI_PROTO_RXD : FI_PROTO_RXM;
	info->fabric_attr->prov_name = strdup(is_rxd(name) ? "verbs;ofi_rxd" : "verbs;ofi_rxm");
	if (info->fabric_attr->prov_name)
		return info;
	fi_freeinfo(info);
	return NULL;
}

/*
 * Offers orderings that make operations wait only if the hints request them. Without a request,
 * write-after-read order applies to atomics only.
 */
static void offer_order(struct fi_info *info, const struct fi_info *hints)
{
	uint64_t tx = hints && hints->tx_attr ? hints->tx_attr->msg_order : 0;
	uint64_t rx = hints && hints->rx_attr ? hints->rx_attr->msg_order : 0;

	info->tx_attr->msg_order &= ~(ASKED_ORDER & ~tx);
	info->rx_attr->msg_order &= ~(ASKED_ORDER & ~rx);
	if (!(tx & (FI_ORDER_WAR | FI_ORDER_RMA_WAR)))
		info->ep_attr->max_order_war_size =
			(size_t)vrb_params.rdm_buffer_size - OFI_RDM_WIRE_HEADER_MAX;
}

/*
 * Returns true for an endpoint whose messages are matched in a shared receive context or in several
 * contexts. Collectives match in the endpoint itself.
 */
static bool is_divided(const struct fi_ep_attr *ep)
{
	return ep->rx_ctx_cnt > 1 || (ep->tx_ctx_cnt > 1 && ep->tx_ctx_cnt != FI_SHARED_CONTEXT);
}

/*
 * Offers features that slow down all operations only if the hints request them: RMA events,
 * triggered operations, variants of receives, and the addresses of unknown senders (FI_SOURCE_ERR),
 * which are socket addresses and therefore not offered with FI_ADDR_STR.
 */
static void offer_costly(uint32_t version, struct fi_info *info, const struct fi_info *hints)
{
	uint64_t not_asked = FI_RMA_EVENT | FI_TRIGGER | FI_SOURCE_ERR | OFI_RDM_RECV_VARIANTS;

	not_asked &= ~ofi_attr_asked_caps(hints);
	not_asked |= ofi_rdm_lacking_variants(version);
	if (hints && hints->ep_attr && is_divided(hints->ep_attr))
		not_asked |= FI_COLLECTIVE;
	if (info->addr_format == FI_ADDR_STR || (hints && hints->addr_format == FI_ADDR_STR))
		not_asked |= FI_SOURCE_ERR;
	offer_order(info, hints);
	info->caps &= ~not_asked;
	info->tx_attr->caps &= ~not_asked;
	info->rx_attr->caps &= ~not_asked;
}

/* Accepts any key that is given, and keys from the address vector. */
static void take_key(uint8_t **key, size_t *size, const uint8_t *asked, size_t asked_size)
{
	if (asked_size == FI_AV_AUTH_KEY)
		*size = asked_size;
	else if (asked && asked_size)
		*key = ofi_copy_new(asked, asked_size, size);
}

static void take_keys(struct fi_info *info, const struct fi_info *hints)
{
	if (hints->domain_attr)
		take_key(&info->domain_attr->auth_key, &info->domain_attr->auth_key_size,
			 hints->domain_attr->auth_key, hints->domain_attr->auth_key_size);
	if (info->domain_attr->auth_key_size == FI_AV_AUTH_KEY)
		info->domain_attr->max_ep_auth_key = OFI_RDM_AV_KEYS;
	if (hints->ep_attr)
		take_key(&info->ep_attr->auth_key, &info->ep_attr->auth_key_size,
			 hints->ep_attr->auth_key, hints->ep_attr->auth_key_size);
}

void vrb_rdm_explain_key(const struct fi_info *info, const struct fi_info *hints,
			 struct ofi_miss *miss)
{
	const uint8_t *key;

	if (!miss || !hints || info->ep_attr->type != FI_EP_RDM)
		return;
	if (!strcmp(miss->attr, "ep_attr->auth_key_size"))
		key = hints->ep_attr->auth_key;
	else if (!strcmp(miss->attr, "domain_attr->auth_key_size"))
		key = hints->domain_attr->auth_key;
	else
		return;
	if (!key)
		snprintf(miss->has, sizeof(miss->has), "any size with a key, but auth_key is NULL");
}

void vrb_rdm_offer_mode(uint32_t version, struct fi_info *info, const struct fi_info *hints)
{
	const int need = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	int asked;

	offer_costly(version, info, hints);
	vrb_info_offer_hmem(info, hints);
	if (hints)
		take_keys(info, hints);
	if (!hints || !hints->domain_attr)
		return;
	if (hints->domain_attr->data_progress == FI_PROGRESS_AUTO)
		info->domain_attr->data_progress = FI_PROGRESS_AUTO;
	asked = hints->domain_attr->mr_mode;
	if (FI_VERSION_LT(version, FI_VERSION(1, 5)) && asked != FI_MR_SCALABLE)
		asked = FI_MR_BASIC;
	if (asked == FI_MR_BASIC || (asked != FI_MR_SCALABLE && (asked & need) == need))
		return;
	info->domain_attr->mr_mode &= FI_MR_HMEM;
	info->domain_attr->mr_key_size = sizeof(uint64_t);
	info->domain_attr->mr_iov_limit = OFI_MR_BUFFERS;
}
