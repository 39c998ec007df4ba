/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_MR_CACHE_MAX_COUNT, MAX_SIZE and MONITOR: large messages arrive whatever of their memory is kept registered. */
#include "rdm.h"

#include <stdlib.h>
#include <string.h>

enum { LEN = 1 << 18, ROUNDS = 2 };

static void exchange(void)
{
	uint8_t *out = malloc(LEN), *in = malloc(LEN);
	struct rdm_pair pair;
	unsigned int i;

	CHECK(out && in);
	rdm_open(&pair, RDM_PROV_KEYS);
	for (i = 0; i < ROUNDS; i++) {
		fill(out, LEN, i);
		OK(fi_trecv(pair.side[1].ep, in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in));
		OK(fi_tsend(pair.side[0].ep, out, LEN, NULL, pair.side[0].peer, 1, out));
		rdm_wait(&pair, 1);
		CHECK_FILLED(in, LEN, i);
		rdm_wait(&pair, 0);
	}
	rdm_close(&pair);
	free(out);
	free(in);
}

/* They are read when a domain is opened. */
static void with(const char *name, const char *value)
{
	setenv(name, value, 1);
	exchange();
	unsetenv(name);
}

static void test(void)
{
	with("FI_MR_CACHE_MAX_COUNT", "0");
	with("FI_MR_CACHE_MAX_SIZE", "4096");
	with("FI_MR_CACHE_MONITOR", "disabled");
}

int main(void)
{
	return run_test(test);
}
