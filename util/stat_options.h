/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_stat. */
#ifndef STAT_OPTIONS_H
#define STAT_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct stat_options {
	pid_t pid;
	int watch_ms; /* 0 for once */
	long count;   /* repetitions with --watch; 0 for no limit */
	bool peers, json, all, help, version;
};

void stat_options_usage(FILE *out);
/* Returns false after printing what is wrong. */
bool stat_options_parse(struct stat_options *opts, int argc, char **argv);

#endif
