/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A user who may not open a device, or the connection manager, is told so, and not to load modules.
 * The files are hidden from this process only.
 */
#include <dirent.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include "rdm.h"

#define DIRECTORY "/dev/infiniband"

enum { MOST = 32, USER = 65534 };

static struct {
	char name[64];
	dev_t number;
} nodes[MOST];
static unsigned int count;

static void list_nodes(void)
{
	DIR *dir = opendir(DIRECTORY);
	struct dirent *entry;
	struct stat status;

	if (!dir)
		skip("no " DIRECTORY);
	while ((entry = readdir(dir)) && count < MOST) {
		if (fstatat(dirfd(dir), entry->d_name, &status, 0) || !S_ISCHR(status.st_mode))
			continue;
		snprintf(nodes[count].name, sizeof(nodes[0].name), "%.60s", entry->d_name);
		nodes[count++].number = status.st_rdev;
	}
	closedir(dir);
}

/* Becomes a user who may open all but the files whose names begin so. */
static void deny(const char *denied)
{
	char path[PATH_MAX];
	unsigned int i;

	if (geteuid() || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip("has to begin as root");
	list_nodes();
	CHECK(!mount("none", DIRECTORY, "tmpfs", 0, "mode=755"));
	for (i = 0; i < count; i++) {
		mode_t mode = strncmp(nodes[i].name, denied, strlen(denied)) ? 0666 : 0600;

		snprintf(path, sizeof(path), DIRECTORY "/%s", nodes[i].name);
		CHECK(!mknod(path, S_IFCHR, nodes[i].number) && !chmod(path, mode));
	}
	CHECK(!setgroups(0, NULL) && !setgid(USER) && !setuid(USER));
}

static int find(struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = RDM_PROV_KEYS;
	ret = fi_getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, info);
	fi_freeinfo(hints);
	return ret;
}

static void no_device(void *arg)
{
	FILE *log = tmpfile();
	struct fi_info *info;
	bool said = false;
	char line[1024];

	(void)arg;
	deny("uverbs");
	CHECK(log && dup2(fileno(log), STDERR_FILENO) >= 0);
	RETURNS(find(&info), -FI_ENODATA);
	rewind(log);
	while (fgets(line, sizeof(line), log)) {
		fputs(line, stdout);
		said |= strstr(line, strerror(EACCES)) && !strstr(line, "load");
	}
	CHECK(said);
	fclose(log);
}

static void no_connection_manager(void *arg)
{
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fi_info *info;
	struct fid_ep *ep;
	int ret;

	(void)arg;
	deny("rdma_cm");
	ret = find(&info);
	if (ret == -FI_ENODATA)
		skip("no reliable datagrams");
	OK(ret);
	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
	RETURNS(fi_endpoint(domain, info, &ep, NULL), -FI_EACCES);
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

int main(void)
{
	int ret = run_apart("no device", no_device, NULL);

	return ret ? ret : run_apart("no connection manager", no_connection_manager, NULL);
}
