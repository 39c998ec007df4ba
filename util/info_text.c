/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The text output of fi_info. */
#include "info_text.h"
#include "info_tclass.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

const char *info_tool_version(void)
{
	return PACKAGE_VERSION;
}

bool info_selected(const struct info_options *opts, const struct fi_info *info)
{
	return !opts->info_substr || strcasestr(fi_tostr(info, FI_TYPE_INFO), opts->info_substr);
}

bool info_param_selected(const struct info_options *opts, const struct fi_param *param)
{
	return !opts->env_substr || strcasestr(param->name, opts->env_substr);
}

const char *info_param_type(enum fi_param_type type)
{
	switch (type) {
	case FI_PARAM_STRING:
		return "String";
	case FI_PARAM_INT:
		return "Integer";
	case FI_PARAM_BOOL:
		return "Boolean (0/1, on/off, true/false, yes/no)";
	case FI_PARAM_SIZE_T:
		return "size_t";
	default:
		return "Unknown";
	}
}

const char *info_param_origin(const struct fi_param *param)
{
	const char *env = getenv(param->name);

	if (!param->value)
		return "default";
	return env && !strcmp(env, param->value) ? "environment" : "configuration";
}

const char *info_param_shown(const struct fi_param *param)
{
	const char *end = strstr(param->name, "_AUTH_KEY");

	return param->value && end && !strcmp(end, "_AUTH_KEY") ? "(set)" : param->value;
}

/* The library prints addresses only as lines of a whole fi_info. */
bool info_text_address(const struct fi_info *info, char *text, size_t len)
{
	static const char title[] = "    src_addr: ";
	const char *line = info->src_addr ? strstr(fi_tostr(info, FI_TYPE_INFO), title) : NULL;

	if (!line)
		return false;
	line += sizeof(title) - 1;
	snprintf(text, len, "%.*s", (int)strcspn(line, "\n"), line);
	return true;
}

static void print_address(FILE *out, const struct fi_info *info)
{
	char text[1024];

	if (info_text_address(info, text, sizeof(text)))
		fprintf(out, "    address: %s\n", text);
}

static void print_short(FILE *out, const struct fi_info *info)
{
	const struct fi_fabric_attr *fabric = info->fabric_attr;

	fprintf(out, "provider: %s\n", fabric->prov_name);
	fprintf(out, "    fabric: %s\n", fabric->name);
	fprintf(out, "    domain: %s\n", info->domain_attr->name);
	fprintf(out, "    version: %d.%d\n", FI_MAJOR(fabric->prov_version),
		FI_MINOR(fabric->prov_version));
	fprintf(out, "    type: %s\n", fi_tostr(&info->ep_attr->type, FI_TYPE_EP_TYPE));
	fprintf(out, "    protocol: %s\n", fi_tostr(&info->ep_attr->protocol, FI_TYPE_PROTOCOL));
	print_address(out, info);
}

static void print_long(FILE *out, const struct fi_info *info)
{
	fprintf(out, "---\n%s", fi_tostr(info, FI_TYPE_INFO));
	info_tclass_print(out, info);
}

void info_text_query(FILE *out, const struct info_options *opts, const struct fi_info *list)
{
	const struct fi_info *info;

	for (info = list; info; info = info->next) {
		if (!info_selected(opts, info))
			continue;
		if (opts->verbose || opts->info_substr)
			print_long(out, info);
		else
			print_short(out, info);
	}
}

void info_text_providers(FILE *out, const struct info_options *opts, const struct fi_info *list)
{
	const struct fi_info *info;

	for (info = list; info; info = info->next) {
		if (opts->verbose) {
			print_long(out, info);
			continue;
		}
		fprintf(out, "%s:\n", info->fabric_attr->prov_name);
		fprintf(out, "    version: %d.%d\n", FI_MAJOR(info->fabric_attr->prov_version),
			FI_MINOR(info->fabric_attr->prov_version));
	}
}

void info_text_params(FILE *out, const struct info_options *opts, const struct fi_param *params,
		      int count)
{
	const struct fi_param *param;
	const char *quote;

	for (param = params; param < params + count; param++) {
		if (!info_param_selected(opts, param))
			continue;
		fprintf(out, "# %s: %s\n", param->name, info_param_type(param->type));
		fprintf(out, "# %s\n", param->help_string ? param->help_string : "");
		if (param->value) {
			quote = strchr(param->value, ' ') ? "\"" : "";
			fprintf(out, "# from: %s\n", info_param_origin(param));
			fprintf(out, "%s=%s%s%s\n", param->name, quote, info_param_shown(param),
				quote);
		}
		fputc('\n', out);
	}
}

void info_text_version(FILE *out)
{
	fprintf(out, "fi_info: weft %s\n", info_tool_version());
	fprintf(out, "libfabric: %s\n", fi_tostr("", FI_TYPE_VERSION));
	fprintf(out, "libfabric api: %d.%d\n", FI_MAJOR_VERSION, FI_MINOR_VERSION);
}
