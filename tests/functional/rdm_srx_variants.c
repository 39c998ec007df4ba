/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Variants of FI_DIRECTED_RECV and FI_MULTI_RECV on a shared receive context: the sender that a
 * receive specifies may send to any endpoint, and a buffer for several tagged messages takes those
 * of all endpoints.
 */
#include "rdm_srx.h"

#include <string.h>

enum { LEN = 100, ROOM = 1000, LEAST = 700 };

static struct srx_scene scene;
static uint8_t out[LEN], in[ROOM], other[LEN];

static void tsend(int from, int to, uint64_t tag, unsigned int seed)
{
	fill(out, LEN, seed);
	srx_send(&scene, from, to, out, LEN, tag);
}

static void send(int from, int to)
{
	OK(fi_send(scene.ep[from], out, LEN, NULL, scene.addr[to], NULL));
	srx_wait(&scene, from);
}

/*
 * The message of X passes the receive for Y, at either endpoint; untagged messages pass no receive.
 */
static void test_tagged(int at)
{
	srx_open(&scene, FI_MSG | FI_TAGGED | FI_TAGGED_DIRECTED_RECV);
	CHECK(scene.info->caps & scene.info->rx_attr->caps & FI_TAGGED_DIRECTED_RECV);
	OK(fi_trecv(scene.srx, other, LEN, NULL, scene.addr[SRX_Y], 1, 0, other));
	OK(fi_trecv(scene.srx, in, LEN, NULL, scene.addr[SRX_X], 1, 0, in));
	tsend(SRX_X, at, 1, 1);
	CHECK(srx_wait(&scene, at).op_context == in);
	CHECK_FILLED(in, LEN, 1);
	tsend(SRX_Y, at, 1, 2);
	CHECK(srx_wait(&scene, at).op_context == other);
	CHECK_FILLED(other, LEN, 2);
	/* A message that arrives before its receive is found by its source, too. */
	tsend(SRX_X, at, 1, 3);
	tsend(SRX_Y, at, 1, 4);
	OK(fi_trecv(scene.srx, other, LEN, NULL, scene.addr[SRX_Y], 1, 0, other));
	CHECK(srx_wait(&scene, at).op_context == other);
	CHECK_FILLED(other, LEN, 4);
	OK(fi_trecv(scene.srx, in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in));
	CHECK(srx_wait(&scene, at).op_context == in);
	CHECK_FILLED(in, LEN, 3);
	OK(fi_recv(scene.srx, in, LEN, NULL, scene.addr[SRX_Y], in));
	send(SRX_X, at);
	CHECK(srx_wait(&scene, at).op_context == in);
	srx_close(&scene);
}

static void probe(uint64_t flags, fi_addr_t from, ssize_t wanted)
{
	struct iovec iov = { in, LEN };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = from, .tag = 1, .context = in
	};

	RETURNS(fi_trecvmsg(scene.srx, &msg, flags), wanted);
}

/* Each receive and each probe specifies its source. */
static void test_exact(void)
{
	srx_open(&scene, FI_MSG | FI_TAGGED | FI_EXACT_DIRECTED_RECV);
	CHECK(scene.info->caps & scene.info->rx_attr->caps & FI_EXACT_DIRECTED_RECV);
	RETURNS(fi_trecv(scene.srx, in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in), -FI_EINVAL);
	RETURNS(fi_recv(scene.srx, in, LEN, NULL, FI_ADDR_UNSPEC, in), -FI_EINVAL);
	probe(0, FI_ADDR_UNSPEC, -FI_EINVAL);
	probe(FI_PEEK, FI_ADDR_UNSPEC, -FI_EINVAL);
	OK(fi_recv(scene.srx, other, LEN, NULL, scene.addr[SRX_Y], other));
	OK(fi_recv(scene.srx, in, LEN, NULL, scene.addr[SRX_X], in));
	send(SRX_X, SRX_B);
	CHECK(srx_wait(&scene, SRX_B).op_context == in);
	send(SRX_Y, SRX_A);
	CHECK(srx_wait(&scene, SRX_A).op_context == other);
	tsend(SRX_X, SRX_A, 1, 5);
	tsend(SRX_Y, SRX_B, 1, 6);
	probe(FI_PEEK | FI_CLAIM, scene.addr[SRX_Y], 0);
	EQUAL(srx_wait(&scene, SRX_B).len, LEN);
	probe(FI_PEEK | FI_DISCARD, scene.addr[SRX_X], 0);
	EQUAL(srx_wait(&scene, SRX_A).len, LEN);
	probe(FI_CLAIM, scene.addr[SRX_Y], 0);
	CHECK(srx_wait(&scene, SRX_B).op_context == in);
	CHECK_FILLED(in, LEN, 6);
	srx_close(&scene);
}

/* The buffer takes matching messages until less than LEAST bytes remain. */
static void test_multi(void)
{
	struct iovec iov = { in, ROOM };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
				     .iov_count = 1,
				     .addr = FI_ADDR_UNSPEC,
				     .tag = 0x10,
				     .ignore = 0xf,
				     .context = in };
	struct fi_cq_tagged_entry entry;
	size_t least = LEAST;
	unsigned int i;

	srx_open(&scene, FI_MSG | FI_TAGGED | FI_TAGGED_MULTI_RECV);
	CHECK(scene.info->caps & scene.info->rx_attr->caps & FI_TAGGED_MULTI_RECV);
	OK(fi_setopt(&scene.srx->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least,
		     sizeof(least)));
	tsend(SRX_X, SRX_A, 0x11, 1); /* not expected yet */
	OK(fi_trecvmsg(scene.srx, &msg, FI_MULTI_RECV | FI_COMPLETION));
	OK(fi_trecv(scene.srx, other, LEN, NULL, FI_ADDR_UNSPEC, 0x21, 0, other));
	for (i = 1; i <= 4; i++) {
		if (i > 1)
			tsend(SRX_X + (int)i % 2, i % 2 ? SRX_A : SRX_B, 0x10 + i, i);
		entry = srx_wait(&scene, i % 2 ? SRX_A : SRX_B);
		CHECK(entry.op_context == in);
		EQUAL(entry.len, LEN);
		EQUAL(entry.tag, 0x10 + i);
		CHECK(entry.buf == in + (i - 1) * LEN);
		CHECK_FILLED(entry.buf, LEN, i);
		EQUAL(!!(entry.flags & FI_MULTI_RECV), i == 4);
	}
	tsend(SRX_Y, SRX_A, 0x21, 9);
	CHECK(srx_wait(&scene, SRX_A).op_context == other);
	srx_close(&scene);
}

/* Without the capability. */
static void test_without(void)
{
	struct iovec iov = { in, ROOM };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC };

	srx_open(&scene, FI_MSG | FI_TAGGED);
	RETURNS(fi_trecvmsg(scene.srx, &msg, FI_MULTI_RECV), -FI_EBADFLAGS);
	srx_close(&scene);
}

static void test(void)
{
	test_tagged(SRX_A);
	test_tagged(SRX_B);
	test_exact();
	test_multi();
	test_without();
}

int main(void)
{
	return run_test(test);
}
