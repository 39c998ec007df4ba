/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared memory whose pages were replaced, by a hole or by truncation, is sent with its current
 * content.
 */
#define _GNU_SOURCE
#include "rdm.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEN = 1 << 20 };

static void test(void)
{
	int fd = memfd_create("test", 0);
	uint8_t *out, *in = malloc(LEN);
	struct rdm_pair pair;

	CHECK(fd >= 0 && in && !ftruncate(fd, LEN));
	out = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(out != MAP_FAILED);
	rdm_open(&pair, RDM_PROV_KEYS);
	rdm_exchange(&pair, out, in, LEN, 1);
	CHECK(!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, LEN));
	rdm_exchange(&pair, out, in, LEN, 2);
	CHECK(!ftruncate(fd, 0) && !ftruncate(fd, LEN));
	rdm_exchange(&pair, out, in, LEN, 3);
	rdm_close(&pair);
	munmap(out, LEN);
	close(fd);
	free(in);
}

int main(void)
{
	return run_test(test);
}
