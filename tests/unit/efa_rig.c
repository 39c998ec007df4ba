/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A machine with one simulated Elastic Fabric Adapter, efa0, and what libefa says of it. */
#include "efa_rig.h"

#include <errno.h>
#include <stddef.h>
#include "prov/efa/device.h"
#include "prov/efa/efa.h"
#include "prov/verbs/discovery/known.h"
#include "prov/verbs/discovery/snapshot.h"

struct mock_device *efa_rig_device;
unsigned int efa_rig_queries;
int efa_rig_err;
uint32_t efa_rig_caps, efa_rig_max_read;
struct ibv_qp_init_attr_ex efa_rig_qp;

static struct vrb_snapshot snapshot = STAILQ_HEAD_INITIALIZER(snapshot);

int efadv_query_device(struct ibv_context *ctx, struct efadv_device_attr *attr, uint32_t len)
{
	(void)ctx;
	(void)len;
	efa_rig_queries++;
	if (efa_rig_err)
		return efa_rig_err;
	*attr = (struct efadv_device_attr){
		.max_sq_wr = EFA_RIG_SQ_WR,
		.max_rq_wr = EFA_RIG_RQ_WR,
		.max_sq_sge = 2,
		.max_rq_sge = 3,
		.inline_buf_size = 32,
		.device_caps = efa_rig_caps,
		.max_rdma_size = efa_rig_max_read,
	};
	return 0;
}

struct ibv_qp *efadv_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr,
				  struct efadv_qp_init_attr *efa, uint32_t len)
{
	(void)ctx;
	(void)efa;
	(void)len;
	efa_rig_qp = *attr;
	errno = EOPNOTSUPP;
	return NULL;
}

void efa_rig_reset(void)
{
	vrb_snapshot_forget();
	vrb_known_forget();
	mock_reset();
	efa_rig_queries = 0;
	efa_rig_err = 0;
	efa_rig_caps = efa_rig_max_read = 0;
	vrb_params = (struct vrb_params){ .tx_size = 384, .rx_size = 384, .gid_idx = -1 };
	efa_params = (struct vrb_params){ .tx_size = 384,
					  .rx_size = 384,
					  .tx_iov_limit = 4,
					  .rx_iov_limit = 4,
					  .use_device_rdma = 1 };
	efa_rig_device = mock_add_device("efa0");
	efa_rig_device->attr.vendor_id = VRB_VENDOR_AMAZON;
	efa_rig_device->attr.max_qp_wr = EFA_RIG_RQ_WR;
	/* Nor does its driver say more: Linux 6.1. */
	efa_rig_device->dev.node_type = IBV_NODE_UNSPECIFIED;
	efa_rig_device->dev.transport_type = IBV_TRANSPORT_UNSPECIFIED;
	efa_rig_device->guid = 0;
	efa_rig_device->attr.max_sge = 2;
	efa_rig_device->attr.max_srq = 0;
	efa_rig_device->attr.atomic_cap = IBV_ATOMIC_NONE;
	efa_rig_device->port[0].active_mtu = IBV_MTU_4096;
	efa_rig_device->port[0].gid_tbl_len = 1;
	efa_rig_device->no_rc_errno = EOPNOTSUPP;
	efa_rig_device->max_inline = 32;
	efa_rig_device->port[0].link_layer = IBV_LINK_LAYER_UNSPECIFIED;
	efa_rig_device->port[0].max_msg_sz = EFA_RIG_MTU;
	mock_add_gid(efa_rig_device, 1, 0, IBV_GID_TYPE_IB, "fe80::4711", 0);
}

struct vrb_device *efa_rig_snapshot(void)
{
	if (vrb_snapshot_take(&snapshot))
		return NULL;
	return STAILQ_FIRST(&snapshot);
}

void efa_rig_close(void)
{
	vrb_snapshot_free(&snapshot);
	STAILQ_INIT(&snapshot);
	vrb_known_forget();
	vrb_snapshot_forget();
}
