/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the exchange of messages through memory costs at least: the copy. */
#include <stdlib.h>
#include <string.h>
#include "pair.h"
#include "transport.h"

static void copy_both_ways(void *pair, size_t size, int count)
{
	char *a = pair, *b = a + size;
	int i;

	for (i = 0; i < count; i++) {
		memcpy(b, a, size);
		__asm__ volatile("" : : "r"(b) : "memory");
		memcpy(a, b, size);
		__asm__ volatile("" : : "r"(a) : "memory");
	}
}

void transport_open_memcpy(struct transport *transport)
{
	size_t size = 2 * (size_t)PAIR_BUF_SIZE;
	char *buf = malloc(size);

	if (!buf)
		bench_die("memcpy", "out of memory");
	memset(buf, 1, size);
	*transport = (struct transport){ .pair = buf, .pingpong = copy_both_ways };
}
