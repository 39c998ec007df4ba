/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_doctor. */
#ifndef DOCTOR_OPTIONS_H
#define DOCTOR_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

struct doctor_options {
	const char *root; /* "" is the running system */
	const char *peer; /* NULL: none */
	const char *port;
	const char *source; /* address to listen on or to come from, NULL for any */
	int timeout_ms;	    /* for each step */
	int listen_ms;	    /* for a peer to come, -1 is forever */
	bool listen;
	bool json;
	bool quiet;
	bool help;
	bool version;
};

/* False after it has said what is wrong. */
bool doctor_options_parse(struct doctor_options *opts, int argc, char **argv);
void doctor_options_usage(FILE *out);

#endif
