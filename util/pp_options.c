/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_pingpong: every value is checked before anything is opened. */
#include "pp_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_endpoint.h>

enum { PP_PERCENTILES = 256, PP_PLOT, PP_RATE, PP_JSON };

#define PP_ITERATIONS 10

static const struct {
	const char *option;
	const char *help;
} pp_help[] = {
	{ "-B <src_port>", "source control port number (server: 47592, client: auto)" },
	{ "-P <dst_port>", "destination control port number (client: 47592)" },
	{ "-d <domain>", "domain name" },
	{ "-p <provider>", "specific provider name, as fi_info -l lists them" },
	{ "-e <ep_type>", "endpoint type: msg|rdm|dgram (dgram)" },
	{ "-I <number>", "number of iterations (10; with --rate 10000, or 1000 above 8k)" },
	{ "-S <size>", "specific transfer size or 'all' (64 256 1k 4k 64k 1m)" },
	{ "-c", "enables data_integrity checks" },
	{ "-m <transmit mode>", "transmit mode type: msg|tagged (msg)" },
	{ "-D <interface>", "buffers in device memory: cuda (with -e msg or rdm)" },
	{ "--percentiles", "time each iteration: min, mean, 50%, 90%, 99%, 99.9%, max" },
	{ "--plot", "and draw how the times are distributed" },
	{ "--rate", "stream messages to the server: messages per second" },
	{ "-W, --window <n>", "with --rate, messages sent ahead of the server (64)" },
	{ "--json", "print the results as JSON" },
	{ "-h, --help", "display this help output" },
	{ "-V, --version", "display the version" },
	{ "-v", "enable debugging output" },
	{ "-6", "use IPv6 address" },
};

void pp_options_init(struct pp_options *opts)
{
	memset(opts, 0, sizeof(*opts));
	opts->ep_type = FI_EP_DGRAM;
	opts->caps = FI_MSG;
	opts->sizes = PP_SIZES_DEFAULT;
}

void pp_options_usage(FILE *out)
{
	size_t i;

	fprintf(out, "Usage:\n");
	fprintf(out, "  fi_pingpong [OPTIONS]\t\t\tstart server\n");
	fprintf(out, "  fi_pingpong [OPTIONS] <srv_addr>\tconnect to server\n");
	fprintf(out, "\nPing pong client and server\n\nOptions:\n");
	for (i = 0; i < sizeof(pp_help) / sizeof(pp_help[0]); i++)
		fprintf(out, " %-20s %s\n", pp_help[i].option, pp_help[i].help);
}

static int pp_parse_number(int option, const char *text, unsigned long min, unsigned long max,
			   unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(text, &end, 0);
	if (end == text || *end) {
		errno = EINVAL;
	} else if (!errno && (strchr(text, '-') || *value < min || *value > max)) {
		errno = ERANGE;
	}
	if (!errno)
		return 0;
	fprintf(stderr, "Error parsing \"%s\": %s (-%c takes %lu to %lu)\n", text, strerror(errno),
		option, min, max);
	return -1;
}

static int pp_parse_port(int option, const char *text, uint16_t *port)
{
	unsigned long value;

	if (pp_parse_number(option, text, 1, UINT16_MAX, &value))
		return -1;
	*port = (uint16_t)value;
	return 0;
}

static int pp_parse_count(int option, const char *text, unsigned int max, unsigned int *count)
{
	unsigned long value;

	if (pp_parse_number(option, text, 1, max, &value))
		return -1;
	*count = (unsigned int)value;
	return 0;
}

static int pp_parse_size(struct pp_options *opts, const char *text)
{
	unsigned long value;

	if (!strcasecmp(text, "all")) {
		opts->sizes = PP_SIZES_ALL;
		return 0;
	}
	if (pp_parse_number('S', text, 0, SIZE_MAX / 8, &value))
		return -1;
	opts->sizes = PP_SIZES_ONE;
	opts->size = value;
	return 0;
}

static int pp_parse_ep_type(const char *text, enum fi_ep_type *type)
{
	if (!strcasecmp(text, "msg"))
		*type = FI_EP_MSG;
	else if (!strcasecmp(text, "rdm"))
		*type = FI_EP_RDM;
	else if (!strcasecmp(text, "dgram"))
		*type = FI_EP_DGRAM;
	else {
		fprintf(stderr, "Unknown endpoint : %s (-e takes msg, rdm or dgram)\n", text);
		return -1;
	}
	return 0;
}

static int pp_parse_mode(const char *text, uint64_t *caps)
{
	if (!strcasecmp(text, "msg"))
		*caps = FI_MSG;
	else if (!strcasecmp(text, "tagged"))
		*caps = FI_TAGGED;
	else {
		fprintf(stderr, "Unknown transmit mode : %s (-m takes msg or tagged)\n", text);
		return -1;
	}
	return 0;
}

static int pp_parse_device(const char *text, bool *cuda)
{
	*cuda = !strcasecmp(text, "cuda");
	if (*cuda)
		return 0;
	fprintf(stderr, "Unknown device interface : %s (-D takes cuda)\n", text);
	return -1;
}

static int pp_parse_flag(struct pp_options *opts, int option)
{
	switch (option) {
	case 'c':
		opts->check = true;
		return 0;
	case 'v':
		opts->verbose = true;
		return 0;
	case '6':
		opts->ipv6 = true;
		return 0;
	case PP_PLOT:
		opts->plot = true;
		/* fallthrough */
	case PP_PERCENTILES:
		opts->percentiles = true;
		return 0;
	case PP_RATE:
		opts->rate = true;
		return 0;
	case PP_JSON:
		opts->json = true;
		return 0;
	default:
		return -1;
	}
}

static int pp_parse_option(struct pp_options *opts, int option, const char *arg)
{
	switch (option) {
	case 'B':
		return pp_parse_port(option, arg, &opts->src_port);
	case 'P':
		return pp_parse_port(option, arg, &opts->dst_port);
	case 'I':
		return pp_parse_count(option, arg, PP_MAX_ITERATIONS, &opts->iterations);
	case 'W':
		return pp_parse_count(option, arg, PP_MAX_WINDOW, &opts->window);
	case 'S':
		return pp_parse_size(opts, arg);
	case 'e':
		return pp_parse_ep_type(arg, &opts->ep_type);
	case 'm':
		return pp_parse_mode(arg, &opts->caps);
	case 'D':
		return pp_parse_device(arg, &opts->cuda);
	case 'd':
		opts->domain = arg;
		return 0;
	case 'p':
		opts->provider = arg;
		return 0;
	default:
		return pp_parse_flag(opts, option);
	}
}

/* Returns 0, or -1 after printing which options do not go together; sets what was not given. */
static int pp_check_together(struct pp_options *opts)
{
	const char *wrong = NULL;

	if (opts->rate && opts->percentiles)
		wrong = "--rate has no round trips to time: it does not go with --percentiles or --plot";
	else if (opts->rate && opts->check)
		wrong = "--rate does not go with -c";
	else if (opts->window && !opts->rate)
		wrong = "-W goes with --rate only";
	else if (opts->cuda && opts->ep_type == FI_EP_DGRAM)
		wrong = "-D goes with -e msg and -e rdm: there is no device memory for datagrams";
	else if (opts->plot && opts->json)
		wrong = "--plot draws text and does not go with --json";
	if (wrong)
		fprintf(stderr, "Error: %s\n", wrong);
	if (!opts->iterations && !opts->rate)
		opts->iterations = PP_ITERATIONS;
	return wrong ? -1 : 0;
}

int pp_options_parse(struct pp_options *opts, int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ "percentiles", no_argument, NULL, PP_PERCENTILES },
		{ "plot", no_argument, NULL, PP_PLOT },
		{ "rate", no_argument, NULL, PP_RATE },
		{ "window", required_argument, NULL, 'W' },
		{ "json", no_argument, NULL, PP_JSON },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "B:P:D:d:p:e:I:S:W:cm:hv6V", long_options,
				     NULL)) != -1) {
		if (option == 'h' || option == 'V') {
			opts->action = option == 'h' ? PP_HELP : PP_VERSION;
			return 0;
		}
		if (option == '?')
			fprintf(stderr, "Try 'fi_pingpong --help'.\n");
		if (pp_parse_option(opts, option, optarg))
			return -1;
	}
	if (argc - optind > 1) {
		fprintf(stderr, "Error: more than one server address: %s\n", argv[optind + 1]);
		return -1;
	}
	opts->dst_addr = argv[optind]; /* NULL at the end of argv */
	return pp_check_together(opts);
}
