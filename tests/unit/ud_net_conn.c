/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections between endpoints of the fake network, and their completions. */
#include "ud_net.h"

#include <stdlib.h>
#include "prov/verbs/cm/cm_wire.h"
#include "ud_net_int.h"

static void must(bool truth)
{
	if (!truth)
		abort();
}

struct ud_conn *ud_net_conn(unsigned int at)
{
	struct ud_conn *conn = calloc(1, sizeof(*conn));

	must(conn);
	conn->node = &ud_nodes[at];
	conn->rc.ep = &conn->node->rc.rdm;
	conn->rc.peer = &conn->node->peer.rdm;
	conn->rc.state = VRB_RC_CONN_UP;
	conn->rc.live = true;
	conn->rc.size = 64;
	must(!vrb_ud_conn_open(&conn->rc));
	must(vrb_rc_table_reserve(&conn->node->rc.by_qp));
	vrb_rc_table_add(&conn->node->rc.by_qp, &conn->rc);
	return conn;
}

static void tell(struct ud_conn *from, struct ud_conn *to, enum rdma_cm_event_type type)
{
	uint8_t wire[64];
	bool asks = type == RDMA_CM_EVENT_CONNECT_REQUEST;
	struct ibv_sa_path_rec path = { .mtu = ud_net_params()->path_mtu };
	struct rdma_cm_id asked = { .context = NULL }, id = { .route.path_rec = &path };
	struct rdma_cm_event event = { .event = type, .id = asks ? &asked : &id };

	/* Only who asks knows the path. */
	id.route.num_paths = path.mtu ? 1 : 0;
	from->rc.id = asks ? &id : NULL;
	/* SRD queue pairs have no connection manager: letters come from the queue pair itself. */
	event.param.ud.qp_num = ud_net_qpn((unsigned int)(from->node - ud_nodes));
	event.param.ud.private_data = wire;
	event.param.ud.private_data_len = vrb_ud_say(&from->rc, wire, vrb_cm_pack(wire, "a", 1));
	event.param.ud.ah_attr.is_global = 1;
	event.param.ud.ah_attr.grh.dgid.raw[15] = (uint8_t)(from->node - ud_nodes);
	if (ud_net_params()->srd)
		event.id = NULL;
	must(!vrb_ud_hear(&to->rc, &event));
	from->rc.id = NULL;
}

void ud_net_join(unsigned int from, unsigned int to, struct ud_conn **active,
		 struct ud_conn **passive)
{
	*active = ud_net_conn(from);
	*passive = ud_net_conn(to);
	tell(*active, *passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	tell(*passive, *active, RDMA_CM_EVENT_ESTABLISHED);
}

void ud_net_close(struct ud_conn *conn)
{
	vrb_ud_conn_close(&conn->rc);
	vrb_rc_table_remove(&conn->node->rc.by_qp, &conn->rc);
	free(conn);
}

void ud_net_forget(struct ud_conn *conn)
{
	conn->rc.ud->over = true;
	ud_net_close(conn);
}

int ud_net_post(struct ud_conn *conn, enum ibv_wr_opcode opcode, void *buf, uint32_t len,
		uint64_t remote, uint32_t key, uint64_t id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = len };
	struct ibv_send_wr *bad, wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = remote, .rkey = key },
	};

	return ibv_post_send(conn->rc.sq, &wr, &bad);
}

void ud_net_repost(unsigned int at, struct vrb_rdm_rx *rx)
{
	struct ibv_recv_wr *bad, *wr = &((struct vrb_rdm_rx_buf *)rx)->wr;

	wr->next = NULL;
	if (ibv_post_srq_recv(ud_nodes[at].rc.srq, wr, &bad))
		abort();
}

bool ud_net_poll(unsigned int at, struct ibv_wc *wc)
{
	return ibv_poll_cq(ud_nodes[at].rc.poll_cq, 1, wc) == 1;
}

void ud_net_watch(uint64_t us, unsigned int counts[IBV_WC_GENERAL_ERR])
{
	uint64_t passed;
	unsigned int i;
	struct ibv_wc wc;

	for (passed = 0; passed < us; passed += 200) {
		ud_net_pass(200);
		for (i = 0; i < UD_NODES; i++)
			while (ud_net_poll(i, &wc))
				counts[wc.status]++;
	}
}

void ud_net_send(struct ud_conn *conn)
{
	static uint8_t bytes[10];

	must(!ud_net_post(conn, IBV_WR_SEND, bytes, sizeof(bytes), 0, 0, 8));
}

void ud_net_exchange(struct ud_conn *active, struct ud_conn *passive)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	ud_net_send(active);
	ud_net_watch(3000, counts);
	ud_net_send(passive);
	ud_net_watch(3000, counts);
	must(counts[IBV_WC_SUCCESS] == 4);
}

uint64_t ud_net_seeds(void)
{
	const char *wanted = getenv("WEFT_SEEDS");

	return wanted ? strtoull(wanted, NULL, 10) : 60;
}
