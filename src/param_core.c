/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's own parameters, and variables that are similar to them or have no effect. */
#include "param.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "conf.h"
#include "log.h"
#include "src/ds/suggest.h"
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

enum { NAME_LEN = 256, FORMATS = 32 };

/*
 * A parameter of other releases that has no effect here. The value that matches the actual
 * behavior, `holds`, causes no warning.
 */
#define NO_EFFECT(name_, type_, holds_, help_)                                     \
	{                                                                          \
		.name = (name_), .type = (type_), .help = (help_), .unused = true, \
		.holds = (holds_)                                                  \
	}

static const struct {
	const char *name;
	enum fi_param_type type;
	const char *help;
	bool unused;
	const char *holds;
} core_params[] = {
	{ "log_level", FI_PARAM_STRING,
	  "Messages to log: warn (or error, which means the same), trace, info or debug, each including the previous ones; none for no messages (default: warn)" },
	{ "log_prov", FI_PARAM_STRING,
	  "Providers whose messages are logged, a comma separated list; with a leading ^ all but those (default: all)" },
	{ "log_subsys", FI_PARAM_STRING,
	  "Subsystems whose messages are logged: core, fabric, domain, ep_ctrl, ep_data, av, cq, "
	  "eq, mr, cntr, a comma separated list; with a leading ^ all but those (default: all)" },
	{ "log_interval", FI_PARAM_INT,
	  "Milliseconds before a repeated message is logged again (0 or more, default: 2000)" },
	{ "log_location", FI_PARAM_STRING,
	  "Where messages go: stderr, stdout, a file that does not exist yet, or a directory, in which ofi_<pid>.log is created (default: stderr)" },
	{ "log_location_mode", FI_PARAM_STRING,
	  "Octal permissions of the file created by log_location (0 to 0777, default: 0600)" },
	{ "provider", FI_PARAM_STRING,
	  "Providers to use, a comma separated list; with a leading ^ all but those (default: all)" },
	{ "provider_path", FI_PARAM_STRING,
	  "Directories to search for plug-in providers (*-fi.so) before the installed ones, "
	  "separated by colons. A leading @ selects the first of several providers with the same name instead of the newest. +/path/to/x-fi.so prefers this file to all others "
	  "(default: " PROVDLDIR ")" },
	{ "prefer_sysconfig", FI_PARAM_BOOL,
	  "A value in libfabric.conf takes precedence over one in the environment (default: no)" },
	{ "addr_format", FI_PARAM_STRING,
	  "Format of the addresses that fi_getinfo offers, such as FI_SOCKADDR_IN; other formats are not offered (default: all)" },
	{ "hook", FI_PARAM_STRING,
	  "Hooks that see each call: perf measures the cost of calls, trace logs each call, noop does nothing; a semicolon-separated list (default: none)" },
	{ "hook_file", FI_PARAM_STRING,
	  "Where hooks write: stderr, stdout, a file that does not exist yet, or a directory, in which ofi_hook_<pid>.log is created (default: the log)" },
	{ "perf_cntr", FI_PARAM_STRING,
	  "What the perf hook counts: cpu_instr or cpu_cycles (default: cpu_instr)" },
	{ "stats", FI_PARAM_BOOL, "Publish statistics for fi_stat (default: yes)" },
	{ "getinfo_explain", FI_PARAM_BOOL,
	  "Log for each fi_getinfo why candidates were not offered (default: no)" },
	{ "fork_unsafe", FI_PARAM_BOOL,
	  "Do not protect the memory that devices use from fork, after which the parent could lose it (default: no)" },
	{ "universe_size", FI_PARAM_SIZE_T,
	  "Number of processes of the job, for providers whose endpoints have many peers; connected endpoints ignore it (0 or more, default: 0, unknown)" },
	{ "av_remove_cleanup", FI_PARAM_BOOL,
	  "Let fi_av_remove end the connection to the peer; no effect: it stays until there is need of its place (default: no)" },
	NO_EFFECT("offload_coll_provider", FI_PARAM_STRING, NULL,
		  "Provider that performs collective operations; no effect (default: none)"),
	{ "mr_cache_max_size", FI_PARAM_SIZE_T,
	  "Bytes of application memory that a domain for reliable datagrams keeps registered for later use (0 or more, default: no limit)" },
	{ "mr_cache_max_count", FI_PARAM_SIZE_T,
	  "Number of regions that it keeps registered; 0 registers memory for each use (0 to 1048576, default: 4096)" },
	{ "mr_cache_monitor", FI_PARAM_STRING,
	  "How it detects that memory is freed: userfaultfd; or disabled, which keeps nothing (default: userfaultfd)" },
	NO_EFFECT("mr_cuda_cache_monitor_enabled", FI_PARAM_BOOL, "no",
		  "The same for memory of CUDA devices; no effect (default: no)"),
	NO_EFFECT("mr_rocr_cache_monitor_enabled", FI_PARAM_BOOL, "no",
		  "The same for memory of ROCm devices; no effect (default: no)"),
	NO_EFFECT("mr_ze_cache_monitor_enabled", FI_PARAM_BOOL, "no",
		  "The same for memory of Level Zero devices; no effect (default: no)"),
	{ "hmem", FI_PARAM_STRING,
	  "Interfaces of device memory to use for programs that ask for FI_HMEM: a list of cuda, rocr and ze, or all, or system for none (default: all)" },
	{ "hmem_disable_p2p", FI_PARAM_BOOL,
	  "Do not let network devices read and write the memory of other devices (default: no)" },
	NO_EFFECT("hmem_cuda_use_gdrcopy", FI_PARAM_BOOL, "no",
		  "Copy to and from CUDA devices by gdrcopy; no effect (default: no)"),
	NO_EFFECT("hmem_cuda_enable_async_copy", FI_PARAM_BOOL, "no",
		  "Copy to and from CUDA devices asynchronously; no effect (default: no)"),
	{ "hmem_cuda_enable_xfer", FI_PARAM_BOOL,
	  "Copy to and from CUDA devices; without it what needs such a copy fails, with a warning (default: yes)" },
	{ "hmem_cuda_use_dmabuf", FI_PARAM_BOOL,
	  "Register memory of CUDA devices as dma-buf where the driver exports it (default: yes)" },
	{ "hmem_rocr_use_dmabuf", FI_PARAM_BOOL,
	  "Register memory of ROCm devices as dma-buf where the driver exports it (default: yes)" },
	{ "hmem_ze_use_dmabuf", FI_PARAM_BOOL,
	  "Register memory of Level Zero devices as dma-buf where the driver exports it (default: yes)" },
	NO_EFFECT("hmem_neuron_use_dmabuf", FI_PARAM_BOOL, "no",
		  "Register memory of Neuron devices as dma-buf; no effect (default: no)"),
	NO_EFFECT("hmem_synapseai_use_dmabuf", FI_PARAM_BOOL, "no",
		  "Register memory of SynapseAI devices as dma-buf; no effect (default: no)"),
};

#define CORE_COUNT (sizeof(core_params) / sizeof(core_params[0]))

/* Set by ofi_param_init(). */
static char addr_format[64];
static int explain;

static void env_name(char *buf, const char *name)
{
	snprintf(buf, NAME_LEN, "FI_%s", name);
	for (; *buf; buf++)
		*buf = (char)toupper((unsigned char)*buf);
}

/* The log reads and checks its parameters itself. */
static bool is_of_log(const char *name)
{
	return !strncmp(name, "log_", 4);
}

static bool is_no(const char *text)
{
	return !strcmp(text, "0") || !strcasecmp(text, "no") || !strcasecmp(text, "false") ||
	       !strcasecmp(text, "off");
}

const char *ofi_param_addr_format(void)
{
	return *addr_format ? addr_format : NULL;
}

bool ofi_param_explain(void)
{
	return explain;
}

static void read_addr_format(void)
{
	const char *value = ofi_conf_get("FI_ADDR_FORMAT");
	char name[sizeof(addr_format)];
	uint32_t i;

	*addr_format = '\0';
	if (!value || !*value)
		return;
	for (i = FI_SOCKADDR; i < FORMATS && !*addr_format; i++) {
		fi_tostr_r(name, sizeof(name), &i, FI_TYPE_ADDR_FORMAT);
		if (!strcasecmp(value, name))
			strcpy(addr_format, name);
	}
	if (!*addr_format)
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"FI_ADDR_FORMAT=%s is not an address format such as FI_SOCKADDR_IN; offering all formats\n",
			value);
}

/* fi_param_get reports a value of the wrong type. */
static void check_value(size_t i)
{
	const char *holds = core_params[i].holds, *value;
	bool same;
	union {
		char *text;
		size_t size;
		int number;
	} parsed;
	char env[NAME_LEN];

	if (is_of_log(core_params[i].name) || fi_param_get(NULL, core_params[i].name, &parsed) ||
	    !core_params[i].unused)
		return;
	env_name(env, core_params[i].name);
	value = ofi_conf_get(env);
	same = core_params[i].type == FI_PARAM_BOOL ? is_no(value) == is_no(holds)
						    : holds && !strcasecmp(value, holds);
	if (!same && *value)
		FI_WARN(&ofi_core_prov, FI_LOG_CORE, "%s=%s: %s\n", env, value,
			core_params[i].help);
}

static void warn_if_near(const char *env, const char *const *names)
{
	const char *nearest;

	if (strncmp(env, "FI_", 3) || ofi_param_defined(env))
		return;
	nearest = ofi_suggest_within(env, names, CORE_COUNT, 2);
	if (nearest)
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"%s is set but is not a parameter; did you mean %s?\n", env, nearest);
}

static void check_names(void)
{
	char names[CORE_COUNT][NAME_LEN], env[NAME_LEN];
	const char *list[CORE_COUNT], *name;
	size_t i;
	char **var;

	for (i = 0; i < CORE_COUNT; i++) {
		env_name(names[i], core_params[i].name);
		list[i] = names[i];
	}
	for (var = environ; var && *var; var++) {
		if (strcspn(*var, "=") >= NAME_LEN)
			continue;
		snprintf(env, sizeof(env), "%.*s", (int)strcspn(*var, "="), *var);
		warn_if_near(env, list);
	}
	for (i = 0; (name = ofi_conf_name(i)); i++)
		warn_if_near(name, list);
}

void ofi_param_check_file(const char *prov)
{
	char prefix[NAME_LEN];
	const char *name;
	size_t i;

	env_name(prefix, prov);
	for (i = 0; (name = ofi_conf_name(i)); i++) {
		if (!strncmp(name, prefix, strlen(prefix)) && name[strlen(prefix)] == '_' &&
		    !ofi_param_defined(name))
			FI_WARN(&ofi_core_prov, FI_LOG_CORE,
				"libfabric.conf: %s is not a parameter of %s; fi_info -e lists them\n",
				name, prov);
	}
}

void ofi_param_init(void)
{
	size_t i;

	ofi_conf_report();
	for (i = 0; i < CORE_COUNT; i++)
		fi_param_define(NULL, core_params[i].name, core_params[i].type, "%s",
				core_params[i].help);
	check_names();
	for (i = 0; i < CORE_COUNT; i++)
		check_value(i);
	read_addr_format();
	explain = 0;
	fi_param_get(NULL, "getinfo_explain", &explain);
}
