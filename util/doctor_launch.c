/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks the limit of locked memory of processes that a daemon starts on this host for a job: it is
 * that of the daemon, for sshd the one that PAM sets, and not that of the user's shell.
 */
#include "doctor_launch.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "doctor_memory.h"
#include "doctor_tree.h"

#define LIMITS "/etc/security/limits"

/* A limit and how specific the rule is that it comes from. */
struct limit {
	uint64_t bytes;
	int rank;
};

struct limits {
	struct limit soft, hard;
	const char *user;
};

/* PAM sets limits at a login. Slurm passes on those of the submitting shell, up to its own. */
static const struct launcher {
	const char *daemon;
	bool login;
	bool passes_on;
} launchers[] = {
	{ .daemon = "sshd", .login = true },
	{ .daemon = "slurmd", .passes_on = true },
	{ .daemon = "pbs_mom" },
	{ .daemon = "sge_execd" },
};

static uint64_t parse(const char *text, uint64_t unit)
{
	if (!strcmp(text, "unlimited") || !strcmp(text, "infinity") || !strcmp(text, "-1"))
		return UINT64_MAX;
	return strtoull(text, NULL, 10) * unit;
}

static void set_limit(struct limit *limit, int rank, uint64_t bytes)
{
	if (rank >= limit->rank)
		*limit = (struct limit){ bytes, rank };
}

/* A rule reads: WHO TYPE ITEM VALUE. Groups and ranges of numbers are not looked at. */
static void apply_rule(void *arg, const char *line)
{
	char who[64], type[16], item[32], value[32];
	struct limits *limits = arg;
	int rank;

	if (sscanf(line, "%63s %15s %31s %31s", who, type, item, value) != 4 || who[0] == '#' ||
	    strcmp(item, "memlock"))
		return;
	rank = !strcmp(who, "*") ? 1 : limits->user && !strcmp(who, limits->user) ? 2 : 0;
	if (!rank)
		return;
	if (strcmp(type, "hard"))
		set_limit(&limits->soft, rank, parse(value, 1024));
	if (strcmp(type, "soft"))
		set_limit(&limits->hard, rank, parse(value, 1024));
}

static void find_pam(void *arg, const char *line)
{
	bool *found = arg;

	while (isspace((unsigned char)*line))
		line++;
	*found |= *line != '#' && strstr(line, "pam_limits.so");
}

static bool pam_sets_limits(const char *root)
{
	static const char *const services[] = { "sshd", "common-session", "password-auth",
						"system-auth" };
	bool found = false;
	size_t i;

	for (i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		tree_each_line(root, find_pam, &found, "/etc/pam.d/%s", services[i]);
	return found;
}

/* pam_limits reads the files in this order, whatever numbers are in their names. */
static int by_bytes(const void *a, const void *b)
{
	return strcmp((*(struct dirent *const *)a)->d_name, (*(struct dirent *const *)b)->d_name);
}

static void apply_pam(const char *root, struct limits *limits)
{
	struct dirent **names;
	const char *dot;
	int count, i;

	if (!pam_sets_limits(root))
		return;
	tree_each_line(root, apply_rule, limits, LIMITS ".conf");
	count = tree_list(root, &names, LIMITS ".d");
	if (count > 1)
		qsort(names, (size_t)count, sizeof(struct dirent *), by_bytes);
	for (i = 0; i < count; i++) {
		dot = strrchr(names[i]->d_name, '.');
		if (dot && !strcmp(dot, ".conf"))
			tree_each_line(root, apply_rule, limits, LIMITS ".d/%s", names[i]->d_name);
	}
	tree_free(names, count);
}

/* Reads the limits of the first process of this name. Returns false if there is none. */
static bool read_daemon(const char *root, const char *daemon, struct limits *limits)
{
	char comm[32], line[160], soft[32] = "", hard[32] = "";
	struct dirent **names;
	bool found = false;
	int count, i;

	count = tree_list(root, &names, "/proc");
	for (i = 0; i < count && !found; i++) {
		found = isdigit((unsigned char)names[i]->d_name[0]) &&
			tree_line(root, "", comm, sizeof(comm), "/proc/%s/comm",
				  names[i]->d_name) &&
			!strcmp(comm, daemon) &&
			tree_line(root, "Max locked memory", line, sizeof(line), "/proc/%s/limits",
				  names[i]->d_name) &&
			sscanf(line, "Max locked memory %31s %31s", soft, hard) == 2;
	}
	tree_free(names, count);
	limits->soft.bytes = parse(soft, 1);
	limits->hard.bytes = parse(hard, 1);
	return found;
}

static void fix_launcher(struct doctor *doctor, const struct launcher *launcher)
{
	if (launcher->login)
		doctor_fix(
			doctor,
			"echo '* - memlock unlimited' >" LIMITS
			".d/rdma.conf (with UsePAM yes in /etc/ssh/sshd_config, and pam_limits.so in /etc/pam.d/sshd)");
	else
		doctor_fix(
			doctor,
			"systemctl edit %s (LimitMEMLOCK=infinity below [Service]), then systemctl restart %s",
			launcher->daemon, launcher->daemon);
}

static bool check_launcher(struct doctor *doctor, const struct launcher *launcher, const char *user)
{
	struct limits limits = { .user = user };
	uint64_t bytes;

	if (!read_daemon(doctor->root, launcher->daemon, &limits))
		return false;
	if (launcher->login)
		apply_pam(doctor->root, &limits);
	bytes = launcher->passes_on || limits.soft.bytes > limits.hard.bytes ? limits.hard.bytes
									     : limits.soft.bytes;
	if (bytes == UINT64_MAX) {
		doctor_say(doctor, DOCTOR_OK, "processes that %s starts may lock any memory",
			   launcher->daemon);
	} else if (bytes > DOCTOR_REGISTER) {
		doctor_say(doctor, DOCTOR_OK,
			   "processes that %s starts may lock %" PRIu64
			   " KiB, registering 64 MiB fits",
			   launcher->daemon, bytes >> 10);
	} else {
		fix_launcher(doctor, launcher);
		doctor_say(doctor, DOCTOR_WARN,
			   "processes that %s starts may lock %" PRIu64
			   " KiB, registering 64 MiB does not fit",
			   launcher->daemon, bytes >> 10);
	}
	return true;
}

void doctor_launch(struct doctor *doctor, const char *user)
{
	bool any = false;
	size_t i;

	doctor->topic = "launcher";
	for (i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		any |= check_launcher(doctor, &launchers[i], user);
	if (!any)
		doctor_say(
			doctor, DOCTOR_OK,
			"no daemon that starts processes of MPI runs here: sshd, slurmd, pbs_mom, sge_execd");
}
