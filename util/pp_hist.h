/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A histogram of times in nanoseconds. Its size is fixed: each power of two is divided into 256
 * buckets, so that a time is known to 0.4 percent, and exactly below 512 ns.
 */
#ifndef PP_HIST_H
#define PP_HIST_H

#include <stdint.h>

#define PP_HIST_BITS	8
#define PP_HIST_PER_TWO (1u << PP_HIST_BITS)
#define PP_HIST_TWOS	33 /* times of 2^41 ns and more, 36 minutes, share the last bucket */
#define PP_HIST_BUCKETS (PP_HIST_TWOS * PP_HIST_PER_TWO + PP_HIST_PER_TWO)

struct pp_hist {
	uint64_t count;
	uint64_t sum, min, max; /* exact */
	uint32_t buckets[PP_HIST_BUCKETS];
};

/* Results of an empty histogram are 0. */
void pp_hist_clear(struct pp_hist *hist);
void pp_hist_add(struct pp_hist *hist, uint64_t ns);
double pp_hist_mean(const struct pp_hist *hist);
/*
 * Returns the time that `tenths` of 1000 samples do not exceed, for example 999 for 99.9 percent.
 * Returns 0 if there are too few samples for one to exceed it.
 */
uint64_t pp_hist_percentile(const struct pp_hist *hist, unsigned int tenths);
/* Returns the number of samples from `from` on and below `to`, to the width of a bucket. */
uint64_t pp_hist_between(const struct pp_hist *hist, uint64_t from, uint64_t to);

#endif
