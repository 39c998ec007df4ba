/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_MR_CACHE_MAX_COUNT, MAX_SIZE and MONITOR: large messages arrive whatever part of their memory
 * stays registered, and none does where the parameters say so.
 */
#include "rdm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEN = 1 << 20, ROUNDS = 2 };

static size_t pinned(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[128];

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "VmPin", 5))
			EQUAL(sscanf(line, "VmPin: %lu", &kib), 1);
	fclose(file);
	return (size_t)kib * 1024;
}

static void exchange(void)
{
	uint8_t *out = malloc(LEN), *in = malloc(LEN);
	struct rdm_pair pair;
	unsigned int i;
	size_t before;

	CHECK(out && in);
	rdm_open(&pair, RDM_PROV_KEYS);
	before = pinned();
	for (i = 0; i < ROUNDS; i++) {
		fill(out, LEN, i);
		OK(fi_trecv(pair.side[1].ep, in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in));
		OK(fi_tsend(pair.side[0].ep, out, LEN, NULL, pair.side[0].peer, 1, out));
		rdm_wait(&pair, 1);
		CHECK_FILLED(in, LEN, i);
		rdm_wait(&pair, 0);
	}
	CHECK(pinned() < before + LEN);
	rdm_close(&pair);
	free(out);
	free(in);
}

/* The parameters are read when a domain is opened. */
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
