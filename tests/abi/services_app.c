/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An application of the provider of services.c, compiled with the same headers: it prints the
 * effects of its parameters on the info, sends, and makes calls that the provider does not have.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

static void expect(const char *call, long ret, long want)
{
	if (ret == want)
		return;
	fprintf(stderr, "%s: %ld, expected %ld\n", call, ret, want);
	exit(1);
}

static struct fi_info *find(void)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	hints->caps = FI_MSG;
	hints->fabric_attr->prov_name = strdup("services");
	expect("fi_getinfo",
	       fi_getinfo(FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), NULL, NULL, 0, hints,
			  &info),
	       0);
	fi_freeinfo(hints);
	printf("domain %s max_msg_size %zu protocol_version %u progress %d version %u.%u\n",
	       info->domain_attr->name, info->ep_attr->max_msg_size,
	       info->ep_attr->protocol_version, (int)info->domain_attr->data_progress,
	       FI_MAJOR(info->fabric_attr->prov_version),
	       FI_MINOR(info->fabric_attr->prov_version));
	return info;
}

static void send_one(struct fid_ep *ep, struct fid_cq *cq)
{
	struct fi_cq_entry entry = { NULL };
	int mark;

	expect("fi_cq_read", fi_cq_read(cq, &entry, 1), -FI_EAGAIN);
	expect("fi_send", fi_send(ep, "hello", 5, NULL, 0, &mark), 0);
	expect("fi_cq_read", fi_cq_read(cq, &entry, 1), 1);
	expect("op_context", entry.op_context == &mark, 1);
}

int main(void)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_info *info = find();
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fi_atomic_attr atomic;

	expect("fi_fabric", fi_fabric(info->fabric_attr, &fabric, NULL), 0);
	expect("fi_domain", fi_domain(fabric, info, &domain, NULL), 0);
	expect("fi_cq_open", fi_cq_open(domain, &attr, &cq, NULL), 0);
	expect("fi_endpoint", fi_endpoint(domain, info, &ep, NULL), 0);
	expect("fi_ep_bind", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT), 0);
	expect("fi_enable", fi_enable(ep), 0);
	send_one(ep, cq);
	/* The provider's table does not have the call, which the core must detect. */
	expect("fi_query_atomic", fi_query_atomic(domain, FI_UINT64, FI_SUM, &atomic, 0),
	       -FI_ENOSYS);
	expect("fi_close", fi_close(&ep->fid), 0);
	expect("fi_close", fi_close(&cq->fid), 0);
	expect("fi_close", fi_close(&domain->fid), 0);
	expect("fi_close", fi_close(&fabric->fid), 0);
	fi_freeinfo(info);
	printf("sent, with headers of %d.%d\n", FI_MAJOR_VERSION, FI_MINOR_VERSION);
	return 0;
}
