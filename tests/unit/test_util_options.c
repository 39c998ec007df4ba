/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command lines of fi_info and fi_pingpong. */
#include "unit.h"

#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_endpoint.h>

#include "util/info_names.h"
#include "util/info_options.h"
#include "util/pp_options.h"

#define ARGS(...) ((char *[]){ "tool", __VA_ARGS__, NULL })

static int count(char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return argc;
}

static int info(struct info_options *opts, char **argv)
{
	optind = 0;
	return info_options_parse(opts, count(argv), argv);
}

static int pp(struct pp_options *opts, char **argv)
{
	optind = 0;
	pp_options_init(opts);
	return pp_options_parse(opts, count(argv), argv);
}

static void test_names(void **state)
{
	uint64_t value;

	(void)state;
	assert_int_equal(info_names_parse(&info_caps, "FI_MSG|fi_rma||FI_TAGGED|", &value), 0);
	assert_int_equal(value, FI_MSG | FI_RMA | FI_TAGGED);
	assert_int_equal(info_names_parse(&info_caps, "", &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(info_names_parse(&info_caps, "FI_MSG|FI_MS", &value), -1);
	assert_int_equal(info_names_parse(&info_caps, "FI_MSG,FI_RMA", &value), -1);
	assert_int_equal(info_names_find(&info_ep_types, "FI_EP_RDM", &value), 0);
	assert_int_equal(value, FI_EP_RDM);
	assert_int_equal(info_names_find(&info_ep_types, "FI_EP_MSG|FI_EP_RDM", &value), -1);
	assert_int_equal(info_names_find(&info_addr_formats, "FI_ADDR_STR", &value), 0);
	assert_int_equal(value, FI_ADDR_STR);
}

static void test_tclass(void **state)
{
	struct info_options opts;

	(void)state;
	assert_int_equal(info(&opts, ARGS("-T", "fi_tc_bulk_data")), 0);
	assert_int_equal(opts.hints->tx_attr->tclass, FI_TC_BULK_DATA);
	assert_true(opts.filtered);
	info_options_release(&opts);
	assert_int_equal(info(&opts, ARGS("--tclass=63")), 0);
	assert_int_equal(opts.hints->tx_attr->tclass, fi_tc_dscp_set(63));
	info_options_release(&opts);
	assert_int_equal(info(&opts, ARGS("--tclass=64")), EINVAL);
	info_options_release(&opts);
}

static void test_info_defaults(void **state)
{
	struct info_options opts;

	(void)state;
	assert_int_equal(info(&opts, ARGS(NULL)), 0);
	assert_int_equal(opts.action, INFO_QUERY);
	assert_false(opts.filtered);
	assert_false(opts.why || opts.json || opts.verbose);
	info_options_release(&opts);
}

static void test_info_hints(void **state)
{
	struct info_options opts;

	(void)state;
	assert_int_equal(info(&opts, ARGS("-p", "verbs", "--caps=FI_MSG|FI_RMA", "-t", "FI_EP_MSG",
					  "-d", "rxe0", "-m", "FI_CONTEXT", "--why", "--json", "-P",
					  "7471", "-n", "10.0.0.1", "-v")),
			 0);
	assert_true(opts.filtered && opts.why && opts.json && opts.verbose);
	assert_string_equal(opts.hints->fabric_attr->prov_name, "verbs");
	assert_string_equal(opts.hints->domain_attr->name, "rxe0");
	assert_int_equal(opts.hints->caps, FI_MSG | FI_RMA);
	assert_int_equal(opts.hints->mode, FI_CONTEXT);
	assert_int_equal(opts.hints->ep_attr->type, FI_EP_MSG);
	assert_string_equal(opts.node, "10.0.0.1");
	assert_string_equal(opts.service, "7471");
	assert_int_equal(opts.flags, 0);
	info_options_release(&opts);
}

static void test_info_source(void **state)
{
	struct info_options opts;
	struct sockaddr_in *in;

	(void)state;
	assert_int_equal(info(&opts, ARGS("-s", "10.0.0.1")), 0);
	assert_string_equal(opts.node, "10.0.0.1");
	assert_int_equal(opts.flags, FI_SOURCE);
	info_options_release(&opts);
	assert_int_equal(info(&opts, ARGS("-s", "10.0.0.1", "-n", "10.0.0.2")), 0);
	assert_string_equal(opts.node, "10.0.0.2");
	assert_int_equal(opts.flags, 0);
	assert_int_equal(opts.hints->addr_format, FI_SOCKADDR_IN);
	in = opts.hints->src_addr;
	assert_int_equal(in->sin_addr.s_addr, htonl(0x0a000001));
	info_options_release(&opts);
}

static void test_info_refuses(void **state)
{
	static const struct {
		char *argv[5];
		int status;
	} bad[] = {
		{ { "tool", "-c", "FI_FOO" }, EINVAL },
		{ { "tool", "-m", "FI_FOO" }, EINVAL },
		{ { "tool", "-t", "FI_FOO" }, EINVAL },
		{ { "tool", "-a", "FI_FOO" }, EINVAL },
		{ { "tool", "--nonsense" }, 1 },
		{ { "tool", "-n" }, 1 },
		{ { "tool", "stray" }, 1 },
		{ { "tool", "-e", "-l" }, 1 },
		{ { "tool", "--why", "--version" }, 1 },
		{ { "tool", "--why", "-g", "x" }, 1 },
		{ { "tool", "--table", "--no-table" }, 1 },
		{ { "tool", "--table", "-v" }, 1 },
		{ { "tool", "--json", "--table" }, 1 },
		{ { "tool", "--table", "-i", "x" }, 1 },
		{ { "tool", "-e", "--table" }, 1 },
	};
	struct info_options opts;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(info(&opts, (char **)bad[i].argv), bad[i].status);
		info_options_release(&opts);
	}
}

static void test_info_form(void **state)
{
	struct info_options opts;

	(void)state;
	assert_int_equal(info(&opts, ARGS("-p", "verbs")), 0);
	assert_int_equal(opts.form, INFO_FORM_AUTO);
	info_options_release(&opts);
	assert_int_equal(info(&opts, ARGS("--table", "--why", "--table")), 0);
	assert_int_equal(opts.form, INFO_FORM_TABLE);
	info_options_release(&opts);
	assert_int_equal(info(&opts, ARGS("--no-table", "-v")), 0);
	assert_int_equal(opts.form, INFO_FORM_FIELDS);
	info_options_release(&opts);
}

static void test_info_actions(void **state)
{
	struct info_options opts;

	(void)state;
	assert_int_equal(info(&opts, ARGS("-g", "LOG")), 0);
	assert_int_equal(opts.action, INFO_ENV);
	assert_string_equal(opts.env_substr, "LOG");
	info_options_release(&opts);
	assert_int_equal(info(&opts, ARGS("--list", "--json")), 0);
	assert_int_equal(opts.action, INFO_LIST);
	info_options_release(&opts);
	assert_int_equal(info(&opts, ARGS("-h", "--nonsense")), 0);
	assert_int_equal(opts.action, INFO_HELP);
	info_options_release(&opts);
}

static void test_pp_defaults(void **state)
{
	struct pp_options opts;

	(void)state;
	assert_int_equal(pp(&opts, ARGS(NULL)), 0);
	assert_null(opts.dst_addr);
	assert_int_equal(opts.ep_type, FI_EP_DGRAM);
	assert_int_equal(opts.caps, FI_MSG);
	assert_int_equal(opts.iterations, 10);
	assert_int_equal(opts.sizes, PP_SIZES_DEFAULT);
	assert_false(opts.percentiles || opts.plot || opts.rate || opts.json);
}

static void test_pp_modes(void **state)
{
	struct pp_options opts;

	(void)state;
	assert_int_equal(pp(&opts, ARGS("--percentiles", "--json", "-c")), 0);
	assert_true(opts.percentiles && opts.json && !opts.plot && !opts.rate);
	assert_int_equal(opts.iterations, 10);
	assert_int_equal(pp(&opts, ARGS("--plot")), 0);
	assert_true(opts.percentiles && opts.plot);
	assert_int_equal(pp(&opts, ARGS("--rate", "--json", "-W", "100")), 0);
	assert_true(opts.rate && opts.json && !opts.percentiles);
	assert_int_equal(opts.window, 100);
	assert_int_equal(opts.iterations, 0);
	assert_int_equal(pp(&opts, ARGS("--rate", "-I", "7")), 0);
	assert_int_equal(opts.window, 0);
	assert_int_equal(opts.iterations, 7);
}

static void test_pp_all(void **state)
{
	struct pp_options opts;

	(void)state;
	assert_int_equal(pp(&opts, ARGS("-p", "verbs", "-e", "msg", "-m", "tagged", "-I", "1000",
					"-S", "0x1000", "-c", "-v", "-6", "-B", "1", "-P", "65535",
					"-d", "rxe0", "::1")),
			 0);
	assert_string_equal(opts.provider, "verbs");
	assert_string_equal(opts.domain, "rxe0");
	assert_string_equal(opts.dst_addr, "::1");
	assert_int_equal(opts.ep_type, FI_EP_MSG);
	assert_int_equal(opts.caps, FI_TAGGED);
	assert_int_equal(opts.iterations, 1000);
	assert_int_equal(opts.sizes, PP_SIZES_ONE);
	assert_int_equal(opts.size, 4096);
	assert_int_equal(opts.src_port, 1);
	assert_int_equal(opts.dst_port, 65535);
	assert_true(opts.check && opts.verbose && opts.ipv6);
	assert_int_equal(pp(&opts, ARGS("-S", "all", "-e", "rdm")), 0);
	assert_int_equal(opts.sizes, PP_SIZES_ALL);
	assert_int_equal(opts.ep_type, FI_EP_RDM);
}

static void test_pp_refuses(void **state)
{
	static const char *const bad[][2] = {
		{ "-B", "0" },
		{ "-B", "65536" },
		{ "-P", "-1" },
		{ "-P", "http" },
		{ "-I", "0" },
		{ "-I", "1000000000" },
		{ "-I", "" },
		{ "-I", "10x" },
		{ "-S", "-1" },
		{ "-S", "big" },
		{ "-e", "udp" },
		{ "-m", "rma" },
		{ "-W", "0" },
		{ "-W", "65537" },
		{ "-W", "8" },
		{ "--rate", "-c" },
		{ "--rate", "--plot" },
		{ "--json", "--plot" },
		{ "--rate", "--percentiles" },
		{ "-z", "1" },
		{ "host", "other" },
		{ "-S", "99999999999999999999" },
	};
	struct pp_options opts;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(pp(&opts, ARGS((char *)bad[i][0], (char *)bad[i][1])), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tclass),	      cmocka_unit_test(test_names),
		cmocka_unit_test(test_info_defaults), cmocka_unit_test(test_info_hints),
		cmocka_unit_test(test_info_source),   cmocka_unit_test(test_info_refuses),
		cmocka_unit_test(test_info_actions),  cmocka_unit_test(test_pp_defaults),
		cmocka_unit_test(test_pp_all),	      cmocka_unit_test(test_pp_refuses),
		cmocka_unit_test(test_info_form),     cmocka_unit_test(test_pp_modes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
