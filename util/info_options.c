/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_info, and its hints. */
#include "info_options.h"

#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "info_names.h"
#include "info_tclass.h"

enum {
	OPTION_VERSION = 256,
	OPTION_WHY,
	OPTION_JSON,
	OPTION_TABLE,
	OPTION_NO_TABLE,
};

#define ALL_MR_MODES                                                                    \
	(FI_MR_LOCAL | FI_MR_RAW | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | \
	 FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT | FI_MR_ENDPOINT | FI_MR_HMEM | FI_MR_COLLECTIVE)

static const struct {
	struct option option;
	const char *arg;
	const char *help;
} table[] = {
	{ { "help", no_argument, NULL, 'h' }, NULL, "display this help and exit" },
	{ { "src_addr", required_argument, NULL, 's' }, "ADDR", "source name or address" },
	{ { "node", required_argument, NULL, 'n' }, "NAME", "dest node name or address" },
	{ { "port", required_argument, NULL, 'P' }, "PNUM", "port number" },
	{ { "caps", required_argument, NULL, 'c' },
	  "CAP1|CAP2..",
	  "one or more capabilities: FI_MSG|FI_RMA..." },
	{ { "mode", required_argument, NULL, 'm' },
	  "MOD1|MOD2..",
	  "one or more modes, default all modes" },
	{ { "ep_type", required_argument, NULL, 't' },
	  "EPTYPE",
	  "specify single endpoint type: FI_EP_MSG, FI_EP_DGRAM..." },
	{ { "domain", required_argument, NULL, 'd' }, "DOMAIN", "specify the domain name" },
	{ { "fabric", required_argument, NULL, 'f' }, "FABRIC", "specify the fabric name" },
	{ { "addr_format", required_argument, NULL, 'a' },
	  "FMT",
	  "specify accepted address format: FI_FORMAT_UNSPEC, FI_SOCKADDR..." },
	{ { "provider", required_argument, NULL, 'p' }, "PROV", "specify provider explicitly" },
	{ { "tclass", required_argument, NULL, 'T' },
	  "CLASS",
	  "traffic class: FI_TC_LOW_LATENCY, FI_TC_BULK_DATA..., or a DSCP" },
	{ { "env", no_argument, NULL, 'e' }, NULL, "print libfabric environment variables" },
	{ { "getenv", required_argument, NULL, 'g' },
	  "SUBSTR",
	  "print libfabric environment variables with substr" },
	{ { "info", required_argument, NULL, 'i' },
	  "SUBSTR",
	  "print fi_info structures containing substr" },
	{ { "list", no_argument, NULL, 'l' }, NULL, "list available libfabric providers" },
	{ { "verbose", no_argument, NULL, 'v' }, NULL, "verbose output" },
	{ { "table", no_argument, NULL, OPTION_TABLE },
	  NULL,
	  "print one line for each choice, as on a terminal" },
	{ { "no-table", no_argument, NULL, OPTION_NO_TABLE },
	  NULL,
	  "print the fields of each entry, as into a file" },
	{ { "why", no_argument, NULL, OPTION_WHY },
	  NULL,
	  "print why each other candidate was rejected, nearest miss first" },
	{ { "json", no_argument, NULL, OPTION_JSON }, NULL, "print JSON" },
	{ { "version", no_argument, NULL, OPTION_VERSION }, NULL, "print version info and exit" },
};

#define TABLE_COUNT (sizeof(table) / sizeof(table[0]))

void info_options_usage(FILE *out)
{
	const struct option *option;
	char name[48];
	size_t i;

	fprintf(out, "Usage: fi_info [OPTIONS]\n");
	for (i = 0; i < TABLE_COUNT; i++) {
		option = &table[i].option;
		snprintf(name, sizeof(name), "--%s%s%s", option->name, table[i].arg ? "=" : "",
			 table[i].arg ? table[i].arg : "");
		if (option->val < OPTION_VERSION)
			fprintf(out, "  -%c, %-24s%s\n", option->val, name, table[i].help);
		else
			fprintf(out, "      %-24s%s\n", name, table[i].help);
	}
}

static int set_string(char **dst, const char *text)
{
	free(*dst);
	*dst = strdup(text);
	if (*dst)
		return 0;
	fprintf(stderr, "error: out of memory\n");
	return ENOMEM;
}

static int set_names(struct info_options *opts, int option, const char *text)
{
	uint64_t value;
	int ret;

	opts->filtered = true;
	switch (option) {
	case 'c':
		ret = info_names_parse(&info_caps, text, &opts->hints->caps);
		break;
	case 'm':
		ret = info_names_parse(&info_modes, text, &opts->hints->mode);
		break;
	case 't':
		ret = info_names_find(&info_ep_types, text, &value);
		if (!ret)
			opts->hints->ep_attr->type = (enum fi_ep_type)value;
		break;
	default:
		ret = info_names_find(&info_addr_formats, text, &value);
		if (!ret)
			opts->hints->addr_format = (uint32_t)value;
		break;
	}
	return ret ? EINVAL : 0;
}

static int set_action(struct info_options *opts, enum info_action action)
{
	if (opts->action != INFO_QUERY && opts->action != action) {
		fprintf(stderr,
			"error: only one of --env, --getenv, --list and --version is allowed\n");
		return EXIT_FAILURE;
	}
	opts->action = action;
	return 0;
}

static int set_form(struct info_options *opts, enum info_form form)
{
	if (opts->form != INFO_FORM_AUTO && opts->form != form) {
		fprintf(stderr, "error: only one of --table and --no-table is allowed\n");
		return EXIT_FAILURE;
	}
	opts->form = form;
	return 0;
}

static int set_value(struct info_options *opts, int option, const char *arg)
{
	switch (option) {
	case 's':
		opts->source = arg;
		return 0;
	case 'n':
		opts->node = arg;
		return 0;
	case 'P':
		opts->service = arg;
		return 0;
	case 'i':
		opts->info_substr = arg;
		return 0;
	case 'd':
		opts->filtered = true;
		return set_string(&opts->hints->domain_attr->name, arg);
	case 'f':
		opts->filtered = true;
		return set_string(&opts->hints->fabric_attr->name, arg);
	case 'p':
		opts->filtered = true;
		return set_string(&opts->hints->fabric_attr->prov_name, arg);
	case 'T':
		opts->filtered = true;
		return info_tclass_parse(arg, &opts->hints->tx_attr->tclass) ? EINVAL : 0;
	case 'g':
		opts->env_substr = arg;
		return set_action(opts, INFO_ENV);
	default:
		return set_names(opts, option, arg);
	}
}

static int set_option(struct info_options *opts, int option, const char *arg)
{
	switch (option) {
	case 'v':
		opts->verbose = true;
		return 0;
	case OPTION_WHY:
		opts->why = true;
		return 0;
	case OPTION_JSON:
		opts->json = true;
		return 0;
	case OPTION_TABLE:
	case OPTION_NO_TABLE:
		return set_form(opts, option == OPTION_TABLE ? INFO_FORM_TABLE : INFO_FORM_FIELDS);
	case 'e':
		return set_action(opts, INFO_ENV);
	case 'l':
		return set_action(opts, INFO_LIST);
	case OPTION_VERSION:
		return set_action(opts, INFO_VERSION);
	case 'h':
		opts->action = INFO_HELP;
		return 0;
	case '?':
		fprintf(stderr, "Try 'fi_info --help'.\n");
		return EXIT_FAILURE;
	default:
		return set_value(opts, option, arg);
	}
}

static int make_hints(struct info_options *opts)
{
	opts->hints = fi_allocinfo();
	if (!opts->hints) {
		fprintf(stderr, "error: out of memory\n");
		return ENOMEM;
	}
	opts->hints->mode = ~0ULL;
	opts->hints->domain_attr->mode = ~0ULL;
	opts->hints->domain_attr->mr_mode = ALL_MR_MODES;
	return 0;
}

/* With a destination the source is passed in the hints; otherwise it is the node. */
static int set_source(struct info_options *opts)
{
	struct addrinfo *ai;
	int ret;

	if (!opts->source)
		return 0;
	if (!opts->node) {
		opts->node = opts->source;
		opts->flags |= FI_SOURCE;
		return 0;
	}
	ret = getaddrinfo(opts->source, NULL, NULL, &ai);
	if (ret) {
		fprintf(stderr, "error: source %s: %s\n", opts->source, gai_strerror(ret));
		return EXIT_FAILURE;
	}
	opts->filtered = true;
	opts->hints->src_addr = malloc(ai->ai_addrlen);
	if (opts->hints->src_addr) {
		memcpy(opts->hints->src_addr, ai->ai_addr, ai->ai_addrlen);
		opts->hints->src_addrlen = ai->ai_addrlen;
		if (opts->hints->addr_format == FI_FORMAT_UNSPEC)
			opts->hints->addr_format =
				ai->ai_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	}
	freeaddrinfo(ai);
	return opts->hints->src_addr ? 0 : ENOMEM;
}

/* Returns 0, or -1 after printing which options do not go together. */
static int check_together(const struct info_options *opts)
{
	const char *wrong = NULL;

	if (opts->why && opts->action != INFO_QUERY)
		wrong = "--why explains a query and does not go with --env, --getenv, --list or --version";
	else if (opts->form == INFO_FORM_TABLE && opts->action != INFO_QUERY)
		wrong = "--table shows a query and does not go with --env, --getenv, --list or --version";
	else if (opts->form == INFO_FORM_TABLE &&
		 (opts->verbose || opts->json || opts->info_substr))
		wrong = "--table does not go with --verbose, --info or --json";
	if (wrong)
		fprintf(stderr, "error: %s\n", wrong);
	return wrong ? -1 : 0;
}

int info_options_parse(struct info_options *opts, int argc, char **argv)
{
	struct option long_options[TABLE_COUNT + 1] = { 0 };
	int option, ret;
	size_t i;

	memset(opts, 0, sizeof(*opts));
	for (i = 0; i < TABLE_COUNT; i++)
		long_options[i] = table[i].option;
	ret = make_hints(opts);
	while (!ret && opts->action != INFO_HELP) {
		option = getopt_long(argc, argv, "hs:n:P:c:m:t:d:f:a:p:T:eg:i:lv", long_options,
				     NULL);
		if (option == -1)
			break;
		ret = set_option(opts, option, optarg);
	}
	if (ret || opts->action == INFO_HELP)
		return ret;
	if (optind < argc) {
		fprintf(stderr, "error: unexpected argument: %s\n", argv[optind]);
		return EXIT_FAILURE;
	}
	return check_together(opts) ? EXIT_FAILURE : set_source(opts);
}

void info_options_release(struct info_options *opts)
{
	fi_freeinfo(opts->hints);
	opts->hints = NULL;
}
