/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_setname gives endpoints without connections another address before they are enabled: peers
 * reach them there, and not at the old one.
 */
#include "rdm.h"

#include <string.h>
#include <netinet/in.h>

static struct sockaddr_in first[2], second[2];
static char out[8], in[8];

static struct sockaddr_in name_of(struct fid_ep *ep)
{
	struct sockaddr_in name = { 0 };
	size_t len = sizeof(name);

	OK(fi_getname(&ep->fid, &name, &len));
	return name;
}

/* An address without a host keeps the host; port 0 selects any free one. */
static void rename_it(struct rdm_pair *pair, int side)
{
	struct sockaddr_in any = { .sin_family = AF_INET }, foreign = any;
	struct fid *fid = &pair->side[side].ep->fid;

	first[side] = name_of(pair->side[side].ep);
	OK(fi_setname(fid, &first[side], sizeof(any)));
	RETURNS(fi_setname(fid, NULL, sizeof(any)), -FI_EINVAL);
	RETURNS(fi_setname(fid, &any, 3), -FI_EINVAL);
	foreign.sin_addr.s_addr = htonl(0xc0000201);
	CHECK(fi_setname(fid, &foreign, sizeof(foreign)) < 0);
	CHECK(!memcmp(&first[side], &(struct sockaddr_in[]){ name_of(pair->side[side].ep) },
		      sizeof(any)));
	OK(fi_setname(fid, &any, sizeof(any)));
	second[side] = name_of(pair->side[side].ep);
	EQUAL(second[side].sin_addr.s_addr, first[side].sin_addr.s_addr);
	CHECK(second[side].sin_port && second[side].sin_port != first[side].sin_port);
	if (side) /* the other has left it */
		OK(fi_setname(fid, &first[0], sizeof(any)));
}

static void rdm(void)
{
	const struct rdm_change change = { .bind = rename_it };
	struct rdm_pair pair;

	rdm_open_with(&pair, 0, &change);
	RETURNS(fi_setname(&pair.side[0].ep->fid, &first[0], sizeof(first[0])), -FI_EOPBADSTATE);
	EQUAL(name_of(pair.side[1].ep).sin_port, first[0].sin_port);
	OK(fi_trecv(pair.side[1].ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tsend(pair.side[0].ep, out, sizeof(out), NULL, pair.side[0].peer, 1, NULL));
	rdm_wait(&pair, 1);
	rdm_wait(&pair, 0);
	rdm_close(&pair);
}

int main(void)
{
	return run_test(rdm);
}
