/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints of an fi_info without a source address choose the address that fi_getinfo offers. */
#include "rdm.h"

#include <stdlib.h>
#include <netinet/in.h>

static in_addr_t offered;

static void drop_source(struct fi_info *info)
{
	offered = ((struct sockaddr_in *)info->src_addr)->sin_addr.s_addr;
	free(info->src_addr);
	info->src_addr = NULL;
	info->src_addrlen = 0;
}

static void rdm(void)
{
	const struct rdm_change change = { .info = drop_source };
	struct sockaddr_in name[2];
	size_t len = sizeof(name[0]);
	uint8_t out[100], in[100];
	struct rdm_pair pair;
	int i;

	rdm_open_with(&pair, 0, &change);
	for (i = 0; i < 2; i++) {
		OK(fi_getname(&pair.side[i].ep->fid, &name[i], &len));
		EQUAL(name[i].sin_addr.s_addr, offered);
		CHECK(name[i].sin_port);
	}
	CHECK(name[0].sin_port != name[1].sin_port);
	rdm_exchange(&pair, out, in, sizeof(out), 1);
	rdm_close(&pair);
}

int main(void)
{
	return run_test(rdm);
}
