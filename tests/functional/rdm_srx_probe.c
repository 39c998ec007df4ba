/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_PEEK, FI_CLAIM, FI_DISCARD and fi_cancel on a shared receive context: what they find at any of
 * its endpoints, and which queue gets the completion.
 */
#include "rdm_srx.h"

enum { LEN = 64 };

static uint8_t out[LEN], in[LEN];
static struct srx_scene scene;

static ssize_t ask(uint64_t tag, uint64_t flags)
{
	const struct iovec iov = { in, LEN };
	const struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = tag, .context = in
	};

	return fi_trecvmsg(scene.srx, &msg, flags);
}

/* If there is nothing, one of the endpoints reports it. */
static void not_found(void)
{
	struct fi_cq_err_entry error = { 0 };
	int which = SRX_A;

	OK(ask(1, FI_PEEK));
	if (fi_cq_read(scene.cq[SRX_A], NULL, 0) != -FI_EAVAIL)
		which = SRX_B;
	RETURNS(fi_cq_readerr(scene.cq[which], &error, 0), 1);
	EQUAL(error.err, FI_ENOMSG);
}

static void found_at(int which)
{
	struct fi_cq_tagged_entry entry;

	fill(out, LEN, (unsigned int)which);
	srx_send(&scene, SRX_X, which, out, LEN, 1);
	OK(ask(1, FI_PEEK | FI_CLAIM));
	entry = srx_wait(&scene, which);
	CHECK(entry.op_context == in);
	EQUAL(entry.len, LEN);
	OK(ask(1, FI_CLAIM));
	entry = srx_wait(&scene, which);
	CHECK(entry.op_context == in);
	CHECK_FILLED(in, LEN, (unsigned int)which);
	srx_send(&scene, SRX_X, which, out, LEN, 2);
	OK(ask(2, FI_PEEK | FI_DISCARD));
	EQUAL(srx_wait(&scene, which).tag, 2);
	not_found();
}

static void canceled(void)
{
	struct fi_cq_err_entry error = { 0 };
	int which = SRX_A;

	EQUAL(fi_rx_size_left(scene.srx), scene.info->rx_attr->size);
	OK(fi_trecv(scene.srx, in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, &in[1]));
	EQUAL(fi_rx_size_left(scene.srx), scene.info->rx_attr->size - 1);
	RETURNS(fi_cancel(&scene.ep[SRX_A]->fid, &in[1]), -FI_ENOENT);
	OK(fi_cancel(&scene.srx->fid, &in[1]));
	OK(fi_cancel(&scene.srx->fid, &in[1])); /* its failure has not been read */
	if (fi_cq_read(scene.cq[SRX_A], NULL, 0) != -FI_EAVAIL)
		which = SRX_B;
	RETURNS(fi_cq_readerr(scene.cq[which], &error, 0), 1);
	EQUAL(error.err, FI_ECANCELED);
	CHECK(error.op_context == &in[1]);
	RETURNS(fi_cancel(&scene.srx->fid, &in[1]), -FI_ENOENT);
}

/* An endpoint that only counts what it receives gets no report. */
static void counted(void)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_cntr *cntr;
	struct fid_ep *ep;

	OK(fi_cntr_open(scene.domain, &attr, &cntr, NULL));
	OK(fi_endpoint(scene.domain, scene.info, &ep, NULL));
	OK(fi_ep_bind(ep, &scene.cq[SRX_A]->fid, FI_TRANSMIT));
	OK(fi_ep_bind(ep, &cntr->fid, FI_RECV));
	OK(fi_ep_bind(ep, &scene.av->fid, 0));
	OK(fi_ep_bind(ep, &scene.srx->fid, 0));
	OK(fi_enable(ep));
	not_found();
	canceled();
	OK(fi_close(&ep->fid));
	OK(fi_close(&cntr->fid));
}

static void test(void)
{
	srx_open(&scene, FI_MSG | FI_TAGGED);
	not_found();
	found_at(SRX_A);
	found_at(SRX_B);
	canceled();
	counted();
	srx_close(&scene);
}

int main(void)
{
	return run_test(test);
}
