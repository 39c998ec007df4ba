/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the examples of reliable datagrams share: two processes, each with one endpoint, that know
 * each other's address. rdm_pingpong.c does all of this without this header.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

/* One operation. Its address is the context of the call, which the completion returns. */
struct op {
	bool done;
	struct fi_cq_tagged_entry entry;
};

struct node {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	fi_addr_t peer;
	bool client;
	uint64_t remote_writes; /* RMA writes of the peer that carried data */
};

/* Ends the program if a call failed, and returns what it returned otherwise. */
static inline ssize_t must(ssize_t ret, const char *call)
{
	if (ret >= 0)
		return ret;
	fprintf(stderr, "%s: %s\n", call, fi_strerror((int)-ret));
	exit(1);
}

static inline void operation_failed(struct node *n)
{
	struct fi_cq_err_entry err = { 0 };
	char text[256];

	must(fi_cq_readerr(n->cq, &err, 0), "fi_cq_readerr");
	fi_cq_strerror(n->cq, err.prov_errno, err.err_data, text, sizeof(text));
	fprintf(stderr, "an operation failed: %s: %s\n", fi_strerror(err.err), text);
	exit(1);
}

/* guide: collect */
/* Makes progress, and notes the operation that completed, if there is one. */
static inline void collect(struct node *n)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(n->cq, &entry, 1);

	if (ret == -FI_EAGAIN)
		return;
	if (ret == -FI_EAVAIL)
		operation_failed(n);
	must(ret, "fi_cq_read");
	if (entry.flags & FI_REMOTE_WRITE) {
		n->remote_writes++;
	} else {
		struct op *op = entry.op_context;

		op->entry = entry;
		op->done = true;
	}
}

/* Waits for one operation. Others that complete meanwhile are noted, too. */
static inline void wait_for(struct node *n, struct op *op)
{
	while (!op->done)
		collect(n);
	op->done = false;
}

/* Returns true if a call has to be repeated because the queue was full. */
static inline bool full(struct node *n, ssize_t ret, const char *call)
{
	if (ret == -FI_EAGAIN) {
		collect(n);
		return true;
	}
	must(ret, call);
	return false;
}
/* guide: end */

/* Sends LEN bytes to the peer and receives as many from it. */
static inline void exchange(struct node *n, const void *mine, void *theirs, size_t len)
{
	struct op sent = { 0 }, received = { 0 };

	while (full(n, fi_recv(n->ep, theirs, len, NULL, FI_ADDR_UNSPEC, &received), "fi_recv"))
		;
	while (full(n, fi_send(n->ep, mine, len, NULL, n->peer, &sent), "fi_send"))
		;
	wait_for(n, &sent);
	wait_for(n, &received);
}

static inline const char *arguments(int argc, char **argv, const char *what, const char **port)
{
	static const struct option help[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	int option;

	while ((option = getopt_long(argc, argv, "hp:", help, NULL)) != -1) {
		if (option == 'p') {
			*port = optarg;
			continue;
		}
		fprintf(option == 'h' ? stdout : stderr,
			"Usage: %s [-p PORT] [SERVER]\n%s\n"
			"Without SERVER it is the server.\n"
			"  -p PORT   the server's port (%s)\n",
			argv[0], what, *port);
		exit(option == 'h' ? 0 : 2);
	}
	return argv[optind];
}

/* Opens everything but does not enable the endpoint yet: more may be bound to it. */
static inline void node_open(struct node *n, struct fi_info *hints, int argc, char **argv,
			     const char *what)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	const char *port = "47592", *server = arguments(argc, argv, what, &port);

	memset(n, 0, sizeof(*n));
	n->client = server;
	hints->ep_attr->type = FI_EP_RDM;
	must(fi_getinfo(FI_VERSION(1, 17), server, port, server ? 0 : FI_SOURCE, hints, &n->info),
	     "fi_getinfo");
	fi_freeinfo(hints);
	must(fi_fabric(n->info->fabric_attr, &n->fabric, NULL), "fi_fabric");
	must(fi_domain(n->fabric, n->info, &n->domain, NULL), "fi_domain");
	must(fi_cq_open(n->domain, &cq, &n->cq, NULL), "fi_cq_open");
	must(fi_av_open(n->domain, &av, &n->av, NULL), "fi_av_open");
	must(fi_endpoint(n->domain, n->info, &n->ep, NULL), "fi_endpoint");
	must(fi_ep_bind(n->ep, &n->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_ep_bind(n->ep, &n->av->fid, 0), "fi_ep_bind");
}

/* Returns the number of this process's own address. The address itself is copied to NAME. */
static inline fi_addr_t own_address(struct node *n, char name[FI_NAME_MAX])
{
	size_t len = FI_NAME_MAX;
	fi_addr_t addr;

	must(fi_getname(&n->ep->fid, name, &len), "fi_getname");
	must(fi_av_insert(n->av, name, 1, &addr, 0, NULL), "fi_av_insert");
	return addr;
}

/* The client knows the server's address. It sends its own in the first message. */
static inline fi_addr_t node_meet(struct node *n)
{
	char name[FI_NAME_MAX] = { 0 }, text[128];
	size_t len = sizeof(text);
	struct op op = { 0 };
	fi_addr_t self;

	must(fi_enable(n->ep), "fi_enable");
	self = own_address(n, name);
	if (n->client) {
		must(fi_av_insert(n->av, n->info->dest_addr, 1, &n->peer, 0, NULL), "fi_av_insert");
		while (full(n, fi_send(n->ep, name, sizeof(name), NULL, n->peer, &op), "fi_send"))
			;
		wait_for(n, &op);
		return self;
	}
	printf("waiting at %s\n", fi_av_straddr(n->av, name, text, &len));
	fflush(stdout);
	must(fi_recv(n->ep, name, sizeof(name), NULL, FI_ADDR_UNSPEC, &op), "fi_recv");
	wait_for(n, &op);
	must(fi_av_insert(n->av, name, 1, &n->peer, 0, NULL), "fi_av_insert");
	return self;
}

/* Does nothing the second time. What is bound to an endpoint is closed after it. */
static inline void close_endpoint(struct node *n)
{
	if (n->ep)
		must(fi_close(&n->ep->fid), "fi_close");
	n->ep = NULL;
}

static inline void node_close(struct node *n)
{
	close_endpoint(n);
	must(fi_close(&n->av->fid), "fi_close");
	must(fi_close(&n->cq->fid), "fi_close");
	must(fi_close(&n->domain->fid), "fi_close");
	must(fi_close(&n->fabric->fid), "fi_close");
	fi_freeinfo(n->info);
}

static inline struct fi_info *new_hints(uint64_t caps, int mr_mode)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		must(-FI_ENOMEM, "fi_allocinfo");
	hints->caps = caps;
	hints->domain_attr->mr_mode = mr_mode;
	return hints;
}

#endif
