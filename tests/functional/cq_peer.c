/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peer completion queues (FI_PEER): completions are written to the program's queue, and the program
 * drives progress. An unconnected endpoint of each kind sends to itself.
 */
#include "check.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/providers/fi_peer.h>

enum { MESSAGES = 40, LEN = 100, BOUNDS = 256 };

/* The program's queue. */
static struct {
	struct fid_peer_cq fid;
	int sent, failed;
	int got[MESSAGES];
	struct fi_cq_err_entry error;
} own;

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_cq *cq;
static struct fid_av *av;
static struct fid_ep *ep;
static struct fid_mr *mr;
static fi_addr_t self;
static uint8_t out[BOUNDS], in[MESSAGES + 1][BOUNDS];

static ssize_t own_write(struct fid_peer_cq *fid, void *context, uint64_t flags, size_t len,
			 void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	CHECK(fid == &own.fid);
	(void)buf;
	(void)data;
	(void)tag;
	if (flags & FI_SEND) {
		own.sent++;
		return 1;
	}
	CHECK(flags & FI_RECV);
	EQUAL(len, LEN);
	EQUAL(src, self);
	own.got[(uintptr_t)context]++;
	return 1;
}

static ssize_t own_writeerr(struct fid_peer_cq *fid, const struct fi_cq_err_entry *entry)
{
	CHECK(fid == &own.fid);
	own.failed++;
	own.error = *entry;
	return 1;
}

static struct fi_ops_cq_owner ops = { sizeof(ops), own_write, own_writeerr };
static struct fi_peer_cq_context lent = { sizeof(lent), &own.fid };

static void find(enum fi_ep_type type)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->caps = FI_MSG | FI_SOURCE;
	hints->ep_attr->type = type;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	hints->fabric_attr->prov_name = strdup("verbs");
	OK(fi_getinfo(FI_VERSION(1, 17), need_env("WEFT_ADDR"), NULL, FI_SOURCE, hints, &info));
	fi_freeinfo(hints);
	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
}

static void bad(void)
{
	struct fi_cq_attr attr = { .flags = FI_PEER };
	struct fi_ops_cq_owner no_write = { sizeof(no_write), NULL, own_writeerr };
	struct fi_peer_cq_context old = { 8, &own.fid }, none = { sizeof(none), NULL };

	RETURNS(fi_cq_open(domain, &attr, &cq, NULL), -FI_EINVAL);
	RETURNS(fi_cq_open(domain, &attr, &cq, &old), -FI_EINVAL);
	RETURNS(fi_cq_open(domain, &attr, &cq, &none), -FI_EINVAL);
	own.fid.owner_ops = &no_write;
	RETURNS(fi_cq_open(domain, &attr, &cq, &lent), -FI_EINVAL);
	own.fid.owner_ops = &ops;
}

static void open_all(void)
{
	struct fi_cq_attr attr = { .flags = FI_PEER, .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct sockaddr_storage name;
	size_t len = sizeof(name);

	OK(fi_cq_open(domain, &attr, &cq, &lent));
	OK(fi_av_open(domain, &av_attr, &av, NULL));
	OK(fi_endpoint(domain, info, &ep, NULL));
	OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(ep, &av->fid, 0));
	OK(fi_enable(ep));
	OK(fi_getname(&ep->fid, &name, &len));
	RETURNS(fi_av_insert(av, &name, 1, &self, 0, NULL), 1);
	OK(fi_mr_reg(domain, in, sizeof(in), FI_SEND | FI_RECV, 0, 0, 0, &mr, NULL));
}

/* A queue without entries of its own can only be read with a count of 0. */
static void not_read(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };

	RETURNS(fi_cq_read(cq, &entry, 1), -FI_ENOSYS);
	RETURNS(fi_cq_readfrom(cq, &entry, 1, &self), -FI_ENOSYS);
	RETURNS(fi_cq_readerr(cq, &error, 0), -FI_ENOSYS);
	RETURNS(fi_cq_sread(cq, &entry, 1, NULL, 0), -FI_ENOSYS);
	RETURNS(fi_cq_signal(cq), -FI_ENOSYS);
}

static void drive(const int *count, int wanted)
{
	uint64_t end = deadline();
	ssize_t ret;

	while (*count < wanted) {
		ret = fi_cq_read(cq, NULL, 0);
		CHECK(!ret || ret == -FI_EAGAIN);
		pause_until(end, "the program's queue to get an entry");
	}
	EQUAL(*count, wanted);
}

static void messages(void)
{
	void *desc = fi_mr_desc(mr);
	uint64_t end = deadline();
	int i;

	for (i = 0; i < MESSAGES; i++)
		OK(fi_recv(ep, in[i], BOUNDS, desc, FI_ADDR_UNSPEC, (void *)(uintptr_t)i));
	for (i = 0; i < MESSAGES; i++)
		while (fi_send(ep, in[MESSAGES], LEN, desc, self, NULL)) {
			fi_cq_read(cq, NULL, 0);
			pause_until(end, "the endpoint to accept a message");
		}
	drive(&own.sent, MESSAGES);
	for (i = 0; i < MESSAGES; i++)
		drive(&own.got[i], 1);
	EQUAL(own.failed, 0);
}

/* A failure is written, too, and fi_cq_strerror explains it. */
static void failure(void)
{
	OK(fi_recv(ep, in[0], LEN / 2, fi_mr_desc(mr), self, &own));
	OK(fi_send(ep, out, LEN, NULL, self, NULL));
	drive(&own.failed, 1);
	EQUAL(own.error.err, FI_ETRUNC);
	CHECK(own.error.op_context == &own);
	CHECK(fi_cq_strerror(cq, own.error.prov_errno, NULL, NULL, 0));
}

static void one(enum fi_ep_type type)
{
	memset(&own, 0, sizeof(own));
	own.fid.owner_ops = &ops;
	find(type);
	bad();
	open_all();
	not_read();
	messages();
	if (type == FI_EP_RDM)
		failure();
	OK(fi_close(&ep->fid));
	OK(fi_close(&mr->fid));
	OK(fi_close(&av->fid));
	OK(fi_close(&cq->fid));
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

static void test(void)
{
	one(FI_EP_RDM);
	one(FI_EP_DGRAM);
}

int main(void)
{
	return run_test(test);
}
