/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Closing in any order: a shared receive context with endpoints is busy. An endpoint that closes
 * discards its unexpected messages and leaves the receives, including one in progress; another
 * endpoint, and another address vector, may follow.
 */
#include "rdm_srx.h"

#include <stdlib.h>

enum { LEN = 4000000 };

static uint8_t out[LEN], in[2][LEN];
static struct srx_scene scene;

static void ep_close(int which)
{
	OK(fi_close(&scene.ep[which]->fid));
	scene.ep[which] = NULL;
}

/* Messages that arrived at A are discarded, and those that arrived at B remain. */
static void messages_go(void)
{
	struct fi_cq_tagged_entry entry;

	fill(out, 64, 1);
	srx_send(&scene, SRX_X, SRX_A, out, 64, 1);
	srx_send(&scene, SRX_X, SRX_B, out, 64, 1);
	ep_close(SRX_A);
	OK(fi_trecv(scene.srx, in[0], 64, NULL, FI_ADDR_UNSPEC, 1, 0, in[0]));
	CHECK(srx_wait(&scene, SRX_B).op_context == in[0]);
	OK(fi_trecv(scene.srx, in[0], 64, NULL, FI_ADDR_UNSPEC, 1, 0, in[0]));
	RETURNS(fi_cq_read(scene.cq[SRX_B], &entry, 1), -FI_EAGAIN);
	srx_add(&scene, SRX_A);
	srx_send(&scene, SRX_X, SRX_A, out, 64, 1);
	CHECK(srx_wait(&scene, SRX_A).op_context == in[0]);
}

/*
 * A long message to A is in flight, and its sender makes no progress: its receive completes with an
 * error.
 */
static void one_in_progress(void)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;
	int i;

	OK(fi_trecv(scene.srx, in[0], LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in[0]));
	OK(fi_trecv(scene.srx, in[1], LEN, NULL, FI_ADDR_UNSPEC, 2, 0, in[1]));
	OK(fi_tsend(scene.ep[SRX_X], out, LEN, NULL, scene.addr[SRX_A], 1, NULL));
	for (i = 0; i < 3; i++) {
		sleep_ms(20);
		RETURNS(fi_cq_read(scene.cq[SRX_A], NULL, 0), -FI_EAGAIN);
	}
	ep_close(SRX_A);
	RETURNS(fi_cq_read(scene.cq[SRX_A], &entry, 1), -FI_EAVAIL);
	RETURNS(fi_cq_readerr(scene.cq[SRX_A], &error, 0), 1);
	CHECK(error.op_context == in[0]);
	EQUAL(error.err, FI_ECANCELED);
	/* The device may have taken all of it before the endpoint closed. */
	while ((ret = fi_cq_read(scene.cq[SRX_X], &entry, 1)) == -FI_EAGAIN)
		pause_until(end, "the end of the message");
	if (ret == -FI_EAVAIL)
		RETURNS(fi_cq_readerr(scene.cq[SRX_X], &error, 0), 1);
	fill(out, 64, 2);
	srx_send(&scene, SRX_Y, SRX_B, out, 64, 2);
	CHECK(srx_wait(&scene, SRX_B).op_context == in[1]);
	CHECK_FILLED(in[1], 64, 2);
}

/* Without endpoints it accepts receives, and endpoints with another address vector. */
static void vector_changes(void)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fid_av *before = scene.av;

	OK(fi_trecv(scene.srx, in[0], 64, NULL, FI_ADDR_UNSPEC, 3, 0, in[0]));
	RETURNS(fi_close(&scene.srx->fid), -FI_EBUSY);
	RETURNS(fi_close(&scene.domain->fid), -FI_EBUSY);
	ep_close(SRX_B);
	ep_close(SRX_X);
	ep_close(SRX_Y);
	OK(fi_close(&before->fid));
	OK(fi_av_open(scene.domain, &attr, &scene.av, NULL));
	OK(fi_trecv(scene.srx, in[1], 64, NULL, FI_ADDR_UNSPEC, 3, 0, in[1]));
	srx_add(&scene, SRX_B);
	srx_add(&scene, SRX_X);
	fill(out, 64, 3);
	srx_send(&scene, SRX_X, SRX_B, out, 64, 3);
	CHECK(srx_wait(&scene, SRX_B).op_context == in[0]);
	srx_send(&scene, SRX_X, SRX_B, out, 64, 3);
	CHECK(srx_wait(&scene, SRX_B).op_context == in[1]);
	/* With a posted receive. */
	OK(fi_trecv(scene.srx, in[0], 64, NULL, FI_ADDR_UNSPEC, 3, 0, in[0]));
}

static void test(void)
{
	srx_open(&scene, FI_MSG | FI_TAGGED);
	messages_go();
	one_in_progress();
	vector_changes();
	srx_close(&scene);
}

/* In more packets than are sent without progress of the sender. */
int main(void)
{
	setenv("FI_VERBS_RDM_SEGMENTED_SIZE", "8000000", 1);
	setenv("FI_VERBS_RDM_BUFFER_SIZE", "2048", 1);
	return run_test(test);
}
