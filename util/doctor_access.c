/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks the files in /dev/infiniband. */
#include "doctor_access.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doctor_tree.h"

static void fix_missing(struct doctor *doctor, const char *subsystem, const char *node)
{
	doctor_fix(
		doctor,
		"udevadm trigger --subsystem-match=%s; in a container: start it with --device=/dev/infiniband/%s",
		subsystem, node);
}

/* Sets the remedy for a file that this user may not open. */
static void fix_access(struct doctor *doctor, int err, const char *path, const char *node)
{
	const struct group *group;
	struct stat st;

	/* A control group refuses with EPERM, a mount refuses what the mode allows. */
	if (err == EPERM || !eaccess(path, R_OK | W_OK)) {
		doctor_fix(
			doctor,
			"start the container with --device=/dev/infiniband/%s; a bind mount is not enough",
			node);
		return;
	}
	if (!stat(path, &st) && st.st_gid && (st.st_mode & 0060) == 0060) {
		group = getgrgid(st.st_gid);
		if (group) {
			doctor_fix(doctor, "usermod -aG %s $USER, then log in again",
				   group->gr_name);
			return;
		}
	}
	doctor_fix(doctor, "chmod a+rw /dev/infiniband/%s", node);
}

static void check_node(struct doctor *doctor, const char *subsystem, const char *node,
		       const char *whose)
{
	char path[PATH_MAX];
	int fd, err;

	snprintf(path, sizeof(path), "%s/dev/infiniband/%s", doctor->root, node);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		doctor_say(doctor, DOCTOR_OK, "/dev/infiniband/%s (%s) is readable and writable",
			   node, whose);
		return;
	}
	err = errno;
	if (err == EACCES || err == EPERM || err == EROFS)
		fix_access(doctor, err, path, node);
	else
		fix_missing(doctor, subsystem, node);
	doctor_say(doctor, DOCTOR_FAIL, "/dev/infiniband/%s (%s): %s", node, whose, strerror(err));
}

void doctor_access(struct doctor *doctor)
{
	struct dirent **names;
	char device[64];
	int count, i;

	doctor->topic = "access";
	count = tree_list(doctor->root, &names, "/sys/class/infiniband_verbs");
	for (i = 0; i < count; i++) {
		if (strncmp(names[i]->d_name, "uverbs", 6))
			continue;
		tree_line(doctor->root, "", device, sizeof(device),
			  "/sys/class/infiniband_verbs/%s/ibdev", names[i]->d_name);
		check_node(doctor, "infiniband_verbs", names[i]->d_name, device);
	}
	tree_free(names, count);
	/* Without its module the file cannot exist, which has been reported already. */
	if (tree_exists(doctor->root, "/sys/class/misc/rdma_cm") ||
	    tree_exists(doctor->root, "/sys/module/rdma_ucm"))
		check_node(doctor, "misc", "rdma_cm", "connection manager");
}
