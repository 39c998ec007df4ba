/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stranger, a queue pair that does not belong to the library: what it sends with a wrong key does
 * not arrive; what it sends with the right key arrives from an unknown source. Neither disturbs the
 * endpoint.
 */
#include <arpa/inet.h>
#include <string.h>
#include <infiniband/verbs.h>
#include "steps.h"

struct stranger {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint32_t qpn, qkey; /* of the destination */
	uint8_t buf[64];
};

/* The port that has the GID, and its index. */
static struct ibv_gid_entry find_gid(struct ibv_context *ctx, const void *gid)
{
	struct ibv_gid_entry entries[64];
	ssize_t i, n = ibv_query_gid_table(ctx, entries, ARRAY_SIZE(entries), 0);

	for (i = n - 1; i >= 0; i--) /* RoCE v2 comes after v1 */
		if (!memcmp(&entries[i].gid, gid, sizeof(entries[i].gid)))
			return entries[i];
	FAIL("the device does not have the GID of the endpoint");
}

static void make_qp(struct stranger *s, uint8_t port)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s->cq,
		.recv_cq = s->cq,
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 8, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = port, .qkey = 1 };

	CHECK(s->qp = ibv_create_qp(s->pd, &init));
	EQUAL(ibv_modify_qp(s->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
	      0);
	attr.qp_state = IBV_QPS_RTR;
	EQUAL(ibv_modify_qp(s->qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	EQUAL(ibv_modify_qp(s->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

/* A name consists of the GID, the number of the queue pair and its key, in network order. */
static void open_stranger(struct stranger *s, const char *device, const struct name *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **dev = list;
	struct ibv_ah_attr attr = { .is_global = 1, .grh.hop_limit = 64 };
	struct ibv_gid_entry gid;
	size_t len = strlen(ibv_get_device_name(*dev));

	while (*dev && strncmp(device, ibv_get_device_name(*dev), len))
		dev++;
	CHECK(*dev && (s->ctx = ibv_open_device(*dev)));
	ibv_free_device_list(list);
	gid = find_gid(s->ctx, name->bytes);
	CHECK(s->pd = ibv_alloc_pd(s->ctx));
	CHECK(s->cq = ibv_create_cq(s->ctx, 8, NULL, NULL, 0));
	make_qp(s, (uint8_t)gid.port_num);
	attr.port_num = (uint8_t)gid.port_num;
	attr.grh.sgid_index = (uint8_t)gid.gid_index;
	memcpy(&attr.grh.dgid, name->bytes, 16);
	CHECK(s->ah = ibv_create_ah(s->pd, &attr));
	CHECK(s->mr = ibv_reg_mr(s->pd, s->buf, sizeof(s->buf), 0));
	memcpy(&s->qpn, name->bytes + 16, 4);
	memcpy(&s->qkey, name->bytes + 20, 4);
	s->qpn = ntohl(s->qpn);
	s->qkey = ntohl(s->qkey);
}

static void close_stranger(struct stranger *s)
{
	EQUAL(ibv_destroy_qp(s->qp), 0);
	EQUAL(ibv_destroy_ah(s->ah), 0);
	EQUAL(ibv_dereg_mr(s->mr), 0);
	EQUAL(ibv_destroy_cq(s->cq), 0);
	EQUAL(ibv_dealloc_pd(s->pd), 0);
	ibv_close_device(s->ctx);
}

static void raw_send(struct stranger *s, uint32_t qpn, uint32_t qkey)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, sizeof(s->buf), s->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { s->ah, qpn, qkey } };
	uint64_t limit = deadline();
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	EQUAL(ibv_post_send(s->qp, &wr, &bad), 0);
	while (!ibv_poll_cq(s->cq, 1, &wc))
		pause_until(limit, "the stranger's send");
	EQUAL(wc.status, IBV_WC_SUCCESS);
}

static void step_source(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	uint64_t limit = deadline();
	fi_addr_t src = 0;

	while (fi_cq_readfrom(end->rxcq, &entry, 1, &src) == -FI_EAGAIN)
		pause_until(limit, "a datagram");
	EQUAL(src, FI_ADDR_NOTAVAIL);
	EQUAL(entry.len, *(uint64_t *)arg);
}

static void step_name(struct end *end, void *arg)
{
	end_name(end, arg);
}

static void test(struct pair *pair)
{
	struct stranger s = { 0 };
	struct name name;
	uint64_t len = sizeof(s.buf);
	int ms = 200;

	at(&pair->server, step_name, &name, sizeof(name));
	EQUAL(name.len, 32);
	open_stranger(&s, pair->client.info->domain_attr->name, &name);
	at_part(&pair->server, post_recv, 0, 100, 1);
	raw_send(&s, s.qpn, s.qkey ^ 1);
	raw_send(&s, s.qpn, 0x11111111);
	raw_send(&s, (s.qpn + 0x1234) & 0xffffff, s.qkey); /* to nobody */
	at(&pair->server, no_recv, &ms, sizeof(ms));
	raw_send(&s, s.qpn, s.qkey);
	at(&pair->server, step_source, &len, sizeof(len));
	close_stranger(&s);

	at_part(&pair->server, post_recv, 0, 100, 1);
	at_part(&pair->client, fill_part, 0, 100, 1);
	at_part(&pair->client, post_send, 0, 100, 1);
	at_part(&pair->server, reap_recv, 0, 100, 1);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .type = FI_EP_DGRAM, .addr_format = FI_ADDR_IB_UD };

	return run_pair(argc, argv, &setup, test);
}
