/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_doctor. */
#include "doctor_options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PORT	   "47591"
#define DEFAULT_TIMEOUT_MS 5000
#define MAX_TIMEOUT_S	   86400

static const struct option long_options[] = {
	{ "listen", no_argument, NULL, 'l' },
	{ "source", required_argument, NULL, 's' },
	{ "timeout", required_argument, NULL, 't' },
	{ "root", required_argument, NULL, 'r' },
	{ "json", no_argument, NULL, 'j' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

void doctor_options_usage(FILE *out)
{
	fprintf(out,
		"Usage: fi_doctor [OPTIONS]                check this host\n"
		"       fi_doctor [OPTIONS] PEER [PORT]    and a connection to PEER\n"
		"       fi_doctor [OPTIONS] --listen [PORT]  and one from a peer\n"
		"  -l, --listen           wait for one fi_doctor PEER to connect\n"
		"  -s, --source=ADDR      connect from, or listen on, this address\n"
		"  -t, --timeout=SECONDS  for each step of a connection (5), and for a peer to come\n"
		"  -r, --root=DIR         look at the files of DIR/sys, DIR/proc, DIR/dev, DIR/etc\n"
		"  -q, --quiet            nothing of what is well\n"
		"  -j, --json             print JSON\n"
		"  -h, --help             display this help and exit\n"
		"  -V, --version          print version info and exit\n");
}

static bool parse_number(const char *text, long max, long *value)
{
	char *end;

	*value = strtol(text, &end, 10);
	return end != text && !*end && *value >= 1 && *value <= max;
}

static bool set_timeout(struct doctor_options *opts, const char *text)
{
	long seconds;

	if (!parse_number(text, MAX_TIMEOUT_S, &seconds)) {
		fprintf(stderr, "error: --timeout takes 1 to %d seconds, not '%s'\n", MAX_TIMEOUT_S,
			text);
		return false;
	}
	opts->timeout_ms = opts->listen_ms = (int)seconds * 1000;
	return true;
}

static bool set_option(struct doctor_options *opts, int option, const char *arg)
{
	switch (option) {
	case 'l':
		opts->listen = true;
		return true;
	case 's':
		opts->source = arg;
		return true;
	case 't':
		return set_timeout(opts, arg);
	case 'r':
		opts->root = arg;
		return true;
	case 'j':
		opts->json = true;
		return true;
	case 'q':
		opts->quiet = true;
		return true;
	case 'h':
		opts->help = true;
		return true;
	case 'V':
		opts->version = true;
		return true;
	default:
		fprintf(stderr, "Try 'fi_doctor --help'.\n");
		return false;
	}
}

static bool set_arguments(struct doctor_options *opts, int count, char **args)
{
	long number;

	if (count && !opts->listen) {
		opts->peer = *args++;
		count--;
	}
	if (count) {
		opts->port = *args++;
		count--;
	}
	if (count) {
		fprintf(stderr, "error: unexpected argument: %s\n", *args);
		return false;
	}
	if (!parse_number(opts->port, 65535, &number)) {
		fprintf(stderr, "error: a port is a number from 1 to 65535, not '%s'\n",
			opts->port);
		return false;
	}
	return true;
}

bool doctor_options_parse(struct doctor_options *opts, int argc, char **argv)
{
	int option;

	*opts = (struct doctor_options){
		.root = "",
		.port = DEFAULT_PORT,
		.timeout_ms = DEFAULT_TIMEOUT_MS,
		.listen_ms = -1,
	};
	while (!opts->help && !opts->version) {
		option = getopt_long(argc, argv, "ls:t:r:jqhV", long_options, NULL);
		if (option == -1)
			break;
		if (!set_option(opts, option, optarg))
			return false;
	}
	if (opts->help || opts->version)
		return true;
	if (!set_arguments(opts, argc - optind, argv + optind))
		return false;
	if (*opts->root && (opts->peer || opts->listen)) {
		fprintf(stderr, "error: --root checks files only and does not go with a peer\n");
		return false;
	}
	return true;
}
