/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Huge pages that are unmapped, and mapped again at the same address, are sent with their current
 * content. The test reserves huge pages if there are none.
 */
#define _GNU_SOURCE
#include "rdm.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LEN = 2 << 20, TIMES = 3 };

static const char pages[] = "/proc/sys/vm/nr_hugepages";

/* The previous number of huge pages; -1 if it cannot be read. */
static long set_pages(long count)
{
	FILE *file = fopen(pages, "r+");
	long before = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &before) == 1) {
		rewind(file);
		fprintf(file, "%ld", count);
	}
	return fclose(file) ? -1 : before;
}

static uint8_t *map(void *at)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (at ? MAP_FIXED : 0);
	void *mapped = mmap(at, LEN, PROT_READ | PROT_WRITE, flags, -1, 0);

	return mapped == MAP_FAILED ? NULL : mapped;
}

static void test(void)
{
	uint8_t *out = map(NULL), *in = malloc(LEN);
	long before = -1;
	struct rdm_pair pair;
	unsigned int i;

	if (!out) {
		before = set_pages(8);
		out = map(NULL);
	}
	if (!out)
		skip("there are no huge pages, and none can be made");
	CHECK(in);
	rdm_open(&pair, RDM_PROV_KEYS);
	for (i = 0; i < TIMES; i++) {
		rdm_exchange(&pair, out, in, LEN, 2 * i);
		rdm_exchange(&pair, out, in, LEN, 2 * i + 1);
		CHECK(!munmap(out, LEN));
		CHECK(map(out) == out);
	}
	rdm_close(&pair);
	munmap(out, LEN);
	free(in);
	if (before >= 0)
		set_pages(before);
}

int main(void)
{
	return run_test(test);
}
