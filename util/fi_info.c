/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_info: prints what fi_getinfo offers, and with --why what it does not offer and why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "info_json.h"
#include "info_options.h"
#include "info_system.h"
#include "info_table.h"
#include "info_text.h"
#include "info_why.h"
#include "json.h"
#include "term.h"
#include "tool.h"

static int report(const char *call, int ret)
{
	if (ret)
		fprintf(stderr, "%s: %d (%s)\n", call, ret, fi_strerror(-ret));
	return ret;
}

static void say_text(void *context, const char *text)
{
	fprintf(context, "  - %s\n", text);
}

static void say_error(void *context, const char *text)
{
	fprintf(context, "fi_info: %s\n", text);
}

static void say_json(void *context, const char *text)
{
	json_string(context, NULL, text);
}

/* Checks whether the requested provider exists. */
static void check_provider(const struct info_options *opts,
			   void (*say)(void *context, const char *text), void *context)
{
	char text[512];

	if (!tool_has_provider(opts->hints->fabric_attr->prov_name, text, sizeof(text)))
		say(context, text);
}

static void check(const struct info_options *opts, void (*say)(void *context, const char *text),
		  void *context)
{
	check_provider(opts, say, context);
	info_system_check("", say, context);
}

static void why_text(const struct info_options *opts, const struct info_why *why,
		     const struct fi_info *list)
{
	if (list)
		putchar('\n');
	if (why->count)
		info_why_text(why, stdout);
	else
		puts(list ? "No candidate was rejected."
			  : "No candidate was found, so none was rejected.");
	if (!list && !info_why_is_plain(why)) {
		puts("\nNo device was reached. Check:");
		check(opts, say_text, stdout);
	}
}

static void why_json(const struct info_options *opts, const struct info_why *why,
		     const struct fi_info *list, struct json *json)
{
	info_why_json(why, json, "rejected");
	if (list || info_why_is_plain(why))
		return;
	json_array(json, "check");
	check(opts, say_json, json);
	json_array_end(json);
}

static bool wants_table(const struct info_options *opts)
{
	if (opts->form != INFO_FORM_AUTO)
		return opts->form == INFO_FORM_TABLE;
	return term_is(stdout) && !opts->verbose && !opts->info_substr;
}

static void print_entries(const struct info_options *opts, const struct fi_info *list)
{
	struct info_table_style style = { .colors = term_has_colors(stdout) };
	unsigned int lines;

	term_size(stdout, &lines, &style.columns);
	if (!wants_table(opts) || info_table_print(stdout, &style, opts, list))
		info_text_query(stdout, opts, list);
}

/* Nothing matched, and the user has not asked for the reasons. */
static void say_what_to_do(const struct info_options *opts)
{
	check_provider(opts, say_error, stderr);
	fputs("fi_info: nothing matches. fi_info --why with the same options says why, and fi_doctor checks this host\n",
	      stderr);
}

static void print_query(const struct info_options *opts, const struct fi_info *list,
			const struct info_why *why, int ret)
{
	struct json json = { .out = stdout };

	if (!opts->json) {
		print_entries(opts, list);
		if (opts->why)
			why_text(opts, why, list);
		return;
	}
	json_object(&json, NULL);
	info_json_query(&json, opts, list);
	if (opts->why)
		why_json(opts, why, list, &json);
	if (ret)
		info_json_error(&json, ret);
	json_object_end(&json);
}

static int run_query(const struct info_options *opts)
{
	struct info_why why = { 0 };
	struct fi_info *list = NULL;
	int ret;

	if (opts->why) {
		ret = info_why_start(&why, tool_api_version());
		if (ret) {
			fprintf(stderr, "error: this libfabric (%s) gives no reasons\n",
				fi_tostr("", FI_TYPE_VERSION));
			return report("fi_open(\"explain\")", ret);
		}
	}
	ret = fi_getinfo(tool_api_version(), opts->node, opts->service, opts->flags,
			 opts->filtered ? opts->hints : NULL, &list);
	info_why_stop(&why);
	if (why.failed) {
		ret = report("fi_info", -FI_ENOMEM);
	} else {
		print_query(opts, list, &why, ret);
		fflush(stdout);
		if (ret == -FI_ENODATA && !opts->why && !opts->json)
			say_what_to_do(opts);
		report("fi_getinfo", ret);
	}
	fi_freeinfo(list);
	info_why_release(&why);
	return ret;
}

static int run_list(const struct info_options *opts)
{
	struct json json = { .out = stdout };
	struct fi_info *list = NULL;
	int ret;

	ret = fi_getinfo(tool_api_version(), NULL, NULL, FI_PROV_ATTR_ONLY, NULL, &list);
	if (opts->json) {
		json_object(&json, NULL);
		info_json_providers(&json, list);
		if (ret)
			info_json_error(&json, ret);
		json_object_end(&json);
	} else {
		info_text_providers(stdout, opts, list);
	}
	fi_freeinfo(list);
	return report("fi_getinfo", ret);
}

static int run_env(const struct info_options *opts)
{
	struct json json = { .out = stdout };
	struct fi_param *params = NULL;
	int count = 0;
	int ret;

	ret = fi_getparams(&params, &count);
	if (ret)
		return report("fi_getparams", ret);
	if (opts->json) {
		json_object(&json, NULL);
		info_json_params(&json, opts, params, count);
		json_object_end(&json);
	} else {
		info_text_params(stdout, opts, params, count);
	}
	fi_freeparams(params);
	return 0;
}

static int run(const struct info_options *opts)
{
	struct json json = { .out = stdout };

	switch (opts->action) {
	case INFO_LIST:
		return run_list(opts);
	case INFO_ENV:
		return run_env(opts);
	case INFO_HELP:
		info_options_usage(stdout);
		return 0;
	case INFO_VERSION:
		if (opts->json)
			info_json_version(&json);
		else
			info_text_version(stdout);
		return 0;
	default:
		return run_query(opts);
	}
}

int main(int argc, char **argv)
{
	struct info_options opts;
	int ret;

	tool_start(argv);
	ret = info_options_parse(&opts, argc, argv);
	if (!ret)
		ret = -run(&opts);
	info_options_release(&opts);
	/* An exit status has eight bits. */
	return tool_end(ret < 0 || ret > 255 ? EXIT_FAILURE : ret);
}
