/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks what the kernel offers for RDMA, and reports what is missing and how to get it. */
#include "info_system.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check {
	const char *root;
	void (*say)(void *context, const char *text);
	void *context;
	bool found;
};

static void say(struct check *check, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct check *check, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	check->found = true;
	check->say(check->context, text);
}

static DIR *open_dir(const struct check *check, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s%s", check->root, path);
	return opendir(full);
}

/* Returns the next name that starts with prefix. */
static const char *next_name(DIR *dir, const char *prefix)
{
	const struct dirent *entry;

	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.' && !strncmp(entry->d_name, prefix, strlen(prefix)))
			return entry->d_name;
	}
	return NULL;
}

static unsigned int count_names(const struct check *check, const char *path, const char *prefix)
{
	DIR *dir = open_dir(check, path);
	unsigned int count = 0;

	if (!dir)
		return 0;
	while (next_name(dir, prefix))
		count++;
	closedir(dir);
	return count;
}

static void check_access(struct check *check, const char *name)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/dev/infiniband/%s", check->root, name);
	if (access(full, R_OK | W_OK))
		say(check, "/dev/infiniband/%s: %s; the file must be readable and writable for you",
		    name, strerror(errno));
}

static void check_nodes(struct check *check)
{
	DIR *dir = open_dir(check, "/dev/infiniband");
	const char *name;
	unsigned int uverbs = 0;
	bool cm = false;

	while (dir && (name = next_name(dir, ""))) {
		if (!strcmp(name, "rdma_cm"))
			cm = true;
		else if (!strncmp(name, "uverbs", 6))
			uverbs++;
		else
			continue;
		check_access(check, name);
	}
	if (dir)
		closedir(dir);
	if (!uverbs)
		say(check, "no /dev/infiniband/uverbs*: modprobe ib_uverbs");
	if (!cm)
		say(check, "no /dev/infiniband/rdma_cm: modprobe rdma_ucm");
}

static void check_port(struct check *check, const char *device, const char *port)
{
	char path[PATH_MAX];
	char state[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/ports/%s/state", check->root,
		 device, port);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(state, sizeof(state), file) && !strstr(state, "ACTIVE")) {
		state[strcspn(state, "\n")] = '\0';
		say(check,
		    "device %s port %s is in state %s: bring its link and its network interface up",
		    device, port, state);
	}
	fclose(file);
}

static void check_ports(struct check *check, const char *device)
{
	char path[PATH_MAX];
	const char *port;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports", device);
	dir = open_dir(check, path);
	while (dir && (port = next_name(dir, "")))
		check_port(check, device, port);
	if (dir)
		closedir(dir);
}

static void check_devices(struct check *check)
{
	DIR *dir = open_dir(check, "/sys/class/infiniband");
	const char *device;

	while (dir && (device = next_name(dir, "")))
		check_ports(check, device);
	if (dir)
		closedir(dir);
}

void info_system_check(const char *root, void (*callback)(void *context, const char *text),
		       void *context)
{
	struct check check = { .root = root, .say = callback, .context = context };
	const char *filter = getenv("FI_PROVIDER");

	if (filter && *filter)
		say(&check, "FI_PROVIDER=%s limits the providers", filter);
	if (!count_names(&check, "/sys/class/infiniband", "")) {
		say(&check,
		    "no RDMA device in /sys/class/infiniband: load the driver of the adapter, or make a soft-RoCE device of a network interface: modprobe "
		    "rdma_rxe && rdma link add rxe0 type rxe netdev eth0");
		return;
	}
	check_nodes(&check);
	check_devices(&check);
	if (!check.found)
		say(&check,
		    "the RDMA devices of /sys/class/infiniband look usable; see ulimit -l (memory to lock) and FI_LOG_LEVEL=info fi_info");
}
