/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_OPT_FI_HMEM_P2P and FI_OPT_CUDA_API_PERMITTED of connected endpoints, and their effects. */
#include "gpu.h"
#include "steps.h"

static void test_p2p(struct end *end)
{
	struct fid *ep = &end->ep->fid;
	int p2p = -1;
	size_t len = sizeof(p2p);

	OK(fi_getopt(ep, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, &len));
	EQUAL(p2p, FI_HMEM_P2P_ENABLED);
	EQUAL(len, sizeof(p2p));
	p2p = FI_HMEM_P2P_REQUIRED;
	OK(fi_setopt(ep, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, sizeof(p2p)));
	p2p = -1;
	OK(fi_getopt(ep, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, &len));
	EQUAL(p2p, FI_HMEM_P2P_REQUIRED);
	p2p = FI_HMEM_P2P_DISABLED;
	RETURNS(fi_setopt(ep, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, sizeof(p2p)),
		-FI_EOPNOTSUPP);
	p2p = 17;
	RETURNS(fi_setopt(ep, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, sizeof(p2p)), -FI_EINVAL);
	RETURNS(fi_setopt(ep, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, 1), -FI_EINVAL);
	len = 1;
	RETURNS(fi_getopt(ep, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, &len), -FI_ETOOSMALL);
	EQUAL(len, sizeof(p2p));
}

/* Without calls of CUDA the device moves the data, and operations that need a copy are refused. */
static void test_permitted(struct pair *pair)
{
	struct part part = { .len = 64, .seed = 5, .context = 5 };
	struct end *client = &pair->client;
	bool permitted = false;
	size_t len = sizeof(permitted);
	uint64_t calls;

	OK(fi_setopt(&client->ep->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &permitted,
		     sizeof(permitted)));
	permitted = true;
	OK(fi_getopt(&client->ep->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED, &permitted,
		     &len));
	CHECK(!permitted);
	at(&pair->server, post_recv, &part, sizeof(part));
	part.off = 4096;
	fill_part(client, &part);
	calls = gpu->calls();
	post_send(client, &part);
	wait_context(client->cq, (void *)5);
	EQUAL(gpu->calls(), calls);
	part.off = 0;
	at(&pair->server, reap_recv, &part, sizeof(part));
}

static void test_injected(struct end *end)
{
	struct iovec iov = { end->buf, 16 };
	struct fi_msg msg = {
		.msg_iov = &iov, .desc = &end->desc, .iov_count = 1, .addr = FI_ADDR_UNSPEC
	};

	RETURNS(fi_sendmsg(end->ep, &msg, FI_INJECT), -FI_EOPNOTSUPP);
}

static void test(struct pair *pair)
{
	test_p2p(&pair->client);
	test_permitted(pair);
	test_injected(&pair->client);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
