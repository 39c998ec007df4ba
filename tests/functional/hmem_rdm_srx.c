/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A shared receive context of reliable datagrams with buffers in device memory: of each size,
 * before the message and after it, truncated, and several messages to a buffer.
 */
#include <string.h>
#include "gpu.h"
#include "rdm_srx.h"

enum { SIZE = 1 << 20 };

static uint8_t *from, *to;

static void exchange(struct srx_scene *scene, int which, size_t len, uint64_t tag, bool late)
{
	fill(from, len, (unsigned int)tag);
	mem_set(to, 0, len);
	if (!late)
		OK(fi_trecv(scene->srx, to, len, NULL, FI_ADDR_UNSPEC, tag, 0, NULL));
	OK(fi_tsend(scene->ep[SRX_X], from, len, NULL, scene->addr[which], tag, NULL));
	if (late) {
		for (uint64_t end = now_ms() + 20; now_ms() < end;)
			for (int i = 0; i < SRX_EPS; i++)
				fi_cq_read(scene->cq[i], NULL, 0);
		OK(fi_trecv(scene->srx, to, len, NULL, FI_ADDR_UNSPEC, tag, 0, NULL));
	}
	EQUAL(srx_wait(scene, which).len, len);
	CHECK_FILLED(to, len, (unsigned int)tag);
	srx_wait(scene, SRX_X);
}

static void test_sizes(struct srx_scene *scene)
{
	static const size_t sizes[] = { 1, 64, 5000, 70000, SIZE };
	uint64_t tag = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		tag++;
		exchange(scene, i % 2 ? SRX_B : SRX_A, sizes[i], tag, false);
		tag++;
		exchange(scene, i % 2 ? SRX_A : SRX_B, sizes[i], tag, true);
	}
}

static void test_truncated(struct srx_scene *scene)
{
	struct fi_cq_err_entry error;

	fill(from, 1000, 4);
	OK(fi_recv(scene->srx, to, 100, NULL, FI_ADDR_UNSPEC, NULL));
	OK(fi_send(scene->ep[SRX_Y], from, 1000, NULL, scene->addr[SRX_A], NULL));
	error = srx_wait_error(scene, SRX_A);
	EQUAL(error.err, FI_ETRUNC);
	EQUAL(error.olen, 900);
	CHECK_FILLED(to, 100, 4);
	srx_wait(scene, SRX_Y);
}

static void test_multi(struct srx_scene *scene)
{
	struct iovec iov = { to, 65536 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC };
	struct fi_cq_tagged_entry entry;
	unsigned int i;

	OK(fi_recvmsg(scene->srx, &msg, FI_MULTI_RECV));
	for (i = 1; i <= 4; i++) {
		fill(from, 700 * i, i);
		OK(fi_send(scene->ep[SRX_X], from, 700 * i, NULL, scene->addr[i % 2], NULL));
		entry = srx_wait(scene, (int)i % 2);
		EQUAL(entry.len, 700 * i);
		CHECK_FILLED(entry.buf, entry.len, i);
		srx_wait(scene, SRX_X);
	}
}

static void test(void)
{
	struct srx_scene scene;

	from = gpu->alloc(SIZE);
	to = gpu->alloc(SIZE);
	srx_open(&scene, FI_MSG | FI_TAGGED | FI_MULTI_RECV | FI_HMEM);
	CHECK(scene.info->caps & FI_HMEM);
	test_sizes(&scene);
	test_truncated(&scene);
	test_multi(&scene);
	srx_close(&scene);
	gpu->free(from);
	gpu->free(to);
}

int main(void)
{
	return run_test(test);
}
