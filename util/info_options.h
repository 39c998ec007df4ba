/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_info. */
#ifndef INFO_OPTIONS_H
#define INFO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rdma/fabric.h>

enum info_action {
	INFO_QUERY,
	INFO_LIST,
	INFO_ENV,
	INFO_VERSION,
	INFO_HELP,
};

/* How a query's entries are printed. */
enum info_form {
	INFO_FORM_AUTO, /* the table on a terminal, the fields otherwise */
	INFO_FORM_TABLE,
	INFO_FORM_FIELDS,
};

struct info_options {
	enum info_action action;
	enum info_form form;
	struct fi_info *hints;
	bool filtered; /* if false, fi_getinfo is called without hints */
	const char *node;
	const char *service;
	const char *source;
	const char *info_substr; /* prints only fi_info structures that contain it */
	const char *env_substr;	 /* prints only variables whose names contain it */
	uint64_t flags;		 /* for fi_getinfo */
	bool verbose;
	bool json;
	bool why;
};

/*
 * Returns 0, or the exit status after printing what is wrong. In both cases the caller releases
 * what it holds.
 */
int info_options_parse(struct info_options *opts, int argc, char **argv);
void info_options_release(struct info_options *opts);
void info_options_usage(FILE *out);

#endif
