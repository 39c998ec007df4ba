/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two processes send a message back and forth, over reliable datagrams. Nothing is connected by the
 * program: each side has one endpoint, and sends to addresses.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

enum { ROUNDS = 200, SIZE = 64 };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_ep *ep;
static struct fid_cq *cq;
static struct fid_av *av;

/* guide: must */
/* Ends the program if a call failed. All calls return 0, a count, or a negative error. */
static ssize_t must(ssize_t ret, const char *call)
{
	if (ret >= 0)
		return ret;
	fprintf(stderr, "%s: %s\n", call, fi_strerror((int)-ret));
	exit(1);
}
/* guide: end */

/* guide: wait */
static void operation_failed(void)
{
	struct fi_cq_err_entry err = { 0 };
	char text[256];

	must(fi_cq_readerr(cq, &err, 0), "fi_cq_readerr");
	fi_cq_strerror(cq, err.prov_errno, err.err_data, text, sizeof(text));
	fprintf(stderr, "an operation failed: %s: %s\n", fi_strerror(err.err), text);
	exit(1);
}

/* Waits until *DONE is set, which is the context of an operation. */
static void wait_for(int *done)
{
	struct fi_cq_entry entry;
	ssize_t ret;

	while (!*done) {
		ret = fi_cq_read(cq, &entry, 1);
		if (ret == -FI_EAGAIN)
			continue; /* nothing completed yet */
		if (ret == -FI_EAVAIL)
			operation_failed();
		must(ret, "fi_cq_read");
		*(int *)entry.op_context = 1;
	}
	*done = 0;
}
/* guide: end */

/* guide: discover */
static void discover(const char *server, const char *port)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		must(-FI_ENOMEM, "fi_allocinfo");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG;
	must(fi_getinfo(FI_VERSION(1, 17), server, port, server ? 0 : FI_SOURCE, hints, &info),
	     "fi_getinfo");
	fi_freeinfo(hints);
}
/* guide: end */

/* guide: open */
static void open_endpoint(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	must(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	must(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
	must(fi_enable(ep), "fi_enable");
}
/* guide: end */

/* guide: messages */
static void send_to(fi_addr_t peer, const void *buf, size_t len)
{
	int sent = 0;
	ssize_t ret;

	/* A full queue gets room when completions are read. */
	while ((ret = fi_send(ep, buf, len, NULL, peer, &sent)) == -FI_EAGAIN)
		fi_cq_read(cq, NULL, 0);
	must(ret, "fi_send");
	wait_for(&sent);
}

static void receive(void *buf, size_t len)
{
	int received = 0;

	must(fi_recv(ep, buf, len, NULL, FI_ADDR_UNSPEC, &received), "fi_recv");
	wait_for(&received);
}
/* guide: end */

/* guide: meet */
/* The client knows the server's address. It sends its own in the first message. */
static fi_addr_t meet(int client)
{
	char name[FI_NAME_MAX] = { 0 }, text[128];
	size_t len = sizeof(name), text_len = sizeof(text);
	fi_addr_t peer;

	must(fi_getname(&ep->fid, name, &len), "fi_getname");
	if (client) {
		must(fi_av_insert(av, info->dest_addr, 1, &peer, 0, NULL), "fi_av_insert");
		send_to(peer, name, sizeof(name));
		return peer;
	}
	printf("waiting at %s\n", fi_av_straddr(av, name, text, &text_len));
	fflush(stdout);
	receive(name, sizeof(name));
	must(fi_av_insert(av, name, 1, &peer, 0, NULL), "fi_av_insert");
	return peer;
}
/* guide: end */

static void ping_pong(int client, fi_addr_t peer)
{
	char buf[SIZE] = "ping";
	struct timespec begin, end;
	int i;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (i = 0; i < ROUNDS; i++) {
		if (client)
			send_to(peer, buf, sizeof(buf));
		receive(buf, sizeof(buf));
		if (!client)
			send_to(peer, buf, sizeof(buf));
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%d round trips of %d bytes, %.1f us each\n", ROUNDS, SIZE,
	       ((double)(end.tv_sec - begin.tv_sec) * 1e6 +
		(double)(end.tv_nsec - begin.tv_nsec) / 1e3) /
		       ROUNDS);
}

int main(int argc, char **argv)
{
	const char *port = "47592", *server;
	static const struct option help[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	int option;

	while ((option = getopt_long(argc, argv, "hp:", help, NULL)) != -1) {
		if (option == 'p') {
			port = optarg;
			continue;
		}
		fprintf(option == 'h' ? stdout : stderr,
			"Usage: rdm_pingpong [-p PORT] [SERVER]\n"
			"Without SERVER it is the server, and prints its address.\n");
		return option == 'h' ? 0 : 2;
	}
	server = argv[optind];
	discover(server, port);
	open_endpoint();
	ping_pong(server != NULL, meet(server != NULL));
	/* guide: close */
	must(fi_close(&ep->fid), "fi_close");
	must(fi_close(&av->fid), "fi_close");
	must(fi_close(&cq->fid), "fi_close");
	must(fi_close(&domain->fid), "fi_close");
	must(fi_close(&fabric->fid), "fi_close");
	fi_freeinfo(info);
	/* guide: end */
	return 0;
}
