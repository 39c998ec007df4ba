/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_stat. */
#include "stat_options.h"

#include <getopt.h>
#include <limits.h>
#include <stdlib.h>

#define MAX_WATCH_S	 86400
#define DEFAULT_WATCH_MS 1000

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "peers", required_argument, NULL, 'P' },
	{ "watch", optional_argument, NULL, 'w' },
	{ "count", required_argument, NULL, 'c' },
	{ "all", no_argument, NULL, 'a' },
	{ "json", no_argument, NULL, 'j' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

void stat_options_usage(FILE *out)
{
	fprintf(out,
		"Usage: fi_stat -p PID [OPTIONS]\n"
		"       fi_stat --peers PID [OPTIONS]\n"
		"  -p, --pid=PID        the process\n"
		"  -P, --peers=PID      each peer of its reliable-datagram endpoints, and what it\n"
		"                       waits for\n"
		"  -w, --watch=SECONDS  print again each time so long has passed (without a value:\n"
		"                       a second), with rates; in place on a terminal\n"
		"  -c, --count=N        with --watch: so often\n"
		"  -a, --all            print what is 0 too\n"
		"  -j, --json           print JSON, with --watch one object a line\n"
		"  -h, --help           display this help and exit\n"
		"  -V, --version        print version info and exit\n");
}

static bool parse_number(const char *option, const char *text, long max, long *value)
{
	char *end;

	*value = strtol(text, &end, 10);
	if (end != text && !*end && *value >= 1 && *value <= max)
		return true;
	fprintf(stderr, "error: --%s takes 1 to %ld, not '%s'\n", option, max, text);
	return false;
}

static bool parse_watch(struct stat_options *opts, const char *text)
{
	char *end;
	double seconds;

	if (!text) {
		opts->watch_ms = DEFAULT_WATCH_MS;
		return true;
	}
	seconds = strtod(text, &end);
	if (end == text || *end || !(seconds >= 0.01 && seconds <= MAX_WATCH_S)) {
		fprintf(stderr, "error: --watch takes 0.01 to %d seconds, not '%s'\n", MAX_WATCH_S,
			text);
		return false;
	}
	opts->watch_ms = (int)(seconds * 1000);
	return true;
}

static bool set_option(struct stat_options *opts, int option, const char *arg)
{
	long number;

	switch (option) {
	case 'p':
	case 'P':
		opts->peers |= option == 'P';
		if (!parse_number(option == 'P' ? "peers" : "pid", arg, INT_MAX, &number))
			return false;
		opts->pid = (pid_t)number;
		return true;
	case 'w':
		return parse_watch(opts, arg);
	case 'c':
		return parse_number("count", arg, LONG_MAX, &opts->count);
	case 'a':
		opts->all = true;
		return true;
	case 'j':
		opts->json = true;
		return true;
	case 'h':
		opts->help = true;
		return true;
	case 'V':
		opts->version = true;
		return true;
	default:
		fprintf(stderr, "Try 'fi_stat --help'.\n");
		return false;
	}
}

bool stat_options_parse(struct stat_options *opts, int argc, char **argv)
{
	const char *arg;
	int option;

	*opts = (struct stat_options){ 0 };
	while (!opts->help && !opts->version) {
		option = getopt_long(argc, argv, "p:P:w::c:ajhV", long_options, NULL);
		if (option == -1)
			break;
		arg = optarg;
		/* The value of --watch may be the next argument. */
		if (option == 'w' && !arg && argv[optind] && argv[optind][0] != '-')
			arg = argv[optind++];
		if (!set_option(opts, option, arg))
			return false;
	}
	if (opts->help || opts->version)
		return true;
	if (optind < argc) {
		fprintf(stderr, "error: unexpected argument: %s\n", argv[optind]);
		return false;
	}
	if (!opts->pid || (opts->count && !opts->watch_ms)) {
		fprintf(stderr, !opts->pid ? "error: --pid is required\n"
					   : "error: --count requires --watch\n");
		return false;
	}
	return true;
}
