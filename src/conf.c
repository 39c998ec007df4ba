/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads libfabric.conf, and chooses between it and the environment. */
#include "conf.h"

#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <unistd.h>
#include "log.h"
#include <rdma/providers/fi_log.h>

#define CONF_FILE SYSCONFDIR "/libfabric.conf"

struct entry {
	STAILQ_ENTRY(entry) link;
	char *value; /* points into text */
	char text[]; /* the line: the name with a terminating null, then the value */
};

/*
 * conf_load() sets these once. This file logs nothing while it loads or looks up values, because
 * the log itself may be the caller.
 */
static STAILQ_HEAD(, entry) entries = STAILQ_HEAD_INITIALIZER(entries);
static bool preferred; /* the file takes precedence over the environment */
static int bad_line;   /* number of the first line that is not an assignment */
static int error;      /* errno of the failed read */
static char *path;     /* NULL for CONF_FILE */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static char *trim_text(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

static char *unquote_text(char *text)
{
	size_t len = strlen(text);

	if (len < 2 || *text != '"' || text[len - 1] != '"')
		return text;
	text[len - 1] = '\0';
	return text + 1;
}

static bool is_name(const char *text)
{
	return !strncmp(text, "FI_", 3) && text[3] &&
	       !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

/* Parses "NAME = VALUE". Returns 0, EINVAL or ENOMEM. */
static int conf_add(const char *line)
{
	struct entry *entry = malloc(sizeof(*entry) + strlen(line) + 1);
	char *name, *equals;

	if (!entry)
		return ENOMEM;
	strcpy(entry->text, line);
	equals = strchr(entry->text, '=');
	if (equals)
		*equals = '\0';
	name = trim_text(entry->text);
	if (!equals || !is_name(name)) {
		free(entry);
		return EINVAL;
	}
	entry->value = unquote_text(trim_text(equals + 1));
	memmove(entry->text, name, strlen(name) + 1);
	/* The last of several lines with the same name wins. */
	STAILQ_INSERT_HEAD(&entries, entry, link);
	return 0;
}

static void read_file(FILE *file)
{
	char *line = NULL, *text;
	size_t size = 0;
	int number = 0;

	while (!error && getline(&line, &size, file) > 0) {
		number++;
		text = trim_text(line);
		if (!*text || *text == '#')
			continue;
		switch (conf_add(text)) {
		case ENOMEM:
			error = ENOMEM;
			break;
		case EINVAL:
			if (!bad_line)
				bad_line = number;
			break;
		}
	}
	if (!error && ferror(file))
		error = errno ? errno : EIO;
	free(line);
}

static const char *conf_find(const char *env)
{
	const struct entry *entry;

	STAILQ_FOREACH (entry, &entries, link) {
		if (!strcmp(entry->text, env))
			return entry->value;
	}
	return NULL;
}

static bool is_on(const char *text)
{
	return text && (!strcmp(text, "1") || !strcasecmp(text, "yes") ||
			!strcasecmp(text, "true") || !strcasecmp(text, "on"));
}

static const char *conf_name(void)
{
	return path ? path : CONF_FILE;
}

static void conf_load(void)
{
	FILE *file = fopen(conf_name(), "re");
	const char *prefer;

	if (!file) {
		error = errno;
		/* Without a free descriptor, fopen() fails before it looks for the file. */
		if (access(conf_name(), F_OK) && (errno == ENOENT || errno == ENOTDIR))
			error = 0;
		return;
	}
	read_file(file);
	fclose(file);
	prefer = secure_getenv("FI_PREFER_SYSCONFIG");
	preferred = is_on(prefer ? prefer : conf_find("FI_PREFER_SYSCONFIG"));
}

static const char *choose_path(const char *own, const char *env)
{
	const char *of_file;

	pthread_once(&once, conf_load);
	if (own && !preferred)
		return own;
	of_file = conf_find(env);
	return of_file ? of_file : own;
}

const char *ofi_conf_get(const char *env)
{
	return choose_path(getenv(env), env);
}

const char *ofi_conf_get_secure(const char *env)
{
	return choose_path(secure_getenv(env), env);
}

const char *ofi_conf_name(size_t i)
{
	const struct entry *entry;

	pthread_once(&once, conf_load);
	STAILQ_FOREACH (entry, &entries, link) {
		if (!i--)
			return entry->text;
	}
	return NULL;
}

int ofi_conf_error(void)
{
	pthread_once(&once, conf_load);
	return error == EMFILE || error == ENFILE || error == ENOMEM ? -error : 0;
}

/* Logs variables of the core that ofi_conf_get_secure() ignores in the environment. */
static void report_withheld(void)
{
	static const char *const names[] = { "FI_PROVIDER_PATH", "FI_LOG_LOCATION",
					     "FI_LOG_LOCATION_MODE", "FI_HOOK_FILE" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (ofi_conf_get(names[i]) && !ofi_conf_get_secure(names[i]))
			FI_WARN(&ofi_core_prov, FI_LOG_CORE,
				"%s is ignored in a program with elevated privileges (setuid, file capabilities); set it in %s\n",
				names[i], conf_name());
	}
}

void ofi_conf_report(void)
{
	const char *name = conf_name();

	report_withheld();
	if (ofi_conf_error())
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"%s cannot be read: %s; fi_getinfo fails in this process\n", name,
			strerror(error));
	else if (error)
		FI_WARN(&ofi_core_prov, FI_LOG_CORE, "%s cannot be read: %s; it is ignored\n", name,
			strerror(error));
	if (bad_line)
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"%s, line %d: not in the form FI_NAME=VALUE; the line is ignored\n", name,
			bad_line);
}

void ofi_conf_fini(void)
{
	struct entry *entry;

	while ((entry = STAILQ_FIRST(&entries))) {
		STAILQ_REMOVE_HEAD(&entries, link);
		free(entry);
	}
	free(path);
	path = NULL;
	preferred = false;
	bad_line = error = 0;
}

void ofi_conf_load(const char *file)
{
	pthread_once(&once, conf_load);
	ofi_conf_fini();
	path = strdup(file);
	conf_load();
}
