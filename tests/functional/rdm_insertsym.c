/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable datagrams are sent to an address that fi_av_insertsym resolved from node and service; a
 * loopback address stands for this host.
 */
#include "rdm.h"

#include <stdio.h>
#include <netinet/in.h>

enum { SERVICES = 3 };

static char out[8], in[8];

static void reach(const char *node)
{
	struct sockaddr_in name;
	size_t len = sizeof(name);
	fi_addr_t addr[SERVICES];
	struct rdm_pair pair;
	struct rdm_side *side = &pair.side[0];
	char service[8];

	rdm_open(&pair, 0);
	OK(fi_getname(&pair.side[1].ep->fid, &name, &len));
	/* The endpoint has the second service; nobody has the others. */
	snprintf(service, sizeof(service), "%d", ntohs(name.sin_port) - 1);
	EQUAL(fi_av_insertsym(side->av, node, 1, service, SERVICES, addr, 0, NULL), SERVICES);
	OK(fi_trecv(pair.side[1].ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	fill(out, sizeof(out), 1);
	OK(fi_tsend(side->ep, out, sizeof(out), NULL, addr[1], 1, NULL));
	rdm_wait(&pair, 1);
	rdm_wait(&pair, 0);
	CHECK_FILLED(in, sizeof(in), 1);
	rdm_close(&pair);
}

static void test(void)
{
	reach(need_env("WEFT_ADDR"));
	reach("127.0.0.1");
}

int main(void)
{
	return run_test(test);
}
