/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Creates the fi_info of an Elastic Fabric Adapter. */
#include "efa.h"

#include <stdlib.h>
#include <string.h>
#include "device.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/discovery/info.h"
#include "prov/verbs/discovery/info_rdm.h"
#include "src/ds/min.h"

#define FABRIC_NAME "efa"
#define LINK_NAME   "EFA"

/* Work requests complete in any order, and there is neither a fence nor multicast. */
static void efa_set_tx(struct fi_tx_attr *tx, const struct efadv_device_attr *attr)
{
	tx->caps = FI_MSG | FI_SEND;
	tx->mode = FI_MSG_PREFIX;
	tx->op_flags &= ~(FI_FENCE | FI_MULTICAST);
	tx->comp_order = FI_ORDER_NONE;
	tx->inject_size = ofi_min(tx->inject_size, attr->inline_buf_size);
	tx->size = ofi_min(tx->size, attr->max_sq_wr);
	tx->iov_limit = ofi_min(attr->max_sq_sge, VRB_IOV_MAX - 1);
}

/*
 * No segment is needed for the header, which goes to the prefix. A receive takes as many entries of
 * the device's queue as it has segments.
 */
static void efa_set_rx(struct fi_rx_attr *rx, const struct efadv_device_attr *attr)
{
	rx->caps = FI_MSG | FI_RECV;
	rx->mode = FI_MSG_PREFIX;
	rx->comp_order = FI_ORDER_NONE;
	rx->iov_limit = ofi_min(attr->max_rq_sge, VRB_IOV_MAX - 1);
	rx->size = ofi_min(rx->size, attr->max_rq_wr / (rx->iov_limit ? rx->iov_limit : 1));
}

static bool efa_set_text(char **text, const char *value)
{
	free(*text);
	*text = strdup(value);
	return *text;
}

/* Adapts an info of any type to the adapter. Returns false when out of memory. */
static bool efa_set_common(struct fi_info *info, const struct vrb_port *port)
{
	info->nic->link_attr->mtu = vrb_ud_mtu(&port->attr);
	info->fabric_attr->prov_version = efa_prov.version;
	info->ep_attr->protocol = FI_PROTO_EFA;
	return efa_set_text(&info->fabric_attr->name, FABRIC_NAME) &&
	       efa_set_text(&info->nic->link_attr->network_type, LINK_NAME);
}

/* Adapts an info of datagrams to the adapter. Returns false when out of memory. */
static bool efa_set_info(struct fi_info *info, const struct vrb_port *port,
			 const struct efadv_device_attr *attr)
{
	info->caps = FI_MSG | FI_SEND | FI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->mode = FI_MSG_PREFIX;
	efa_set_tx(info->tx_attr, attr);
	efa_set_rx(info->rx_attr, attr);
	info->ep_attr->msg_prefix_size = VRB_GRH_SIZE;
	info->domain_attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->domain_attr->cntr_cnt = 0;
	info->domain_attr->max_cntr_value = 0;
	info->domain_attr->max_err_cntr_value = 0;
	return efa_set_common(info, port);
}

static struct fi_info *efa_info_dgram(const struct vrb_device *dev, const struct vrb_port *port)
{
	struct efadv_device_attr attr;
	struct fi_info *info;
	const char *call;

	if (efa_device_query(dev, &attr, &call))
		return NULL;
	info = vrb_info_dgram(dev, port);
	if (!info || efa_set_info(info, port, &attr))
		return info;
	fi_freeinfo(info);
	return NULL;
}

/*
 * Reliable datagrams are those of prov/verbs on one SRD queue pair. There are no scalable
 * endpoints, whose contexts would need consecutive names, and no device memory, which would need
 * RDMA.
 */
static struct fi_info *efa_info_rdm(const struct vrb_device *dev, const struct vrb_port *port)
{
	const uint64_t without = FI_NAMED_RX_CTX;
	struct fi_info *info = vrb_info_rdm(dev, port);

	if (!info)
		return NULL;
	info->caps &= ~without;
	info->tx_attr->caps &= ~without;
	info->rx_attr->caps &= ~without;
	info->domain_attr->max_ep_tx_ctx = 1;
	info->domain_attr->max_ep_rx_ctx = 1;
	if (efa_set_common(info, port))
		return info;
	fi_freeinfo(info);
	return NULL;
}

/* Newer adapters accept more inline data, but then their queue has half the entries. */
static uint32_t efa_inline_max(struct ibv_context *ctx, uint32_t asked)
{
	struct efadv_device_attr attr = { 0 };

	if (efadv_query_device(ctx, &attr, sizeof(attr)) || attr.inline_buf_size > asked)
		return asked;
	return attr.inline_buf_size;
}

static struct ibv_qp *efa_srd_create(struct ibv_pd *pd, struct ibv_qp_init_attr *attr, bool reads)
{
	struct efadv_qp_init_attr efa = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	struct ibv_qp_init_attr_ex ex;

	attr->cap.max_inline_data = efa_inline_max(pd->context, attr->cap.max_inline_data);
	ex = (struct ibv_qp_init_attr_ex){
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.cap = attr->cap,
		.qp_type = IBV_QPT_DRIVER,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	if (reads) {
		ex.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		ex.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_READ;
	}
	return efadv_create_qp_ex(pd->context, &ex, &efa, sizeof(efa));
}

const struct vrb_kind efa_kind = {
	.prov = &efa_prov,
	.sizes = &efa_params,
	.takes = efa_device_takes,
	.dgram = efa_info_dgram,
	.names = FI_ADDR_EFA,
	.rdm = efa_info_rdm,
	.srd = efa_srd_create,
	.reads = efa_device_reads,
	.retries = efa_device_retries,
};

int efa_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info)
{
	return vrb_kind_getinfo(&efa_kind, version, node, service, flags, hints, info);
}
