/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sizes that fi_pingpong tests, and the text form of quantities. */
#include "pp_size.h"

#include <inttypes.h>
#include <stdio.h>

static const size_t pp_default_sizes[] = { 64, 256, 1024, 4096, 65536, 1048576 };
#define PP_DEFAULT_COUNT (sizeof(pp_default_sizes) / sizeof(pp_default_sizes[0]))
#define PP_ALL_COUNT	 46u /* the last is 6 MiB */

/* 0, 1, then every power of two followed by one and a half times it */
static size_t pp_all_size(unsigned int index)
{
	if (index < 2)
		return index;
	return (index & 1 ? (size_t)3 : (size_t)2) << ((index - 2) / 2);
}

bool pp_size_at(const struct pp_options *opts, size_t limit, unsigned int index, size_t *size)
{
	switch (opts->sizes) {
	case PP_SIZES_ONE:
		*size = opts->size;
		return index == 0 && *size <= limit;
	case PP_SIZES_ALL:
		*size = pp_all_size(index);
		return index < PP_ALL_COUNT && *size <= limit;
	default:
		if (index >= PP_DEFAULT_COUNT)
			return false;
		*size = pp_default_sizes[index];
		return *size <= limit;
	}
}

size_t pp_size_max(const struct pp_options *opts, size_t limit)
{
	unsigned int index;
	size_t size;
	size_t max = 0;

	for (index = 0; pp_size_at(opts, limit, index, &size); index++)
		max = size;
	return max;
}

unsigned int pp_size_count(const struct pp_options *opts, size_t size)
{
	if (opts->iterations)
		return opts->iterations;
	return size > 8192 ? 1000 : 10000;
}

const char *pp_size_text(char text[PP_TEXT_LEN], uint64_t bytes)
{
	static const char units[] = "\0kmg";
	unsigned int unit = 0;
	uint64_t base = 1;
	uint64_t tenths;

	while (unit < 3 && bytes / base >= 1024) {
		base *= 1024;
		unit++;
	}
	tenths = bytes % base * 10 / base;
	if (bytes / base < 10 && tenths)
		snprintf(text, PP_TEXT_LEN, "%" PRIu64 ".%" PRIu64 "%c", bytes / base, tenths,
			 units[unit]);
	else
		snprintf(text, PP_TEXT_LEN, "%" PRIu64 "%c", bytes / base, units[unit]);
	return text;
}

const char *pp_count_text(char text[PP_TEXT_LEN], uint64_t count)
{
	static const char units[] = "\0kmb";
	unsigned int unit = 0;

	while (unit < 3 && count >= 1000) {
		count /= 1000;
		unit++;
	}
	snprintf(text, PP_TEXT_LEN, "%" PRIu64 "%c", count, units[unit]);
	return text;
}
