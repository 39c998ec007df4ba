/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The output of hooks: FI_HOOK_FILE, or else the log. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/conf.h"
#include "src/log.h"
#include "src/ds/own_fd.h"
#include "hook.h"

enum { LINE = 1024 };

static struct ofi_own_fd out = OFI_OWN_FD_INIT;

/* An existing file is never overwritten, whoever created it. */
static int open_file(const char *path)
{
	char inside[4096];
	struct stat st;

	if (!strcmp(path, "stderr"))
		return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (!strcmp(path, "stdout"))
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		snprintf(inside, sizeof(inside), "%s/ofi_hook_%d.log", path, (int)getpid());
		path = inside;
	}
	return open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* A user who asks for a hook expects output, so a log level that hides it causes a warning. */
static void warn_unseen(bool trace, bool perf)
{
	const char *level = NULL;

	if (trace && !fi_log_enabled(&ofi_core_prov, FI_LOG_TRACE, FI_LOG_CORE))
		level = "trace";
	else if (perf && !fi_log_enabled(&ofi_core_prov, FI_LOG_INFO, FI_LOG_CORE))
		level = "info";
	if (level)
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"FI_HOOK writes to the log at level %s, which FI_LOG_LEVEL excludes; set FI_LOG_LEVEL=%s or FI_HOOK_FILE=stderr\n",
			level, level);
}

void ofi_hook_out_open(bool trace, bool perf)
{
	const char *path = ofi_conf_get_secure("FI_HOOK_FILE");

	if (path && *path && !ofi_own_fd_take(&out, open_file(path)))
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"FI_HOOK_FILE=%s: %s; it takes stderr, stdout, a directory, or a file that does not exist yet; the log is used\n",
			path, strerror(errno));
	if (out.fd < 0)
		warn_unseen(trace, perf);
}

void ofi_hook_out(enum fi_log_level level, const char *format, ...)
{
	char line[LINE];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (len < 0)
		return;
	if (len > LINE - 2)
		len = LINE - 2;
	if (out.fd < 0) {
		FI_LOG(&ofi_core_prov, level, FI_LOG_CORE, "%s\n", line);
		return;
	}
	line[len] = '\n';
	(void)!write(ofi_own_fd_valid(&out) ? out.fd : STDERR_FILENO, line, (size_t)len + 1);
}

void ofi_hook_out_close(void)
{
	ofi_own_fd_drop(&out);
}
