/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads a provider's parameter table and looks for unknown variables with its prefix. */

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <rdma/providers/fi_log.h>
#include "params.h"
#include "src/ds/suggest.h"

#define NAME_LEN 128

/* Converts "verbs" and "tx_size" to "FI_VERBS_TX_SIZE". */
static void env_name(char *buf, const char *prov, const char *param)
{
	snprintf(buf, NAME_LEN, "FI_%s_%s", prov, param);
	for (; *buf; buf++)
		*buf = toupper((unsigned char)*buf);
}

static int param_define(const struct fi_provider *prov, const struct ofi_param *row)
{
	switch (row->type) {
	case FI_PARAM_STRING:
		return fi_param_define(prov, row->name, row->type, "%s (default: %s)", row->doc,
				       row->text ? row->text : "none");
	case FI_PARAM_BOOL:
		return fi_param_define(prov, row->name, row->type, "%s (default: %s)", row->doc,
				       row->def ? "yes" : "no");
	default:
		return fi_param_define(prov, row->name, row->type, "%s (%ld to %ld, default: %ld)",
				       row->doc, row->min, row->max, row->def);
	}
}

static void warn_range(struct fi_provider *prov, const struct ofi_param *row, long long set)
{
	char name[NAME_LEN];

	env_name(name, prov->name, row->name);
	FI_WARN(prov, FI_LOG_CORE, "%s=%lld is out of range (%ld to %ld); using the default, %ld\n",
		name, set, row->min, row->max, row->def);
}

/* fi_param_get has warned if the value has the wrong type. */
static void load_int(struct fi_provider *prov, const struct ofi_param *row, int *value)
{
	int set = row->def;

	*value = row->def;
	if (fi_param_get(prov, row->name, &set))
		return;
	if (set < row->min || set > row->max)
		warn_range(prov, row, (long long)set);
	else
		*value = set;
}

static void load_size(struct fi_provider *prov, const struct ofi_param *row, size_t *value)
{
	size_t set = row->def;

	*value = row->def;
	if (fi_param_get(prov, row->name, &set))
		return;
	if (set < (size_t)row->min || set > (size_t)row->max)
		warn_range(prov, row, (long long)set);
	else
		*value = set;
}

static void load_string(struct fi_provider *prov, const struct ofi_param *row, const char **value)
{
	char *set = NULL;
	int ret = fi_param_get(prov, row->name, &set);

	*value = !ret && set && (*set || row->strict) ? set : NULL;
}

static void param_load(struct fi_provider *prov, const struct ofi_param *row, void *values)
{
	void *field = (char *)values + row->offset;

	switch (row->type) {
	case FI_PARAM_STRING:
		load_string(prov, row, field);
		break;
	case FI_PARAM_INT:
	case FI_PARAM_BOOL:
		load_int(prov, row, field);
		break;
	case FI_PARAM_SIZE_T:
		load_size(prov, row, field);
		break;
	}
}

/* A value equal to the default is not reported; one that is out of range has been reported. */
static void check_unused(struct fi_provider *prov, const struct ofi_param *row)
{
	union {
		int number;
		size_t size;
		const char *text;
	} value;
	char name[NAME_LEN];
	bool same;

	param_load(prov, row, &value);
	if (row->type == FI_PARAM_STRING)
		same = !value.text;
	else if (row->type == FI_PARAM_SIZE_T)
		same = value.size == (size_t)row->def;
	else
		same = value.number == row->def;
	env_name(name, prov->name, row->name);
	if (!same)
		FI_WARN(prov, FI_LOG_CORE, "%s is set: %s\n", name, row->doc);
}

static bool is_row(const struct ofi_param *table, size_t count, const char *name)
{
	while (count--) {
		if (!strcasecmp(table[count].name, name))
			return true;
	}
	return false;
}

static void warn_unknown(struct fi_provider *prov, const struct ofi_param *table, size_t count,
			 const char *env, const char *name)
{
	const char *names[count];
	char nearest[NAME_LEN];
	const char *suggestion;
	size_t i;

	for (i = 0; i < count; i++)
		names[i] = table[i].name;
	suggestion = ofi_suggest(name, names, count);
	if (!suggestion) {
		FI_WARN(prov, FI_LOG_CORE, "%s is not a parameter of %s; fi_info -e lists them\n",
			env, prov->name);
		return;
	}
	env_name(nearest, prov->name, suggestion);
	FI_WARN(prov, FI_LOG_CORE, "%s is not a parameter of %s; did you mean %s?\n", env,
		prov->name, nearest);
}

static void check_environment(struct fi_provider *prov, const struct ofi_param *table, size_t count)
{
	char prefix[NAME_LEN], env[NAME_LEN];
	size_t len;
	char **var;

	env_name(prefix, prov->name, "");
	len = strlen(prefix);
	for (var = environ; var && *var; var++) {
		if (strncmp(*var, prefix, len))
			continue;
		snprintf(env, sizeof(env), "%.*s", (int)strcspn(*var, "="), *var);
		if (!is_row(table, count, env + len))
			warn_unknown(prov, table, count, env, env + len);
	}
}

void ofi_params_load(struct fi_provider *prov, const struct ofi_param *table, size_t count,
		     void *values)
{
	size_t i;

	/*
	 * If the core cannot define a parameter because memory is short, it logs that, and the
	 * parameter keeps its default.
	 */
	for (i = 0; i < count; i++) {
		param_define(prov, &table[i]);
		if (table[i].unused)
			check_unused(prov, &table[i]);
		else
			param_load(prov, &table[i], values);
	}
	check_environment(prov, table, count);
}
