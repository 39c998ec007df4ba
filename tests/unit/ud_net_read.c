/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads by the devices of the fake network: each takes a while, and they complete in any order; and
 * packets to hosts that are down.
 */
#include "ud_net.h"

#include <stdlib.h>
#include <string.h>
#include "ud_net_int.h"

enum { READS = 256, SPREAD_US = 500 };

struct read {
	bool used;
	uint64_t due, id, remote;
	unsigned int from, to; /* nodes */
	uint32_t key;
	struct ibv_sge sge;
};

static struct ibv_qp_ex interfaces[UD_NODES];
static struct read reads[READS];
static struct read *next;
static struct ibv_wc held[VRB_UD_SQ];
static unsigned int holders[VRB_UD_SQ], held_count;

static void must(bool truth)
{
	if (!truth)
		abort();
}

static void start(struct ibv_qp_ex *qp)
{
	size_t i;

	for (i = 0; i < READS && reads[i].used; i++)
		;
	must(i < READS);
	next = &reads[i];
	*next = (struct read){ .from = (unsigned int)(qp - interfaces) };
}

static void rdma_read(struct ibv_qp_ex *qp, uint32_t key, uint64_t remote)
{
	must(qp->wr_flags == IBV_SEND_SIGNALED);
	next->id = qp->wr_id;
	next->key = key;
	next->remote = remote;
}

static void set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t len)
{
	(void)qp;
	must(len && len <= ud_net_params()->max_read);
	next->sge = (struct ibv_sge){ .addr = addr, .length = len, .lkey = lkey };
}

static void set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	(void)qp;
	next->to = ah->handle;
	must(next->to < UD_NODES && ud_net_is_reached(next->to, qpn, qkey));
}

static int complete(struct ibv_qp_ex *qp)
{
	(void)qp;
	if (ud_net_params()->no_reads)
		return ud_net_params()->no_reads;
	next->used = true;
	next->due = ud_net_now() + 5 + ud_net_any(SPREAD_US);
	return 0;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct ibv_qp_ex *interface = &interfaces[qp->qp_num - ud_net_qpn(0)];

	interface->wr_start = start;
	interface->wr_rdma_read = rdma_read;
	interface->wr_set_sge = set_sge;
	interface->wr_set_ud_addr = set_ud_addr;
	interface->wr_complete = complete;
	return interface;
}

static void carry_out(struct read *read)
{
	struct ibv_wc wc = { .wr_id = read->id,
			     .opcode = IBV_WC_RDMA_READ,
			     .status = ud_net_params()->read_error,
			     .vendor_err = ud_net_params()->vendor_err,
			     .qp_num = ud_net_qpn(read->from) };

	read->used = false;
	if (!wc.status &&
	    !vrb_mr_table_copy(&ud_nodes[read->to].domain, read->key, read->remote,
			       read->sge.length, false, (void *)(uintptr_t)read->sge.addr))
		wc.status = IBV_WC_REM_ACCESS_ERR;
	ud_net_complete(read->from, &wc);
}

/* The host is back then, and its receiver not ready. */
int ud_net_hold(unsigned int node, const struct ibv_wc *wc)
{
	must(held_count < VRB_UD_SQ);
	holders[held_count] = node;
	held[held_count] = *wc;
	held[held_count++].status = IBV_WC_RNR_RETRY_EXC_ERR;
	return 0;
}

void ud_net_read_begin(void)
{
	held_count = 0;
	memset(reads, 0, sizeof(reads));
}

void ud_net_read_pass(void)
{
	size_t i;

	for (i = 0; i < READS && !ud_net_params()->reads_wait; i++)
		if (reads[i].used && reads[i].due <= ud_net_now())
			carry_out(&reads[i]);
	while (!ud_net_params()->down && held_count) {
		held_count--;
		ud_net_complete(holders[held_count], &held[held_count]);
	}
}

void ud_net_read_flush(unsigned int node)
{
	struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR, .qp_num = ud_net_qpn(node) };
	size_t i;

	for (i = 0; i < READS; i++) {
		if (!reads[i].used || reads[i].from != node)
			continue;
		reads[i].used = false;
		wc.wr_id = reads[i].id;
		ud_net_complete(node, &wc);
	}
}

int __wrap_sched_yield(void);

bool ud_net_yields;

/* Time passes while an endpoint that closes waits. Sanitizers yield at the end, too. */
int __wrap_sched_yield(void)
{
	if (ud_net_yields)
		ud_net_pass(100);
	return 0;
}

unsigned int ud_net_reading(void)
{
	unsigned int n = 0;
	size_t i;

	for (i = 0; i < READS; i++)
		n += reads[i].used;
	return n;
}
