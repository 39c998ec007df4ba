/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The log: selects messages according to FI_LOG_* and writes each on one line. */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "conf.h"
#include "export.h"
#include "fid.h"
#include "filter.h"
#include "src/ds/clock.h"
#include "src/ds/own_fd.h"
#include "src/ds/suggest.h"
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_prov.h>

enum { LOG_NOTHING = -1, LOG_LINE = 2048, LOG_INTERVAL_MS = 2000 };

const struct fi_provider ofi_core_prov = { .name = "core" };

/*
 * Level names by number, followed by "none", and by "error" for users who expect a level below
 * "warn", which does not exist.
 */
static const char *const levels[] = { "warn", "trace", "info", "debug", "none", "error" };
static const char *const subsystems[] = { "core", "fabric", "domain", "ep_ctrl", "ep_data",
					  "av",	  "cq",	    "eq",     "mr",	 "cntr" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Set once by log_init(), constant afterward. */
static struct {
	int level;
	int fd; /* if there is no file, or no longer */
	struct ofi_own_fd file;
	uint64_t interval;
	char *provs;
	char *subsys;
} config = { .level = FI_LOG_WARN,
	     .fd = STDERR_FILENO,
	     .file = OFI_OWN_FD_INIT,
	     .interval = LOG_INTERVAL_MS };
static pthread_once_t config_once = PTHREAD_ONCE_INIT;

/* The application's log, NULL for the library's own; accessed atomically. */
static struct fid_logging *imported;

static void log_emit(const struct fi_provider *prov, enum fi_log_level level,
		     enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	char text[LOG_LINE + 256];
	size_t len, done = 0;
	ssize_t n;
	int size, fd;

	size = snprintf(text, sizeof(text), "libfabric:%d:%lld:%s:%s:%s():%d<%s> %s\n",
			(int)getpid(), (long long)time(NULL),
			prov && prov->name ? prov->name : "core",
			subsys < COUNT(subsystems) ? subsystems[subsys] : "?", func ? func : "?",
			line, level <= FI_LOG_DEBUG ? levels[level] : "?", msg);
	if (size < 0)
		return;
	len = (size_t)size;
	if (len >= sizeof(text)) {
		len = sizeof(text) - 1;
		memcpy(text + len - 4, "...\n", 4);
	}
	fd = ofi_own_fd_valid(&config.file) ? config.file.fd : config.fd;
	while (done < len) {
		n = write(fd, text + done, len - done);
		if (n < 0 && errno != EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
}

static char *env_copy(const char *name)
{
	const char *value = ofi_conf_get(name);

	return value && *value ? strdup(value) : NULL;
}

/* Called while the configuration is being read, when the log cannot be used yet. */
static void complain(const char *name, const char *value, const char *remedy, const char *hint)
{
	char msg[512];

	snprintf(msg, sizeof(msg), "%s=%s: %s%s", name, value, remedy, hint);
	log_emit(NULL, FI_LOG_WARN, FI_LOG_CORE, "log_init", __LINE__, msg);
}

static void read_level(void)
{
	const char *value = ofi_conf_get("FI_LOG_LEVEL");
	size_t i;

	if (!value || !*value)
		return;
	for (i = 0; i < COUNT(levels) && strcasecmp(value, levels[i]); i++)
		;
	if (i <= FI_LOG_DEBUG)
		config.level = (int)i;
	else if (i < COUNT(levels))
		config.level = strcmp(levels[i], "none") ? FI_LOG_WARN : LOG_NOTHING;
	else
		complain("FI_LOG_LEVEL", value,
			 "takes error, warn, trace, info, debug or none; logging at warn",
			 ofi_did_you_mean(value, levels, COUNT(levels)).text);
}

static void read_subsys(void)
{
	const char *rest;
	char word[64];
	size_t i;

	config.subsys = env_copy("FI_LOG_SUBSYS");
	rest = config.subsys;
	if (rest && *rest == '^')
		rest++;
	while (ofi_word_next(&rest, ",", word, sizeof(word))) {
		for (i = 0; i < COUNT(subsystems) && strcasecmp(word, subsystems[i]); i++)
			;
		if (i == COUNT(subsystems))
			complain("FI_LOG_SUBSYS", word, "no such subsystem",
				 ofi_did_you_mean(word, subsystems, COUNT(subsystems)).text);
	}
}

static void read_interval(void)
{
	const char *value = ofi_conf_get("FI_LOG_INTERVAL");
	unsigned long ms;
	char *end;

	if (!value || !*value)
		return;
	errno = 0;
	ms = strtoul(value, &end, 0);
	if (errno || *end || strchr(value, '-') || ms > LLONG_MAX)
		complain("FI_LOG_INTERVAL", value, "takes milliseconds; using 2000", "");
	else
		config.interval = ms;
}

static mode_t read_mode(void)
{
	const char *value = ofi_conf_get_secure("FI_LOG_LOCATION_MODE");
	unsigned long mode;
	char *end;

	if (!value || !*value)
		return 0600;
	mode = strtoul(value, &end, 8);
	if (!*end && mode <= 0777)
		return (mode_t)mode;
	complain("FI_LOG_LOCATION_MODE", value, "takes octal file permissions; using 0600", "");
	return 0600;
}

static void read_location(void)
{
	const char *value = ofi_conf_get_secure("FI_LOG_LOCATION");
	char path[4096];
	struct stat st;
	int fd;

	if (!value || !*value || !strcasecmp(value, "stderr"))
		return;
	if (!strcasecmp(value, "stdout")) {
		config.fd = STDOUT_FILENO;
		return;
	}
	if (!stat(value, &st) && S_ISDIR(st.st_mode))
		snprintf(path, sizeof(path), "%s/ofi_%d.log", value, (int)getpid());
	else
		snprintf(path, sizeof(path), "%s", value);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, read_mode());
	if (!ofi_own_fd_take(&config.file, fd))
		complain("FI_LOG_LOCATION", value,
			 errno == EEXIST ? "the file exists already; logging to stderr"
					 : "cannot create the file; logging to stderr",
			 "");
}

static void log_init(void)
{
	config.provs = env_copy("FI_LOG_PROV");
	read_location();
	read_level();
	read_subsys();
	read_interval();
}

static bool prov_passes(const struct fi_provider *prov)
{
	return !config.provs ||
	       ofi_filter_pass(config.provs, prov && prov->name ? prov->name : "core");
}

static bool subsys_passes(enum fi_log_subsys subsys)
{
	return !config.subsys ||
	       (subsys < COUNT(subsystems) && ofi_filter_pass(config.subsys, subsystems[subsys]));
}

OFI_EXPORT int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
			      enum fi_log_subsys subsys)
{
	const struct fid_logging *log = __atomic_load_n(&imported, __ATOMIC_ACQUIRE);

	pthread_once(&config_once, log_init);
	if (log && log->ops->enabled)
		return log->ops->enabled(prov, level, subsys,
					 prov_passes(prov) ? 0 : FI_LOG_PROV_FILTERED);
	return (int)level <= config.level && subsys_passes(subsys) && prov_passes(prov);
}

OFI_EXPORT int fi_log_ready(const struct fi_provider *prov, enum fi_log_level level,
			    enum fi_log_subsys subsys, uint64_t *showtime)
{
	const struct fid_logging *log = __atomic_load_n(&imported, __ATOMIC_ACQUIRE);
	uint64_t now, next;

	pthread_once(&config_once, log_init);
	if (log && log->ops->ready)
		return log->ops->ready(prov, level, subsys,
				       prov_passes(prov) ? 0 : FI_LOG_PROV_FILTERED, showtime);
	if (!fi_log_enabled(prov, level, subsys))
		return 0;
	now = ofi_now_ms();
	next = __atomic_load_n(showtime, __ATOMIC_RELAXED);
	if (now < next)
		return 0;
	return __atomic_compare_exchange_n(showtime, &next, now + config.interval, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Turns the message into one line: drops final newlines and replaces others by spaces. */
static void flatten_msg(char *msg)
{
	size_t len = strlen(msg), i;

	while (len && msg[len - 1] == '\n')
		msg[--len] = '\0';
	for (i = 0; i < len; i++) {
		if (msg[i] == '\n' || msg[i] == '\r')
			msg[i] = ' ';
	}
}

OFI_EXPORT void fi_log(const struct fi_provider *prov, enum fi_log_level level,
		       enum fi_log_subsys subsys, const char *func, int line, const char *fmt, ...)
{
	const struct fid_logging *log = __atomic_load_n(&imported, __ATOMIC_ACQUIRE);
	int saved = errno;
	char msg[LOG_LINE];
	va_list args;

	pthread_once(&config_once, log_init);
	va_start(args, fmt);
	if (vsnprintf(msg, sizeof(msg), fmt, args) >= (int)sizeof(msg))
		memcpy(msg + sizeof(msg) - 4, "...", 4);
	va_end(args);
	if (log && log->ops->log) {
		log->ops->log(prov, level, subsys, func, line, msg);
	} else {
		flatten_msg(msg);
		log_emit(prov, level, subsys, func, line, msg);
	}
	errno = saved;
}

/* Used for an imported log without ops of its fid: closing it restores the library's own log. */
static int import_close(struct fid *fid)
{
	struct fid_logging *log = (struct fid_logging *)fid;

	__atomic_compare_exchange_n(&imported, &log, NULL, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	return 0;
}

static struct fi_ops import_ops = { .size = sizeof(import_ops),
				    .close = import_close,
				    .bind = ofi_fid_no_bind,
				    .control = ofi_fid_no_control,
				    .ops_open = ofi_fid_no_ops_open };

/* The object of fi_open("logging"). At most one is open. */
static struct fid handle;
static bool handle_open;

static int handle_close(struct fid *fid)
{
	(void)fid;
	__atomic_store_n(&handle_open, false, __ATOMIC_RELEASE);
	return 0;
}

static int handle_import(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct fid_logging *log = (struct fid_logging *)bfid;

	(void)fid;
	if (flags)
		return -FI_EBADFLAGS;
	if (!bfid || bfid->fclass != FI_CLASS_LOG || !log->ops ||
	    log->ops->size < sizeof(struct fi_ops_log))
		return -FI_EINVAL;
	if (!log->fid.ops)
		log->fid.ops = &import_ops;
	__atomic_store_n(&imported, log, __ATOMIC_RELEASE);
	return 0;
}

static struct fi_ops handle_ops = { .size = sizeof(handle_ops),
				    .close = handle_close,
				    .bind = handle_import,
				    .control = ofi_fid_no_control,
				    .ops_open = ofi_fid_no_ops_open };

int ofi_log_open(void *attr, size_t attr_len, uint64_t flags, struct fid **fid, void *context)
{
	(void)attr;
	if (flags)
		return -FI_EBADFLAGS;
	if (attr_len)
		return -FI_EINVAL;
	if (__atomic_exchange_n(&handle_open, true, __ATOMIC_ACQ_REL))
		return -FI_EALREADY;
	handle.fclass = FI_CLASS_LOG;
	handle.context = context;
	handle.ops = &handle_ops;
	*fid = &handle;
	return 0;
}

void ofi_log_fini(void)
{
	ofi_own_fd_drop(&config.file);
	config.fd = STDERR_FILENO;
	free(config.provs);
	free(config.subsys);
	config.provs = config.subsys = NULL;
}
