/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receives of a shared context take messages of any size at any of its endpoints, in the order of
 * posting and of arrival, and complete on that endpoint's queue.
 */
#include "rdm_srx.h"

#include <string.h>

enum { LEN = 1000000, SMALL = 100 };

static uint8_t out[LEN], in[4][LEN];
static struct srx_scene scene;

static void is(struct fi_cq_tagged_entry entry, int n, size_t len, uint64_t flags)
{
	CHECK(entry.op_context == in[n]);
	EQUAL(entry.len, len);
	EQUAL(entry.flags, FI_RECV | flags);
}

/* Posted first: a receive for one tag, then one for any. */
static void expected(size_t len)
{
	OK(fi_trecv(scene.srx, in[0], len, NULL, FI_ADDR_UNSPEC, 7, 0, in[0]));
	OK(fi_trecv(scene.srx, in[1], len, NULL, FI_ADDR_UNSPEC, 0, ~0ULL, in[1]));
	OK(fi_recv(scene.srx, in[2], len, NULL, FI_ADDR_UNSPEC, in[2]));
	fill(out, len, 1);
	OK(fi_tsend(scene.ep[SRX_X], out, len, NULL, scene.addr[SRX_B], 8, NULL));
	is(srx_wait(&scene, SRX_B), 1, len, FI_TAGGED);
	CHECK_FILLED(in[1], len, 1);
	srx_wait(&scene, SRX_X);
	fill(out, len, 2);
	OK(fi_tsend(scene.ep[SRX_Y], out, len, NULL, scene.addr[SRX_A], 7, NULL));
	is(srx_wait(&scene, SRX_A), 0, len, FI_TAGGED);
	CHECK_FILLED(in[0], len, 2);
	srx_wait(&scene, SRX_Y);
	fill(out, len, 3);
	OK(fi_send(scene.ep[SRX_Y], out, len, NULL, scene.addr[SRX_B], NULL));
	is(srx_wait(&scene, SRX_B), 2, len, FI_MSG);
	CHECK_FILLED(in[2], len, 3);
	srx_wait(&scene, SRX_Y);
}

/* They arrive at two endpoints before the receives are posted. */
static void unexpected(void)
{
	struct fi_cq_tagged_entry entry;
	int i;

	for (i = 0; i < 4; i++) {
		fill(out, SMALL, 10 + (unsigned int)i);
		srx_send(&scene, SRX_X + i % 2, i / 2 ? SRX_A : SRX_B, out, SMALL, (uint64_t)i % 2);
	}
	/* Tag 0 went to B first, then to A; so did tag 1. */
	OK(fi_trecv(scene.srx, in[1], SMALL, NULL, FI_ADDR_UNSPEC, 1, 0, in[1]));
	is(srx_wait(&scene, SRX_B), 1, SMALL, FI_TAGGED);
	OK(fi_trecv(scene.srx, in[0], SMALL, NULL, FI_ADDR_UNSPEC, 0, 1, in[0]));
	is(srx_wait(&scene, SRX_B), 0, SMALL, FI_TAGGED);
	/* The two at A come from two peers, so either may be first. */
	OK(fi_trecv(scene.srx, in[2], SMALL, NULL, FI_ADDR_UNSPEC, 0, 0, in[2]));
	is(srx_wait(&scene, SRX_A), 2, SMALL, FI_TAGGED);
	OK(fi_trecv(scene.srx, in[3], SMALL, NULL, FI_ADDR_UNSPEC, 0, 1, in[3]));
	entry = srx_wait(&scene, SRX_A);
	is(entry, 3, SMALL, FI_TAGGED);
	EQUAL(entry.tag, 1);
	for (i = 0; i < 4; i++)
		CHECK_FILLED(in[i], SMALL, 10 + (unsigned int)i);
}

/* Long messages wait at two endpoints for their receives. */
static void announced(void)
{
	int i;

	fill(out, LEN, 20);
	OK(fi_tsend(scene.ep[SRX_X], out, LEN, NULL, scene.addr[SRX_A], 1, NULL));
	OK(fi_tsend(scene.ep[SRX_X], out, LEN, NULL, scene.addr[SRX_B], 2, NULL));
	for (i = 0; i < 100; i++) {
		RETURNS(fi_cq_read(scene.cq[SRX_A], NULL, 0), -FI_EAGAIN);
		RETURNS(fi_cq_read(scene.cq[SRX_B], NULL, 0), -FI_EAGAIN);
		fi_cq_read(scene.cq[SRX_X], NULL, 0);
	}
	OK(fi_trecv(scene.srx, in[2], LEN, NULL, FI_ADDR_UNSPEC, 2, 0, in[2]));
	OK(fi_trecv(scene.srx, in[1], LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in[1]));
	is(srx_wait(&scene, SRX_A), 1, LEN, FI_TAGGED);
	is(srx_wait(&scene, SRX_B), 2, LEN, FI_TAGGED);
	CHECK_FILLED(in[1], LEN, 20);
	CHECK_FILLED(in[2], LEN, 20);
	srx_wait(&scene, SRX_X);
	srx_wait(&scene, SRX_X);
}

/* One buffer takes messages of both endpoints. */
static void several(void)
{
	const struct iovec iov = { in[0], 4 * SMALL };
	const struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = in[0]
	};
	size_t least = SMALL;
	int i;

	OK(fi_setopt(&scene.srx->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least,
		     sizeof(least)));
	OK(fi_recvmsg(scene.srx, &msg, FI_MULTI_RECV));
	for (i = 0; i < 4; i++) {
		fill(out, SMALL, 30 + (unsigned int)i);
		OK(fi_send(scene.ep[SRX_X], out, SMALL, NULL, scene.addr[SRX_A + i % 2], NULL));
		is(srx_wait(&scene, SRX_A + i % 2), 0, SMALL,
		   FI_MSG | (i == 3 ? FI_MULTI_RECV : 0));
		srx_wait(&scene, SRX_X);
		CHECK_FILLED(in[0] + i * SMALL, SMALL, 30 + (unsigned int)i);
	}
}

static void test(void)
{
	srx_open(&scene, FI_MSG | FI_TAGGED | FI_MULTI_RECV);
	expected(SMALL);
	expected(LEN);
	unexpected();
	announced();
	several();
	srx_close(&scene);
}

int main(void)
{
	return run_test(test);
}
