/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_NAMED_RX_CTX: context 0 of an address is its endpoint; a plain endpoint has no other. */
#include <netinet/in.h>
#include "rdm.h"

enum { BITS = 4 };

static char out[8], in[8];

static void ask(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_TAGGED | FI_NAMED_RX_CTX | FI_DIRECTED_RECV;
}

static void names(struct rdm_side *side, struct fid_av *av, fi_addr_t addr)
{
	fi_addr_t first = fi_rx_addr(addr, 0, BITS), second = fi_rx_addr(addr, 1, BITS);
	fi_addr_t last = fi_rx_addr(addr + 100, (1 << BITS) - 1, BITS);
	struct sockaddr_in a, b;
	size_t len = sizeof(a);

	OK(fi_av_lookup(av, first, &a, &len));
	OK(fi_av_lookup(av, second, &b, &len));
	EQUAL(ntohs(b.sin_port), ntohs(a.sin_port) + 1);
	RETURNS(fi_av_lookup(av, last, &a, &len), -FI_EINVAL);
	RETURNS(fi_send(side->ep, out, sizeof(out), NULL, last, NULL), -FI_EINVAL);
	RETURNS(fi_trecv(side->ep, in, sizeof(in), NULL, last, 1, 0, NULL), -FI_EINVAL);
	OK(fi_trecv(side->ep, in, sizeof(in), NULL, first, 1, 0, NULL));
	OK(fi_tsend(side->ep, out, sizeof(out), NULL, first, 1, NULL));
}

static void test(void)
{
	const struct rdm_change change = { .hints = ask, .av_bits = BITS, .wait = FI_WAIT_NONE };
	struct fi_av_attr attr = { .rx_ctx_bits = 33 };
	struct rdm_pair pair;
	struct fid_av *av;

	rdm_open_with(&pair, 0, &change);
	CHECK(pair.info->caps & pair.info->tx_attr->caps & FI_NAMED_RX_CTX);
	RETURNS(fi_av_open(pair.domain, &attr, &av, NULL), -FI_EINVAL);
	attr.rx_ctx_bits = -1;
	RETURNS(fi_av_open(pair.domain, &attr, &av, NULL), -FI_EINVAL);
	names(&pair.side[0], pair.side[0].av, pair.side[0].self);
	rdm_wait(&pair, 0);
	rdm_wait(&pair, 0);
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
