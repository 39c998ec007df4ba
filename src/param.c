/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Run-time parameters defined by providers and the core, and their values. */
#include "param.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include "conf.h"
#include "export.h"
#include "log.h"
#include "provider.h"
#include "src/ds/fork.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

enum { ENV_LEN = 256 };

/* A value that was returned. The caller may keep it after the environment has changed. */
struct text {
	SLIST_ENTRY(text) link;
	char value[];
};

struct param {
	STAILQ_ENTRY(param) link;
	char *env;
	char *help;
	enum fi_param_type type;
	bool warned; /* an invalid value has been reported */
	SLIST_HEAD(, text) texts;
};

static STAILQ_HEAD(param_list, param) params = STAILQ_HEAD_INITIALIZER(params);
static size_t param_count;
OFI_FORK_MUTEX(params_lock, OFI_FORK_INNER); /* guards both */

static int env_name(const struct fi_provider *prov, const char *name, char env[ENV_LEN])
{
	bool core = !prov || !prov->name || prov == &ofi_core_prov;
	int len, i;

	len = snprintf(env, ENV_LEN, "FI_%s%s%s", core ? "" : prov->name, core ? "" : "_", name);
	if (len < 0 || len >= ENV_LEN)
		return -FI_EINVAL;
	for (i = 0; i < len; i++)
		env[i] = (char)toupper((unsigned char)env[i]);
	return 0;
}

static struct param *param_find(const char *env)
{
	struct param *param;

	STAILQ_FOREACH (param, &params, link) {
		if (!strcmp(param->env, env))
			return param;
	}
	return NULL;
}

static void param_free(struct param *param)
{
	struct text *text;

	if (!param)
		return;
	while ((text = SLIST_FIRST(&param->texts))) {
		SLIST_REMOVE_HEAD(&param->texts, link);
		free(text);
	}
	free(param->env);
	free(param->help);
	free(param);
}

static int param_add(const char *env, enum fi_param_type type, const char *fmt, va_list args)
{
	struct param *param;

	param = calloc(1, sizeof(*param));
	if (!param)
		return -FI_ENOMEM;
	param->type = type;
	param->env = strdup(env);
	if (vasprintf(&param->help, fmt, args) < 0)
		param->help = NULL;
	if (!param->env || !param->help) {
		param_free(param);
		return -FI_ENOMEM;
	}
	STAILQ_INSERT_TAIL(&params, param, link);
	param_count++;
	return 0;
}

OFI_EXPORT int fi_param_define(const struct fi_provider *provider, const char *param_name,
			       enum fi_param_type type, const char *help_string_fmt, ...)
{
	struct param *param;
	char env[ENV_LEN];
	va_list args;
	int ret;

	if (!param_name || !*param_name || !help_string_fmt || !*help_string_fmt ||
	    (unsigned)type > FI_PARAM_SIZE_T || env_name(provider, param_name, env)) {
		FI_WARN(provider, FI_LOG_CORE,
			"fi_param_define(%s): needs a name, a type and a help text\n",
			param_name ? param_name : "NULL");
		return -FI_EINVAL;
	}
	pthread_mutex_lock(&params_lock);
	param = param_find(env);
	if (param) {
		ret = param->type == type ? 0 : -FI_EINVAL;
	} else {
		va_start(args, help_string_fmt);
		ret = param_add(env, type, help_string_fmt, args);
		va_end(args);
	}
	pthread_mutex_unlock(&params_lock);
	if (ret)
		FI_WARN(provider, FI_LOG_CORE, "fi_param_define(%s): %s\n", env,
			ret == -FI_EINVAL ? "defined before with another type" : "out of memory");
	return ret;
}

static int parse_bool(const char *text, int *value)
{
	static const char *const words[] = { "0", "1", "no", "yes", "false", "true", "off", "on" };
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcasecmp(text, words[i])) {
			*value = i & 1;
			return 0;
		}
	}
	return -FI_EINVAL;
}

static int parse_int(const char *text, int *value)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 0);
	if (errno || end == text || *end || n < INT_MIN || n > INT_MAX)
		return -FI_EINVAL;
	*value = (int)n;
	return 0;
}

static int parse_size(const char *text, size_t *value)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || end == text || *end || n > SIZE_MAX ||
	    (strchr(text, '-') && strcmp(text, "-1")))
		return -FI_EINVAL;
	*value = (size_t)n;
	return 0;
}

static int parse_value(enum fi_param_type type, char *text, void *value)
{
	switch (type) {
	case FI_PARAM_STRING:
		*(char **)value = text;
		return 0;
	case FI_PARAM_INT:
		return parse_int(text, value);
	case FI_PARAM_BOOL:
		return parse_bool(text, value);
	case FI_PARAM_SIZE_T:
		return parse_size(text, value);
	}
	return -FI_EINVAL;
}

static const char *type_takes(enum fi_param_type type)
{
	switch (type) {
	case FI_PARAM_INT:
		return "an integer";
	case FI_PARAM_BOOL:
		return "0, 1, no, yes, false, true, off or on";
	case FI_PARAM_SIZE_T:
		return "a non-negative number, or -1 for the largest";
	default:
		return "a text";
	}
}

/*
 * A program with elevated privileges, such as setuid, does not open a file that its caller has
 * chosen.
 */
static const char *param_text(const char *env)
{
	size_t len = strlen(env);

	if (len > 5 && !strcmp(env + len - 5, "_FILE"))
		return ofi_conf_get_secure(env);
	return ofi_conf_get(env);
}

/*
 * Returns a copy that lasts as long as the parameter. If memory is short, it returns the value
 * itself, which is valid until the environment changes.
 */
static char *keep_text(struct param *param, char *value)
{
	size_t len = strlen(value);
	struct text *text;

	SLIST_FOREACH (text, &param->texts, link) {
		if (!strcmp(text->value, value))
			return text->value;
	}
	text = calloc(1, sizeof(*text) + len + 1);
	if (!text)
		return value;
	memcpy(text->value, value, len);
	SLIST_INSERT_HEAD(&param->texts, text, link);
	return text->value;
}

OFI_EXPORT int fi_param_get(struct fi_provider *provider, const char *param_name, void *value)
{
	enum fi_param_type type = FI_PARAM_STRING;
	bool known = false, warn = false;
	struct param *param;
	char env[ENV_LEN];
	char *text;
	int ret;

	if (!param_name || !value || env_name(provider, param_name, env))
		return -FI_EINVAL;
	text = (char *)param_text(env);
	pthread_mutex_lock(&params_lock);
	param = param_find(env);
	if (param) {
		known = true;
		type = param->type;
		warn = text && !param->warned && parse_value(type, text, &(char *[2]){ NULL }) != 0;
		param->warned |= warn;
		if (text && type == FI_PARAM_STRING)
			text = keep_text(param, text);
	}
	pthread_mutex_unlock(&params_lock);
	if (!known)
		return -FI_ENOENT;
	if (!text)
		return -FI_ENODATA;
	ret = parse_value(type, text, value);
	if (warn)
		FI_WARN(provider, FI_LOG_CORE,
			"%s=%s is not valid; it takes %s; using the default\n", env, text,
			type_takes(type));
	return ret;
}

/*
 * Copies the array and, after it, the strings into one allocation, so that freeing needs no count.
 */
static struct fi_param *params_copy(void)
{
	struct fi_param *copy, *to;
	struct param *param;
	size_t bytes = (param_count + 1) * sizeof(*copy), values = 0, len;
	const char *value;
	char *text;

	STAILQ_FOREACH (param, &params, link) {
		value = param_text(param->env);
		bytes += strlen(param->env) + strlen(param->help) + 2;
		values += value ? strlen(value) + 1 : 0;
	}
	copy = calloc(1, bytes + values);
	if (!copy)
		return NULL;
	to = copy;
	text = (char *)(copy + param_count + 1);
	STAILQ_FOREACH (param, &params, link) {
		value = param_text(param->env);
		to->type = param->type;
		to->name = text;
		text = stpcpy(text, param->env) + 1;
		to->help_string = text;
		text = stpcpy(text, param->help) + 1;
		len = value ? strlen(value) + 1 : 0;
		/* Another thread may change the value meanwhile. */
		if (len && len <= values) {
			to->value = memcpy(text, value, len);
			text[len - 1] = '\0';
			text += len;
			values -= len;
		}
		to++;
	}
	return copy;
}

OFI_EXPORT int fi_getparams(struct fi_param **list, int *count)
{
	struct fi_param *copy;
	size_t n;

	if (!list || !count)
		return -FI_EINVAL;
	ofi_providers(); /* each provider defines its parameters when it starts */
	pthread_mutex_lock(&params_lock);
	copy = params_copy();
	n = param_count;
	pthread_mutex_unlock(&params_lock);
	if (!copy)
		return -FI_ENOMEM;
	*list = copy;
	*count = (int)n;
	return 0;
}

OFI_EXPORT void fi_freeparams(struct fi_param *list)
{
	free(list);
}

bool ofi_param_defined(const char *env)
{
	bool found;

	pthread_mutex_lock(&params_lock);
	found = param_find(env) != NULL;
	pthread_mutex_unlock(&params_lock);
	return found;
}

void ofi_param_fini(void)
{
	struct param *param;

	pthread_mutex_lock(&params_lock);
	while ((param = STAILQ_FIRST(&params))) {
		STAILQ_REMOVE_HEAD(&params, link);
		param_free(param);
	}
	param_count = 0;
	pthread_mutex_unlock(&params_lock);
}
