/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_doctor. */
#ifndef DOCTOR_OPTIONS_H
#define DOCTOR_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

struct doctor_options {
	const char *root; /* "" for the running system */
	const char *peer; /* NULL if there is none */
	const char *port;
	const char *source; /* address to listen on or to connect from, NULL for any */
	int timeout_ms;	    /* limit for each step */
	int listen_ms;	    /* limit for waiting for a peer, -1 for none */
	bool listen;
	bool json;
	bool quiet;
	bool help;
	bool version;
};

/* Returns false after printing what is wrong. */
bool doctor_options_parse(struct doctor_options *opts, int argc, char **argv);
void doctor_options_usage(FILE *out);

#endif
