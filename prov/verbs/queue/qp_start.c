/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Starting queue pairs for datagrams. */
#include "prov/verbs/dgram/ud_port.h"
#include "qp_start.h"

int vrb_qp_to_rts(const struct vrb_ud_port *port, struct ibv_qp *qp, uint32_t qkey, bool retries)
{
	const struct {
		enum ibv_qp_state state;
		int mask;
	} steps[] = {
		{ IBV_QPS_RESET, IBV_QP_STATE },
		{ IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY },
		{ IBV_QPS_RTR, IBV_QP_STATE },
		{ IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN | (retries ? IBV_QP_RNR_RETRY : 0) },
	};
	struct ibv_qp_attr attr = {
		.pkey_index = port->pkey_index,
		.port_num = port->num,
		.qkey = qkey,
		.rnr_retry = 1,
	};
	size_t i;
	int err = 0;

	for (i = qp->state == IBV_QPS_RESET; !err && i < sizeof(steps) / sizeof(steps[0]); i++) {
		attr.qp_state = steps[i].state;
		err = ibv_modify_qp(qp, &attr, steps[i].mask);
	}
	return err;
}
