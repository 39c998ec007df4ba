/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two endpoints of a host share memory if FI_OPT_SHARED_MEMORY_PERMITTED permits that on both, and
 * messages pass in each case.
 */
#include <stdlib.h>
#include "rdm.h"

enum { LEN = 3000, ROUNDS = 3 };

static bool permitted[2];

static int set(struct fid_ep *ep, uint8_t value)
{
	return fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_SHARED_MEMORY_PERMITTED, &value,
			 sizeof(value));
}

static bool get(struct fid_ep *ep)
{
	size_t len = sizeof(bool);
	bool value;

	OK(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_SHARED_MEMORY_PERMITTED, &value, &len));
	EQUAL(len, sizeof(value));
	return value;
}

static void wrong_lengths(struct fid_ep *ep)
{
	size_t value = 0, len = 0;

	RETURNS(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_SHARED_MEMORY_PERMITTED, &value,
			  sizeof(value)),
		-FI_EINVAL);
	RETURNS(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_SHARED_MEMORY_PERMITTED, &value, &len),
		-FI_ETOOSMALL);
	EQUAL(len, sizeof(bool));
}

static void bind_side(struct rdm_pair *pair, int side)
{
	struct fid_ep *ep = pair->side[side].ep;

	CHECK(get(ep));
	wrong_lengths(ep);
	if (!permitted[side])
		OK(set(ep, false));
	EQUAL(get(ep), permitted[side]);
}

static void exchange(bool first, bool second)
{
	const struct rdm_change change = { .bind = bind_side };
	static uint8_t in[LEN], out[LEN];
	struct rdm_pair pair;
	unsigned int i;

	permitted[0] = first;
	permitted[1] = second;
	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	RETURNS(set(pair.side[0].ep, false), -FI_EOPBADSTATE);
	EQUAL(get(pair.side[0].ep), first);
	for (i = 0; i < ROUNDS; i++)
		rdm_exchange(&pair, out, in, LEN, i);
	EQUAL(count_maps("memfd:weft") > 0, first && second);
	rdm_close(&pair);
}

static void test(void)
{
	exchange(true, true);
	exchange(true, false);
	exchange(false, true);
	exchange(false, false);
}

int main(void)
{
	setenv("FI_VERBS_SHM", "1", 1);
	setenv("FI_EFA_ENABLE_SHM_TRANSFER", "1", 1);
	return run_test(test);
}
