/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A simulated host for the checks of fi_doctor. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rdma/fabric.h>

#include "doctor_rig.h"

#define PORT "/sys/class/infiniband/rxe0/ports/1"

struct doctor doctor;

static char root[64];
static char *said;
static size_t said_len;

static const char *const variables[] = {
	"RDMAV_FORK_SAFE", "IBV_FORK_SAFE",	   "RDMAV_HUGEPAGES_SAFE", "FI_FORK_UNSAFE",
	"FI_VERBS_IFACE",  "FI_VERBS_DEVICE_NAME", "FI_VERBS_GID_IDX",
};

#define COUNT (sizeof(variables) / sizeof(variables[0]))

static const char *conf_name, *conf_value;

void rig_conf(const char *name, const char *value)
{
	conf_name = name;
	conf_value = value;
}

/* In place of the library's. */
int fi_getparams(struct fi_param **params, int *count)
{
	char *value;
	size_t i;

	*params = calloc(COUNT, sizeof(**params));
	assert_non_null(*params);
	for (i = 0; i < COUNT; i++) {
		value = getenv(variables[i]);
		if (!value && conf_name && !strcmp(conf_name, variables[i]))
			value = (char *)conf_value;
		(*params)[i].name = variables[i];
		(*params)[i].value = value;
	}
	*count = (int)COUNT;
	return 0;
}

void fi_freeparams(struct fi_param *params)
{
	free(params);
}

int rig_setup(void **state)
{
	size_t i;

	(void)state;
	rig_conf(NULL, NULL);
	for (i = 0; i < COUNT; i++)
		unsetenv(variables[i]);
	strcpy(root, "/tmp/test_util_doctor.XXXXXX");
	return mkdtemp(root) && !chmod(root, 0755) ? 0 : -1;
}

int rig_teardown(void **state)
{
	char command[128];

	(void)state;
	free(said);
	said = NULL;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void make_parents(const char *path, char *full, size_t len)
{
	char *slash;

	snprintf(full, len, "%s%s", root, path);
	for (slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
}

void rig_file(const char *path, const char *text)
{
	char full[256];
	FILE *file;

	make_parents(path, full, sizeof(full));
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

void rig_link(const char *path, const char *target)
{
	char full[256];

	make_parents(path, full, sizeof(full));
	assert_int_equal(symlink(target, full), 0);
}

void rig_remove(const char *path)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -r %s%s", root, path);
	assert_int_equal(system(command), 0);
}

void rig_healthy(void)
{
	rig_file("/sys/module/ib_uverbs/version", "");
	rig_file("/sys/module/rdma_ucm/version", "");
	rig_file("/sys/class/infiniband_verbs/abi_version", "6\n");
	rig_file("/sys/class/infiniband_verbs/uverbs0/ibdev", "rxe0\n");
	rig_file("/sys/class/misc/rdma_cm/abi_version", "4\n");
	rig_file("/dev/infiniband/uverbs0", "");
	rig_file("/dev/infiniband/rdma_cm", "");
	rig_file("/sys/class/infiniband/rxe0/parent", "eth0\n");
	rig_file("/sys/class/infiniband/rxe0/node_type", "1: CA\n");
	rig_file(PORT "/state", "4: ACTIVE\n");
	rig_file(PORT "/phys_state", "5: LinkUp\n");
	rig_file(PORT "/link_layer", "Ethernet\n");
	rig_file(PORT "/gids/0", "fe80:0000:0000:0000:5054:00ff:fe77:0000\n");
	rig_file(PORT "/gids/1", "0000:0000:0000:0000:0000:ffff:0a4d:0001\n");
	rig_file(PORT "/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	rig_file(PORT "/gid_attrs/types/0", "RoCE v2\n");
	rig_file(PORT "/gid_attrs/types/1", "RoCE v2\n");
	rig_file(PORT "/gid_attrs/ndevs/0", "eth0\n");
	rig_file(PORT "/gid_attrs/ndevs/1", "eth0\n");
	rig_file("/sys/class/net/eth0/flags", "0x1003\n");
	rig_file("/sys/class/net/eth0/mtu", "4200\n");
	rig_file("/ip-addr", "2: eth0    inet 10.77.0.1/24 scope global eth0\n");
}

void rig_listen(void)
{
	FILE *out;

	free(said);
	said = NULL;
	out = open_memstream(&said, &said_len);
	assert_non_null(out);
	memset(&doctor, 0, sizeof(doctor));
	doctor.root = root;
	doctor_start(&doctor, out);
}

void rig_heard(void)
{
	char *line, *copy, *rest;

	fclose(doctor.json.out);
	copy = rest = strdup(said);
	while ((line = strsep(&rest, "\n")) && *line)
		if (strncmp(line, "ok ", 3) && !strstr(line, "  -> "))
			fail_msg("no remedy: %s", line);
	free(copy);
}

void rig_expect(const char *level, const char *what, const char *fix)
{
	char *line, *copy, *rest, *arrow;
	bool found = false;

	copy = rest = strdup(said);
	while (!found && (line = strsep(&rest, "\n"))) {
		arrow = strstr(line, "  -> ");
		found = !strncmp(line, level, strlen(level)) && strstr(line, what) &&
			(fix ? arrow && strstr(arrow, fix) : !arrow);
	}
	free(copy);
	if (!found)
		fail_msg("no \"%s  %s -> %s\" in\n%s", level, what, fix ? fix : "", said);
}

void rig_none(const char *level)
{
	char *line, *copy, *rest;

	copy = rest = strdup(said);
	while ((line = strsep(&rest, "\n")))
		if (!strncmp(line, level, strlen(level)))
			fail_msg("unexpected: %s", line);
	free(copy);
}
