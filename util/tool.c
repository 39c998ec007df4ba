/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common parts of the tools: their name, the library's messages, providers that do not exist. */
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_ext.h>
#include "src/ds/suggest.h"

enum { MAX_NAMES = 32 };

static int log_enabled(const struct fi_provider *prov, enum fi_log_level level,
		       enum fi_log_subsys subsys, uint64_t flags)
{
	(void)prov;
	(void)subsys;
	(void)flags;
	return level <= FI_LOG_WARN;
}

static void log_print(const struct fi_provider *prov, enum fi_log_level level,
		      enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	(void)prov;
	(void)level;
	(void)subsys;
	(void)func;
	(void)line;
	fprintf(stderr, "%s: %s%s", program_invocation_short_name, msg,
		*msg && msg[strlen(msg) - 1] == '\n' ? "" : "\n");
}

static bool asks_for_log(void)
{
	return getenv("FI_LOG_LEVEL") || getenv("FI_LOG_PROV") || getenv("FI_LOG_SUBSYS") ||
	       getenv("FI_LOG_LOCATION");
}

/*
 * Occupies the standard descriptors that are closed, so that nothing else is opened as one of them.
 * Writing to them still fails.
 */
static void reserve_standard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void tool_start(char **argv)
{
	static struct fi_ops_log ops = { .size = sizeof(ops),
					 .enabled = log_enabled,
					 .log = log_print };
	static struct fid_logging log = { .ops = &ops };

	reserve_standard();
	argv[0] = program_invocation_short_name;
	/* A library that cannot pass on its log messages writes them itself. */
	if (!asks_for_log())
		fi_import_log(tool_api_version(), 0, &log);
}

int tool_end(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "%s: the output could not be written\n", program_invocation_short_name);
	return status ? status : EXIT_FAILURE;
}

uint32_t tool_api_version(void)
{
	uint32_t compiled = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);

	return FI_VERSION_LT(fi_version(), compiled) ? fi_version() : compiled;
}

void tool_version(FILE *out)
{
	fprintf(out, "%s: weft %s, libfabric API %u.%u\n", program_invocation_short_name,
		PACKAGE_VERSION, FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	fprintf(out, "libfabric: %s\n", fi_tostr("", FI_TYPE_VERSION));
}

static struct fi_info *providers(const char *wanted)
{
	struct fi_info *hints = fi_allocinfo(), *list = NULL;

	if (!hints)
		return NULL;
	hints->fabric_attr->prov_name = wanted ? strdup(wanted) : NULL;
	fi_getinfo(tool_api_version(), NULL, NULL, FI_PROV_ATTR_ONLY, hints, &list);
	fi_freeinfo(hints);
	return list;
}

static void say_missing(const char *wanted, const struct fi_info *list, char *text, size_t len)
{
	const char *names[MAX_NAMES] = { NULL };
	struct ofi_hint hint;
	size_t count = 0, used, i;

	for (; list && count < MAX_NAMES; list = list->next)
		names[count++] = list->fabric_attr->prov_name;
	hint = ofi_did_you_mean(wanted, names, count);
	used = (size_t)snprintf(text, len, "there is no provider %s%s%s there are:", wanted,
				hint.text, *hint.text ? "" : ";");
	for (i = 0; i < count && used < len; i++)
		used += (size_t)snprintf(text + used, len - used, " %s", names[i]);
}

bool tool_has_provider(const char *wanted, char *text, size_t len)
{
	struct fi_info *found = providers(wanted);
	struct fi_info *all = found ? NULL : providers(NULL);

	if (!found && !all)
		snprintf(
			text, len,
			"libfabric has no provider: none was built in, no plug-in was found in FI_PROVIDER_PATH, or FI_PROVIDER excludes all");
	else if (!found)
		say_missing(wanted, all, text, len);
	fi_freeinfo(all);
	if (!found)
		return false;
	fi_freeinfo(found);
	return true;
}
