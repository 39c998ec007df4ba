/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The results of fi_pingpong: a line of text for each size, or JSON. */
#ifndef PP_REPORT_H
#define PP_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <rdma/fabric.h>

#include "json.h"
#include "pp_hist.h"
#include "pp_options.h"

struct pp_report {
	const struct pp_options *opts;
	FILE *out;
	struct json json;
};

struct pp_result {
	size_t size;
	unsigned int sent;
	unsigned int acked;  /* those of the peer */
	unsigned int window; /* with --rate */
	double usec;
	const struct pp_hist *hist; /* half the time of each round trip, for --percentiles */
};

void pp_report_begin(struct pp_report *report, const struct fi_info *info, bool client);
void pp_report_row(struct pp_report *report, const struct pp_result *result);
/* ret is 0, or the error that ended the test. */
void pp_report_end(struct pp_report *report, int ret);

#endif
