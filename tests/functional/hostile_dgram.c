/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stranger that knows an endpoint's name sends it datagrams of all sizes, with right and wrong
 * keys, while another endpoint sends, too. The pair receives each other's datagrams intact and with
 * their source. A datagram that does not fit a receive costs the receives behind it, as documented;
 * afterward nothing is lost.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
#include "steps.h"

enum {
	RECVS = 48,
	SENDS = 16,
	STRAYS = 40,
	FITTING = 4,
	ROUNDS = 6,
	LEN = 900,
	MAGIC = 0x77,
	IDLE_MS = 200
};

struct stranger {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_mr *mr;
	uint32_t qpn, qkey, mtu; /* of the destination */
	uint8_t buf[8192];
};

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
		.cap = { .max_send_wr = SENDS,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
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
static void open_stranger(struct stranger *s, const struct name *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **dev = list;
	struct ibv_ah_attr attr = { .is_global = 1, .grh.hop_limit = 64 };
	struct ibv_port_attr port;
	struct ibv_gid_entry gid;

	while (*dev && strcmp(need_env("WEFT_DEVICE"), ibv_get_device_name(*dev)))
		dev++;
	CHECK(*dev && (s->ctx = ibv_open_device(*dev)));
	ibv_free_device_list(list);
	gid = find_gid(s->ctx, name->bytes);
	EQUAL(ibv_query_port(s->ctx, (uint8_t)gid.port_num, &port), 0);
	s->mtu = 128u << port.active_mtu;
	CHECK(s->pd = ibv_alloc_pd(s->ctx));
	CHECK(s->cq = ibv_create_cq(s->ctx, 2 * SENDS, NULL, NULL, 0));
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

/* Sends one datagram, with or without immediate data, with the right key or not. */
static void stray(struct stranger *s, size_t len, unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, (uint32_t)len, s->mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
		.opcode = i % 3 ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = i,
		.wr.ud = { s->ah, s->qpn, i % 7 ? s->qkey : s->qkey + 1 },
	};
	uint64_t limit = deadline();
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	memset(s->buf, MAGIC, sizeof(s->buf));
	EQUAL(ibv_post_send(s->qp, &wr, &bad), 0);
	while (!ibv_poll_cq(s->cq, 1, &wc))
		pause_until(limit, "the stranger's send");
}

/* Checks buf: it is from the other end, with its number, or from a stranger. */
static bool is_stray(const uint8_t *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (bytes[i] != MAGIC)
			return false;
	return true;
}

struct outcome {
	unsigned int strays, whole, failed;
};

static bool posted[RECVS]; /* and not completed */

/* Takes datagrams until no more arrive. */
static void step_take(struct end *end, void *arg)
{
	struct outcome *outcome = arg;
	struct fi_cq_err_entry error;
	struct fi_cq_tagged_entry entry;
	uint64_t limit = now_ms() + IDLE_MS;
	fi_addr_t src;
	uint8_t *at;
	ssize_t ret;

	while (now_ms() < limit) {
		ret = fi_cq_readfrom(end->rxcq, &entry, 1, &src);
		if (ret == -FI_EAGAIN)
			continue;
		limit = now_ms() + IDLE_MS;
		if (ret == -FI_EAVAIL) {
			error = (struct fi_cq_err_entry){ 0 };
			RETURNS(fi_cq_readerr(end->rxcq, &error, 0), 1);
			outcome->failed++;
			posted[(uintptr_t)error.op_context] = false;
			continue;
		}
		EQUAL(ret, 1);
		posted[(uintptr_t)entry.op_context] = false;
		at = end->buf + (uintptr_t)entry.op_context * 1024;
		if (src == end->to) {
			EQUAL(entry.len, LEN);
			CHECK_FILLED(at, LEN, 5);
			outcome->whole++;
		} else {
			EQUAL(src, FI_ADDR_NOTAVAIL);
			CHECK(is_stray(at, entry.len));
			outcome->strays++;
		}
	}
}

static void step_post(struct end *end, void *arg)
{
	uintptr_t i;

	(void)arg;
	for (i = 0; i < RECVS; i++) {
		if (posted[i])
			continue;
		memset(end->buf + i * 1024, 0, 1024);
		OK(fi_recv(end->ep, end->buf + i * 1024, 1024, end->desc, FI_ADDR_UNSPEC,
			   (void *)i));
		posted[i] = true;
	}
}

static void send_some(struct pair *pair, unsigned int count)
{
	struct fi_cq_tagged_entry entry;
	uint64_t limit = deadline();

	fill(pair->client.buf, LEN, 5);
	for (; count--;) {
		while (AGAIN(limit, fi_send(pair->client.ep, pair->client.buf, LEN,
					    pair->client.desc, pair->client.to, NULL)))
			;
		wait_comp(pair->client.cq, &entry);
	}
}

static void step_name(struct end *end, void *arg)
{
	end_name(end, arg);
}

static void test(struct pair *pair)
{
	static const size_t sizes[] = { 0, 1, 900, 1024, 1025, 1500, 4096 }; /* 1024 fits */
	struct outcome outcome, all = { 0 };
	struct stranger s = { 0 };
	unsigned int round, i;
	struct name name;

	at(&pair->server, step_name, &name, sizeof(name));
	EQUAL(name.len, 32);
	open_stranger(&s, &name);
	for (round = 0; round < ROUNDS; round++) {
		at(&pair->server, step_post, NULL, 0);
		for (i = 0; i < STRAYS; i++) {
			size_t len = sizes[i % (round & 1 ? ARRAY_SIZE(sizes) : FITTING)];

			stray(&s, len > s.mtu ? s.mtu : len, i);
			if (i % 8 == 0)
				send_some(pair, 1);
		}
		outcome = (struct outcome){ 0 };
		at(&pair->server, step_take, &outcome, sizeof(outcome));
		/* While there are receives for all. */
		if (!(round & 1))
			EQUAL(outcome.whole, (STRAYS + 7) / 8);
		all.strays += outcome.strays;
		all.whole += outcome.whole;
		all.failed += outcome.failed;
	}
	printf("%u strays, %u of %u datagrams of the pair, %u failures\n", all.strays, all.whole,
	       ROUNDS * ((STRAYS + 7) / 8), all.failed);
	CHECK(all.whole && all.strays);
	/* Without the attack everything works as before. */
	at(&pair->server, step_post, NULL, 0);
	send_some(pair, 10);
	outcome = (struct outcome){ 0 };
	at(&pair->server, step_take, &outcome, sizeof(outcome));
	EQUAL(outcome.whole, 10);
	EQUAL(outcome.strays, 0);
	close_stranger(&s);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .type = FI_EP_DGRAM, .rx_size = 64 };

	return run_pair(argc, argv, &setup, test);
}
