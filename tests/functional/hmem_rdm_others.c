/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints without FI_HMEM cause no call of a GPU's library, also once another thread of the
 * process has asked for FI_HMEM, in the middle of their transfers.
 */
#include <pthread.h>
#include "gpu.h"
#include "hmem_rdm.h"

enum { LEN = 3000, ROUNDS = 50 };

static void *ask(void *arg)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;

	(void)arg;
	CHECK(hints);
	hmem_hints(hints);
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = RDM_PROV_KEYS | FI_MR_HMEM;
	hints->fabric_attr->prov_name = strdup("verbs");
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(info);
	fi_freeinfo(hints);
	return NULL;
}

/* The fixture's own exchanges ask the GPU where their buffers are. */
static void exchange(struct rdm_pair *pair)
{
	static uint8_t out[LEN], in[LEN];
	struct rdm_side *from = &pair->side[0], *to = &pair->side[1];
	unsigned int i;

	for (i = 1; i <= ROUNDS; i++) {
		memset(out, (int)i, LEN);
		OK(fi_trecv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, i, 0, NULL));
		OK(fi_tsend(from->ep, out, LEN, NULL, from->peer, i, NULL));
		rdm_wait(pair, 1);
		rdm_wait(pair, 0);
		CHECK(!memcmp(in, out, LEN));
		/* It stays in the protocol's own buffers until its receive is posted. */
		OK(fi_tsend(from->ep, out, LEN, NULL, from->peer, i, NULL));
		rdm_wait(pair, 0);
		OK(fi_trecv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, i, 0, NULL));
		rdm_wait(pair, 1);
	}
}

static void test(void)
{
	struct rdm_pair pair;
	pthread_t thread;
	uint64_t calls;

	rdm_open(&pair, RDM_PROV_KEYS);
	exchange(&pair);
	EQUAL(gpu->calls(), 0);
	CHECK(!pthread_create(&thread, NULL, ask, NULL));
	exchange(&pair);
	CHECK(!pthread_join(thread, NULL));
	calls = gpu->calls();
	CHECK(calls);
	exchange(&pair);
	EQUAL(gpu->calls(), calls);
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
