/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_ADDR_STR: reliable datagrams between names that are strings; invalid names and lengths are
 * refused.
 */
#include "rdm.h"

#include <string.h>

static void ask(struct fi_info *hints)
{
	hints->addr_format = FI_ADDR_STR;
}

static void refused(struct rdm_pair *pair)
{
	const char *wrong[] = { "fi_sockaddr_in://here", NULL };
	struct fi_info *info = fi_dupinfo(pair->info);
	fi_addr_t addr[2];
	struct fid_ep *ep;
	int errs[2];

	RETURNS(fi_av_insert(pair->side[0].av, wrong, 2, addr, FI_SYNC_ERR, errs), 0);
	CHECK(errs[0] == FI_EINVAL && errs[1] == FI_EINVAL);
	CHECK(addr[0] == FI_ADDR_NOTAVAIL && addr[1] == FI_ADDR_NOTAVAIL);
	info->src_addrlen = 0;
	RETURNS(fi_endpoint(pair->domain, info, &ep, NULL), -FI_EINVAL);
	info->src_addrlen = 8; /* "fi_socka" */
	RETURNS(fi_endpoint(pair->domain, info, &ep, NULL), -FI_EINVAL);
	fi_freeinfo(info);
}

static void test(void)
{
	struct rdm_change change = { .hints = ask, .wait = FI_WAIT_NONE };
	char name[128], found[128], text[128];
	size_t len = sizeof(name), size;
	uint64_t out = 99, in = 0;
	struct rdm_pair pair;

	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	EQUAL(pair.info->addr_format, FI_ADDR_STR);
	OK(fi_getname(&pair.side[1].ep->fid, name, &len));
	size = sizeof(found);
	OK(fi_av_lookup(pair.side[0].av, pair.side[0].peer, found, &size));
	EQUAL(size, len);
	CHECK(!strcmp(found, name));
	size = sizeof(text);
	CHECK(!strcmp(fi_av_straddr(pair.side[0].av, found, text, &size), name));
	refused(&pair);
	OK(fi_trecv(pair.side[1].ep, &in, 8, NULL, pair.side[1].peer, 1, 0, &in));
	OK(fi_tsend(pair.side[0].ep, &out, 8, NULL, pair.side[0].peer, 1, &out));
	rdm_wait(&pair, 1);
	CHECK(in == out);
	rdm_wait(&pair, 0);
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
