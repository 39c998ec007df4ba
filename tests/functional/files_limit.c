/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process that may not open enough files is told so by the call that fails, whichever it is; it
 * is not told that there is no device or no kernel module.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "rdm.h"

enum { MOST = 64, REFUSED = 77 /* run_apart prints nothing about it */ };

struct opened {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
};

static int refused(const char *call, int ret)
{
	if (ret && ret != -FI_EMFILE)
		FAIL("%s: %s", call, fi_strerror(-ret));
	return ret;
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

static int open_domain(struct opened *all, struct fi_info *info)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD };
	struct fi_av_attr av = { 0 };

	if (refused("fi_fabric", fi_fabric(info->fabric_attr, &all->fabric, NULL)) ||
	    refused("fi_domain", fi_domain(all->fabric, info, &all->domain, NULL)) ||
	    refused("fi_cq_open", fi_cq_open(all->domain, &cq, &all->cq, NULL)))
		return REFUSED;
	return refused("fi_av_open", fi_av_open(all->domain, &av, &all->av, NULL));
}

static int open_endpoint(struct opened *all, struct fi_info *info)
{
	if (refused("fi_endpoint", fi_endpoint(all->domain, info, &all->ep, NULL)))
		return REFUSED;
	OK(fi_ep_bind(all->ep, &all->av->fid, 0));
	OK(fi_ep_bind(all->ep, &all->cq->fid, FI_TRANSMIT | FI_RECV));
	return refused("fi_enable", fi_enable(all->ep)) ? REFUSED : 0;
}

static void close_one(struct fid *fid)
{
	OK(fi_close(fid));
}

/* What was opened before a call failed can be closed. */
static void close_all(struct opened *all)
{
	if (all->ep)
		close_one(&all->ep->fid);
	if (all->av)
		close_one(&all->av->fid);
	if (all->cq)
		close_one(&all->cq->fid);
	if (all->domain)
		close_one(&all->domain->fid);
	if (all->fabric)
		close_one(&all->fabric->fid);
}

static void limit_files(rlim_t files)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = files < limit.rlim_max ? files : limit.rlim_max;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
}

/* LeakSanitizer opens files at the end. */
static void end(int status)
{
	limit_files(RLIM_INFINITY);
	exit(status);
}

static void open_with(void *arg)
{
	const rlim_t *files = arg;
	struct opened all = { 0 };
	struct fi_info *info;
	int ret;

	limit_files(*files);
	if (refused("fi_getinfo", find(&info)))
		end(REFUSED);
	ret = open_domain(&all, info);
	if (!ret)
		ret = open_endpoint(&all, info);
	close_all(&all);
	fi_freeinfo(info);
	end(ret);
}

/* Elsewhere, because the library remembers the devices that it has found. */
static void need_rdm(void *arg)
{
	struct fi_info *info;
	int ret = find(&info);

	(void)arg;
	if (ret == -FI_ENODATA)
		skip("no reliable datagrams");
	OK(ret);
	fi_freeinfo(info);
}

int main(void)
{
	int status = run_apart("fi_getinfo", need_rdm, NULL);
	rlim_t files;

	if (status)
		return status;
	for (files = 3, status = REFUSED; files < MOST && status == REFUSED; files++)
		status = run_apart("files_limit", open_with, &files);
	printf("%lu files are enough\n", (unsigned long)files - 1);
	return status == REFUSED ? 1 : status;
}
