/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small messages, injected or not, on a device whose driver sends only the first segment of inline
 * data, as irdma does before rdma-core 44.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include "rdm.h"

enum { LONGEST = 300, VENDOR_INTEL = 0x8086 };

static int (*real_post)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);

static int post_first(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct ibv_send_wr one;
	int ret = 0;

	for (; wr && !ret; wr = wr->next) {
		one = *wr;
		one.next = NULL;
		if (one.send_flags & IBV_SEND_INLINE && one.num_sge > 1)
			one.num_sge = 1;
		ret = real_post(qp, &one, bad);
		*bad = wr;
	}
	return ret;
}

/* The library calls these two instead of those of libibverbs. */
#pragma GCC visibility push(default)

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*real)(struct ibv_device *);
	struct ibv_context *ctx;

	*(void **)&real = dlvsym(RTLD_NEXT, "ibv_open_device", "IBVERBS_1.1");
	ctx = real(device);
	if (ctx) {
		real_post = ctx->ops.post_send;
		ctx->ops.post_send = post_first;
	}
	return ctx;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	int (*real)(struct ibv_context *, struct ibv_device_attr *), ret;

	*(void **)&real = dlvsym(RTLD_NEXT, "ibv_query_device", "IBVERBS_1.1");
	ret = real(ctx, attr);
	attr->vendor_id = VENDOR_INTEL;
	return ret;
}

#pragma GCC visibility pop

static uint8_t out[LONGEST], in[LONGEST];

static void set_out(size_t len)
{
	memset(in, 0, sizeof(in));
	fill(out, len, (unsigned int)len);
}

static void expect(struct rdm_pair *pair, size_t len)
{
	CHECK(rdm_wait(pair, 1).len == len);
	CHECK_FILLED(in, len, (unsigned int)len);
}

static void inject(struct rdm_pair *pair, size_t len)
{
	set_out(len);
	OK(fi_recv(pair->side[1].ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, NULL));
	while (fi_inject(pair->side[0].ep, out, len, pair->side[0].peer))
		fi_cq_read(pair->side[0].cq, NULL, 0);
	expect(pair, len);
	set_out(len);
	OK(fi_trecv(pair->side[1].ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 0, ~0ULL, NULL));
	while (fi_tinject(pair->side[0].ep, out, len, pair->side[0].peer, 1))
		fi_cq_read(pair->side[0].cq, NULL, 0);
	expect(pair, len);
}

static void send_data(struct rdm_pair *pair, size_t len)
{
	set_out(len);
	OK(fi_recv(pair->side[1].ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, NULL));
	OK(fi_senddata(pair->side[0].ep, out, len, NULL, len, pair->side[0].peer, NULL));
	rdm_wait(pair, 0);
	expect(pair, len);
}

static void test(void *transport)
{
	struct rdm_pair pair;
	size_t inject_size;

	setenv("FI_VERBS_RDM_TRANSPORT", transport, 1);

	rdm_open(&pair, 0);
	CHECK(real_post);
	inject_size = pair.info->tx_attr->inject_size;
	for (size_t len = 0; len < LONGEST; len += len < 20 ? 1 : 10) {
		rdm_exchange(&pair, out, in, len, (unsigned int)len);
		send_data(&pair, len);
		if (len <= inject_size)
			inject(&pair, len);
	}
	rdm_close(&pair);
}

int main(void)
{
	static char *transports[] = { "rc", "ud", "auto" };
	int failed = 0;

	for (int i = 0; i < 3; i++)
		failed |= run_apart(transports[i], test, transports[i]);
	return failed;
}
