/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device is short of address handles for a moment, on the side that connects or on both: the
 * messages wait for them, and none fails.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include "rdm.h"

enum { LEN = 100 };

/* So many address handles are not created from now on, and have not been. */
static int refusals, refused;

/* The library calls this one instead of that of libibverbs. */
#pragma GCC visibility push(default)

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *(*real)(struct ibv_pd *, struct ibv_ah_attr *);

	if (__atomic_fetch_sub(&refusals, 1, __ATOMIC_RELAXED) > 0) {
		__atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
		errno = ENOMEM;
		return NULL;
	}
	*(void **)&real = dlvsym(RTLD_NEXT, "ibv_create_ah", "IBVERBS_1.1");
	return real(pd, attr);
}

#pragma GCC visibility pop

static void test(void *count)
{
	static uint8_t out[LEN], in[LEN];
	struct rdm_pair pair;

	setenv("FI_VERBS_RDM_TRANSPORT", "ud", 1);
	refusals = *(int *)count;
	rdm_open(&pair, 0);
	rdm_exchange(&pair, out, in, LEN, 1);
	CHECK(refused == *(int *)count);
	rdm_close(&pair);
}

int main(void)
{
	int failed = 0;

	for (int n = 1; n <= 2; n++)
		failed |= run_apart("address handles", test, &n);
	return failed;
}
