/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two processes send a message back and forth, over a connection: listen, connect, accept. The
 * buffer is registered, as the device reads and writes it directly.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

enum { ROUNDS = 200, SIZE = 64, WAIT_MS = 10000 };

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_pep *pep;
static struct fid_eq *eq;
static struct fid_ep *ep;
static struct fid_cq *cq;
static struct fid_mr *mr;
static char buf[2][SIZE];  /* to send, to receive */
static int sent, received; /* set when the operation is complete */

static ssize_t must(ssize_t ret, const char *call)
{
	if (ret >= 0)
		return ret;
	fprintf(stderr, "%s: %s\n", call, fi_strerror((int)-ret));
	exit(1);
}

/* guide: event */
/*
 * Waits for an event of a connection, and ends the program if it is another one. Returns the
 * fi_info of a request.
 */
static struct fi_info *wait_event(uint32_t wanted, int timeout, const char *what)
{
	struct fi_eq_err_entry err = { 0 };
	struct fi_eq_cm_entry entry;
	uint32_t event = 0;
	ssize_t ret = fi_eq_sread(eq, &event, &entry, sizeof(entry), timeout, 0);

	if (ret == -FI_EAVAIL) {
		must(fi_eq_readerr(eq, &err, 0), "fi_eq_readerr");
		ret = -err.err;
	} else if (ret == -FI_EAGAIN) {
		ret = -FI_ETIMEDOUT;
	}
	must(ret, what);
	if (event != wanted)
		must(-FI_EOTHER, what);
	return event == FI_CONNREQ ? entry.info : NULL;
}
/* guide: end */

/* guide: wait */
static void wait_for(int *done)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_entry entry;
	char text[256];
	ssize_t ret;

	for (; !*done; *(int *)entry.op_context = 1) {
		while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
			;
		if (ret == -FI_EAVAIL) {
			must(fi_cq_readerr(cq, &err, 0), "fi_cq_readerr");
			fi_cq_strerror(cq, err.prov_errno, err.err_data, text, sizeof(text));
			fprintf(stderr, "an operation failed: %s\n", text);
			exit(1);
		}
		must(ret, "fi_cq_read");
	}
	*done = 0;
}
/* guide: end */

static void post_receive(void)
{
	must(fi_recv(ep, buf[1], SIZE, fi_mr_desc(mr), 0, &received), "fi_recv");
}

static struct fi_info *discover(const char *server)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	if (!hints)
		must(-FI_ENOMEM, "fi_allocinfo");
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG;
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	must(fi_getinfo(FI_VERSION(1, 17), server, "47592", server ? 0 : FI_SOURCE, hints, &info),
	     "fi_getinfo");
	fi_freeinfo(hints);
	return info;
}

/* guide: open */
/* Opens an endpoint with what the connection needs: a queue, a registered buffer, a receive. */
static void open_endpoint(struct fi_info *info)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT };

	must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	must(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &eq->fid, 0), "fi_ep_bind");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_enable(ep), "fi_enable");
	must(fi_mr_reg(domain, buf, sizeof(buf), FI_SEND | FI_RECV, 0, 0, 0, &mr, NULL),
	     "fi_mr_reg");
	post_receive();
}
/* guide: end */

/* guide: listen */
static void serve(struct fi_info *info)
{
	struct fi_info *request;

	must(fi_passive_ep(fabric, info, &pep, NULL), "fi_passive_ep");
	must(fi_pep_bind(pep, &eq->fid, 0), "fi_pep_bind");
	must(fi_listen(pep), "fi_listen");
	printf("waiting for a connection\n");
	fflush(stdout);
	request = wait_event(FI_CONNREQ, -1, "waiting for a request");
	open_endpoint(request);
	fi_freeinfo(request);
	must(fi_accept(ep, NULL, 0), "fi_accept");
	wait_event(FI_CONNECTED, WAIT_MS, "accepting");
}
/* guide: end */

/* guide: connect */
static void connect_to(struct fi_info *info)
{
	open_endpoint(info);
	must(fi_connect(ep, info->dest_addr, NULL, 0), "fi_connect");
	wait_event(FI_CONNECTED, WAIT_MS, "connecting");
}
/* guide: end */

/* guide: rounds */
static void take_message(int round)
{
	wait_for(&received);
	if (round + 1 < ROUNDS) /* after the last one the peer may leave */
		post_receive();
}

static void ping_pong(int client)
{
	for (int i = 0; i < ROUNDS; i++) {
		if (!client)
			take_message(i);
		must(fi_send(ep, buf[0], SIZE, fi_mr_desc(mr), 0, &sent), "fi_send");
		wait_for(&sent);
		if (client)
			take_message(i);
	}
}
/* guide: end */

static void close_all(struct fi_info *info)
{
	must(fi_close(&ep->fid), "fi_close");
	must(fi_close(&mr->fid), "fi_close");
	must(fi_close(&cq->fid), "fi_close");
	must(fi_close(&domain->fid), "fi_close");
	if (pep)
		must(fi_close(&pep->fid), "fi_close");
	must(fi_close(&eq->fid), "fi_close");
	must(fi_close(&fabric->fid), "fi_close");
	fi_freeinfo(info);
}

int main(int argc, char **argv)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	const char *server = argc > 1 ? argv[1] : NULL;
	struct fi_info *info;

	if (server && server[0] == '-') {
		printf("Usage: msg_pingpong [SERVER]\nWithout SERVER it is the server.\n");
		return strcmp(server, "-h") && strcmp(server, "--help") ? 2 : 0;
	}
	info = discover(server);
	must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	must(fi_eq_open(fabric, &eq_attr, &eq, NULL), "fi_eq_open");
	server ? connect_to(info) : serve(info);
	ping_pong(server != NULL);
	printf("%d round trips of %d bytes\n", ROUNDS, SIZE);
	close_all(info);
	return 0;
}
