/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The text histogram of --plot. */
#include "pp_plot.h"

#include <inttypes.h>

#define PP_LINES 12
#define PP_BAR	 56

struct plot {
	uint64_t from[PP_LINES + 1];
	uint64_t count[PP_LINES + 1];
	unsigned int lines;
};

/* Divides the times up to the 99th percentile; what is above has the line after these. */
static void divide(struct plot *plot, const struct pp_hist *hist)
{
	uint64_t high = pp_hist_percentile(hist, 990);
	uint64_t rest = hist->count, step, from;

	if (!high || high < hist->min)
		high = hist->max;
	step = (high - hist->min) / PP_LINES + 1;
	/* No interval is narrower than a bucket. */
	if (step < high / (PP_HIST_PER_TWO / 2) + 1)
		step = high / (PP_HIST_PER_TWO / 2) + 1;
	for (from = hist->min; from <= high; from += step) {
		plot->from[plot->lines] = from;
		plot->count[plot->lines] = pp_hist_between(hist, from, from + step);
		rest -= plot->count[plot->lines++];
	}
	plot->from[plot->lines] = from;
	plot->count[plot->lines] = rest;
	plot->lines += rest > 0;
}

static void print_bar(FILE *out, uint64_t count, uint64_t longest)
{
	uint64_t length = (count * PP_BAR + longest - 1) / longest;

	fputc('|', out);
	while (length--)
		fputc('#', out);
	fputc('\n', out);
}

void pp_plot(FILE *out, const struct pp_hist *hist)
{
	struct plot plot = { 0 };
	uint64_t longest = 1;
	unsigned int i;

	if (!hist->count)
		return;
	divide(&plot, hist);
	for (i = 0; i < plot.lines; i++)
		if (longest < plot.count[i])
			longest = plot.count[i];
	for (i = 0; i < plot.lines; i++) {
		fprintf(out, "%12.2f%10" PRIu64 " ", (double)plot.from[i] / 1e3, plot.count[i]);
		print_bar(out, plot.count[i], longest);
	}
}
