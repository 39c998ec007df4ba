/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A histogram of times in nanoseconds, of a fixed size. */
#include "pp_hist.h"

#include <string.h>

/* Times below 2 * PP_HIST_PER_TWO have a bucket each; above, the width doubles with each power. */
static unsigned int index_of(uint64_t ns)
{
	unsigned int shift, index;

	if (ns < 2 * PP_HIST_PER_TWO)
		return (unsigned int)ns;
	shift = 63 - (unsigned int)__builtin_clzll(ns) - PP_HIST_BITS;
	if (shift >= PP_HIST_TWOS)
		return PP_HIST_BUCKETS - 1;
	index = shift * PP_HIST_PER_TWO + (unsigned int)(ns >> shift);
	return index;
}

/* Returns the shortest time of a bucket. */
static uint64_t start_of(unsigned int index)
{
	unsigned int shift;

	if (index < 2 * PP_HIST_PER_TWO)
		return index;
	shift = index / PP_HIST_PER_TWO - 1;
	return (uint64_t)(index - shift * PP_HIST_PER_TWO) << shift;
}

void pp_hist_clear(struct pp_hist *hist)
{
	memset(hist, 0, sizeof(*hist));
}

void pp_hist_add(struct pp_hist *hist, uint64_t ns)
{
	if (!hist->count || ns < hist->min)
		hist->min = ns;
	if (ns > hist->max)
		hist->max = ns;
	hist->count++;
	hist->sum += ns;
	hist->buckets[index_of(ns)]++;
}

double pp_hist_mean(const struct pp_hist *hist)
{
	return hist->count ? (double)hist->sum / (double)hist->count : 0;
}

/* Returns the middle of a bucket, within the times that were seen. */
static uint64_t middle(const struct pp_hist *hist, unsigned int index)
{
	uint64_t start = start_of(index);
	uint64_t ns = start + (start_of(index + 1) - start) / 2;

	if (ns < hist->min)
		return hist->min;
	return ns > hist->max ? hist->max : ns;
}

uint64_t pp_hist_percentile(const struct pp_hist *hist, unsigned int tenths)
{
	uint64_t rank = (hist->count * tenths + 999) / 1000; /* the nearest rank, from 1 */
	uint64_t seen = 0;
	unsigned int i;

	if (hist->count * (1000 - tenths) < 1000)
		return 0;
	for (i = 0; i < PP_HIST_BUCKETS; i++) {
		seen += hist->buckets[i];
		if (seen >= rank)
			return middle(hist, i);
	}
	return hist->max;
}

uint64_t pp_hist_between(const struct pp_hist *hist, uint64_t from, uint64_t to)
{
	unsigned int end = index_of(to);
	uint64_t count = 0;
	unsigned int i;

	for (i = index_of(from); i < end; i++)
		count += hist->buckets[i];
	return count;
}
