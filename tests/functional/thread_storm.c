/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many more threads than processors, each with its own endpoint: all connect at once, each to its
 * two neighbors, while all of them spin. The work of connecting does not wait until each thread
 * runs.
 */
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <stdio.h>
#include <stdlib.h>
#include "check.h"

enum { MANY = 16, NEIGHBORS = 2 };

struct one {
	unsigned int number;
	pthread_t thread;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	char name[64];
	fi_addr_t to[NEIGHBORS];
	uint64_t in[NEIGHBORS], out;
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct one ones[MANY];
static unsigned int connected; /* atomic */

static struct one *neighbor(const struct one *one, unsigned int i)
{
	return &ones[(one->number + (i ? MANY - 1 : 1)) % MANY];
}

static void open_all(void)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED;
	hints->domain_attr->threading = FI_THREAD_COMPLETION;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
}

static void open_one(struct one *one)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .size = 64 };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	size_t len = sizeof(one->name);

	OK(fi_cq_open(domain, &cq, &one->cq, NULL));
	OK(fi_av_open(domain, &av, &one->av, NULL));
	OK(fi_endpoint(domain, info, &one->ep, NULL));
	OK(fi_ep_bind(one->ep, &one->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(one->ep, &one->av->fid, 0));
	OK(fi_enable(one->ep));
	OK(fi_getname(&one->ep->fid, one->name, &len));
}

static unsigned int read_some(struct one *one)
{
	struct fi_cq_tagged_entry entries[4];
	ssize_t ret = fi_cq_read(one->cq, entries, 4);

	if (ret == -FI_EAGAIN)
		return 0;
	CHECK(ret > 0);
	return (unsigned int)ret;
}

static void *use(void *arg)
{
	uint64_t end = deadline();
	struct one *one = arg;
	unsigned int i, got = 0;
	ssize_t ret;

	one->out = one->number;
	for (i = 0; i < NEIGHBORS; i++)
		OK(fi_trecv(one->ep, &one->in[i], 8, NULL, FI_ADDR_UNSPEC, neighbor(one, i)->number,
			    0, NULL));
	for (i = 0; i < NEIGHBORS; i++) {
		while ((ret = fi_tsend(one->ep, &one->out, 8, NULL, one->to[i], one->number,
				       NULL)) == -FI_EAGAIN)
			got += read_some(one);
		OK(ret);
	}
	while (got < 2 * NEIGHBORS) {
		got += read_some(one);
		if (now_ms() > end)
			FAIL("thread %u has %u of %u completions", one->number, got, 2 * NEIGHBORS);
	}
	for (i = 0; i < NEIGHBORS; i++)
		EQUAL(one->in[i], neighbor(one, i)->number);
	__atomic_add_fetch(&connected, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&connected, __ATOMIC_ACQUIRE) < MANY)
		EQUAL(read_some(one), 0);
	return NULL;
}

static void test(void)
{
	unsigned int i, k;
	uint64_t start;

	open_all();
	for (i = 0; i < MANY; i++) {
		ones[i].number = i;
		open_one(&ones[i]);
	}
	for (i = 0; i < MANY; i++)
		for (k = 0; k < NEIGHBORS; k++)
			RETURNS(fi_av_insert(ones[i].av, neighbor(&ones[i], k)->name, 1,
					     &ones[i].to[k], 0, NULL),
				1);
	start = now_ms();
	for (i = 0; i < MANY; i++)
		OK(pthread_create(&ones[i].thread, NULL, use, &ones[i]));
	for (i = 0; i < MANY; i++)
		OK(pthread_join(ones[i].thread, NULL));
	printf("%d threads in %llu ms\n", MANY, (unsigned long long)(now_ms() - start));
	for (i = 0; i < MANY; i++) {
		OK(fi_close(&ones[i].ep->fid));
		OK(fi_close(&ones[i].cq->fid));
		OK(fi_close(&ones[i].av->fid));
	}
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

/* The test decides whether it takes too long. */
int main(void)
{
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "60000", 1);
	return run_test(test);
}
