/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints with counters on the fake device. */
#include "unit.h"

#include "cntr_rig.h"

static const uint64_t kinds[CNT_KINDS] = { FI_SEND, FI_RECV, FI_READ, FI_WRITE };
char cnt_context[64], cnt_word[8];

struct fid_cntr *cnt_cntrs[CNT_KINDS];

struct fid_cntr *cnt_open_cntr(struct rig *rig, enum fi_wait_obj obj)
{
	struct fi_cntr_attr attr = { .wait_obj = obj };
	struct fid_cntr *cntr;

	rig_open_domain(rig);
	assert_int_equal(fi_cntr_open(rig->domain, &attr, &cntr, NULL), 0);
	return cntr;
}

void cnt_open_cntrs(struct rig *rig)
{
	int i;

	for (i = 0; i < CNT_KINDS; i++)
		cnt_cntrs[i] = cnt_open_cntr(rig, FI_WAIT_FD);
}

void cnt_bind_cntrs(struct fid_ep *ep)
{
	int i;

	for (i = 0; i < CNT_KINDS; i++)
		assert_int_equal(fi_ep_bind(ep, &cnt_cntrs[i]->fid, kinds[i]), 0);
}

void cnt_ready(struct rig *rig)
{
	assert_int_equal(fi_enable(rig->ep), 0);
	vrb_ep_ready(vrb_ep(rig->ep));
}

/* An endpoint with both CQs and all counters. */
void cnt_open_all(struct rig *rig)
{
	rig_open_ep(rig);
	cnt_open_cntrs(rig);
	cnt_bind_cntrs(rig->ep);
	cnt_ready(rig);
}

/* The same without completion queues. */
void cnt_open_bare(struct rig *rig)
{
	cnt_open_cntrs(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	cnt_bind_cntrs(rig->ep);
	cnt_ready(rig);
}

void cnt_close_all(struct rig *rig)
{
	int i;

	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	for (i = 0; i < CNT_KINDS; i++)
		assert_int_equal(fi_close(&cnt_cntrs[i]->fid), 0);
}

void cnt_expect(uint64_t tx, uint64_t rx, uint64_t rd, uint64_t wr)
{
	assert_int_equal(fi_cntr_read(cnt_cntrs[CNT_TX]), tx);
	assert_int_equal(fi_cntr_read(cnt_cntrs[CNT_RX]), rx);
	assert_int_equal(fi_cntr_read(cnt_cntrs[CNT_RD]), rd);
	assert_int_equal(fi_cntr_read(cnt_cntrs[CNT_WR]), wr);
}

void cnt_complete(struct rig *rig, unsigned int n)
{
	fake_complete_sends(rig_qp(rig), n, IBV_WC_SUCCESS);
}

void cnt_post_recv(struct rig *rig, int i)
{
	assert_int_equal(fi_recv(rig->ep, cnt_word, 8, NULL, 0, &cnt_context[i]), 0);
}

void cnt_complete_recv(struct rig *rig, const uint32_t *imm, enum ibv_wc_opcode opcode)
{
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, opcode, 8, imm);
}
