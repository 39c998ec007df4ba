/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_OPT_CUDA_API_PERMITTED set to false on reliable datagrams: RMA of device memory and messages
 * of host memory call no GPU's library, messages of device memory are refused. It is refused where
 * an endpoint has what copies device memory.
 */
#include <unistd.h>
#include "hmem_rdm.h"

static const bool no, yes = true;

static int permit(struct fid_ep *ep, bool to)
{
	return fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &to, sizeof(to));
}

static void rma_hints(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_RMA | FI_HMEM;
}

static void tagged_hints(struct fi_info *hints)
{
	hints->caps = FI_TAGGED | FI_RMA | FI_HMEM;
}

static void no_rma_hints(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_HMEM;
}

static void forbid(struct rdm_pair *pair, int side)
{
	struct fid_ep *ep = pair->side[side].ep;
	bool permitted = true;
	size_t len = sizeof(permitted);

	OK(permit(ep, no));
	OK(permit(ep, yes));
	OK(permit(ep, no));
	OK(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &permitted, &len));
	CHECK(!permitted);
}

static void refused(struct rdm_pair *pair, int side)
{
	RETURNS(permit(pair->side[side].ep, no), -FI_EOPNOTSUPP);
	OK(permit(pair->side[side].ep, yes));
}

/* Registered as a dma-buf of the program, which takes no call either. */
static struct fid_mr *reg_dmabuf(struct hmem_pair *h, int side)
{
	struct fi_mr_dmabuf dmabuf = {
		.fd = gpu->export(h->buf[side], HMEM_SIZE),
		.len = HMEM_SIZE,
		.base_addr = h->buf[side],
	};
	struct fi_mr_attr attr = {
		.dmabuf = &dmabuf,
		.iov_count = 1,
		.access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
		.iface = gpu->iface(),
	};
	struct fid_mr *mr;

	OK(fi_mr_regattr(h->pair.domain, &attr, FI_MR_DMABUF, &mr));
	close(dmabuf.fd);
	return mr;
}

static void test_rma(struct hmem_pair *h, size_t len)
{
	struct rdm_side *side = &h->pair.side[0];
	struct fid_mr *mr[2] = { reg_dmabuf(h, 0), reg_dmabuf(h, 1) };
	uint64_t key = fi_mr_key(mr[1]), at = (uintptr_t)h->buf[1], calls;

	fill(h->buf[0], len, 3);
	calls = gpu->calls();
	OK(fi_write(side->ep, h->buf[0], len, fi_mr_desc(mr[0]), side->peer, at, key, NULL));
	rdm_wait(&h->pair, 0);
	OK(fi_read(side->ep, h->buf[0] + len, len, fi_mr_desc(mr[0]), side->peer, at, key, NULL));
	rdm_wait(&h->pair, 0);
	EQUAL(gpu->calls(), calls);
	CHECK_FILLED(h->buf[1], len, 3);
	CHECK_FILLED(h->buf[0] + len, len, 3);
	OK(fi_close(&mr[0]->fid));
	OK(fi_close(&mr[1]->fid));
}

/* In a packet, in several, by RDMA. */
static void test_host(struct hmem_pair *h, uint8_t *out, uint8_t *in, size_t len)
{
	struct rdm_side *from = &h->pair.side[0], *to = &h->pair.side[1];
	uint64_t calls;

	fill(out, len, 4);
	calls = gpu->calls();
	OK(fi_recv(to->ep, in, len, NULL, FI_ADDR_UNSPEC, NULL));
	OK(fi_send(from->ep, out, len, NULL, from->peer, NULL));
	rdm_wait(&h->pair, 1);
	rdm_wait(&h->pair, 0);
	EQUAL(gpu->calls(), calls);
	CHECK_FILLED(in, len, 4);
}

static void test_refused(struct hmem_pair *h, struct fid_ep *ep)
{
	struct rdm_side *side = &h->pair.side[0];
	uint64_t calls = gpu->calls(), at = (uintptr_t)h->buf[1], key = fi_mr_key(h->mr[1]);
	void *desc[2] = { NULL, h->desc[0] };
	struct iovec iov[2] = { { &at, 8 }, { h->buf[0], 8 } };
	struct fi_msg msg = { .msg_iov = iov, .desc = desc, .iov_count = 2, .addr = side->peer };
	struct fi_rma_iov remote = { at, 16, key };
	struct fi_msg_rma rma = { .msg_iov = iov,
				  .desc = desc,
				  .iov_count = 2,
				  .addr = side->peer,
				  .rma_iov = &remote,
				  .rma_iov_count = 1 };

	RETURNS(fi_send(ep, h->buf[0], 8, desc[1], side->peer, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_senddata(ep, h->buf[0], 8, desc[1], 1, side->peer, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_sendv(ep, iov, desc, 2, side->peer, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_sendmsg(ep, &msg, 0), -FI_EOPNOTSUPP);
	RETURNS(fi_recv(ep, h->buf[0], 8, desc[1], FI_ADDR_UNSPEC, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_recvv(ep, iov, desc, 2, FI_ADDR_UNSPEC, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_recvmsg(ep, &msg, 0), -FI_EOPNOTSUPP);
	RETURNS(fi_writemsg(ep, &rma, 0), -FI_EOPNOTSUPP);
	RETURNS(fi_writemsg(ep, &rma, FI_INJECT), -FI_EOPNOTSUPP);
	RETURNS(fi_readmsg(ep, &rma, 0), -FI_EOPNOTSUPP);
	EQUAL(gpu->calls(), calls);
}

static void test_alias(struct hmem_pair *h)
{
	struct fid_ep *ep = h->pair.side[0].ep, *alias = NULL;

	RETURNS(permit(ep, yes), -FI_EOPBADSTATE);
	OK(fi_ep_alias(ep, &alias, FI_TRANSMIT));
	RETURNS(permit(alias, yes), -FI_EOPNOTSUPP);
	test_refused(h, alias);
	OK(fi_close(&alias->fid));
}

static void test_forbidden(void)
{
	const struct rdm_change change = { .hints = rma_hints, .bind = forbid };
	static uint8_t out[1 << 20], in[1 << 20];
	struct hmem_pair h;

	hmem_open_with(&h, &change);
	test_rma(&h, 8);
	test_rma(&h, 100000);
	test_host(&h, out, in, 8);
	test_host(&h, out, in, 40000);
	test_host(&h, out, in, sizeof(out));
	test_refused(&h, h.pair.side[0].ep);
	test_alias(&h);
	hmem_close(&h);
}

static void test_not_possible(void (*hints)(struct fi_info *hints), int mr_mode)
{
	const struct rdm_change change = { .hints = hints, .bind = refused };
	struct rdm_pair pair;

	rdm_open_with(&pair, mr_mode | FI_MR_HMEM, &change);
	rdm_close(&pair);
}

static void test(void)
{
	test_forbidden();
	test_not_possible(tagged_hints, RDM_PROV_KEYS);
	test_not_possible(no_rma_hints, RDM_PROV_KEYS);
	test_not_possible(rma_hints, 0);
}

int main(void)
{
	return run_test(test);
}
