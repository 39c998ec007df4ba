/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One process sends datagrams to a multicast group, any number of others receive them. Nobody knows
 * the addresses of the others. Datagrams may be lost, so they are numbered.
 */
#include <arpa/inet.h>
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

enum { SENT = 30, WANTED = 5, PAUSE_MS = 50, JOIN_MS = 10000 };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_cq *cq;
static struct fid_av *av;
static struct fid_ep *ep;
static struct fid_mr *mr;
static struct fid_mc *group;
static char buf[1024];

static ssize_t must(ssize_t ret, const char *call)
{
	if (ret >= 0)
		return ret;
	fprintf(stderr, "%s: %s\n", call, fi_strerror((int)-ret));
	exit(1);
}

static void wait_completion(void)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_entry entry;
	ssize_t ret;

	while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		;
	if (ret == -FI_EAVAIL) {
		must(fi_cq_readerr(cq, &err, 0), "fi_cq_readerr");
		ret = -err.err;
	}
	must(ret, "an operation");
}

static void discover(void)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		must(-FI_ENOMEM, "fi_allocinfo");
	hints->ep_attr->type = FI_EP_DGRAM;
	hints->caps = FI_MSG | FI_MULTICAST;
	hints->addr_format = FI_SOCKADDR_IN; /* groups are IP addresses */
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	must(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), "fi_getinfo");
	fi_freeinfo(hints);
}

static void open_endpoint(void)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	must(fi_eq_open(fabric, &eq_attr, &eq, NULL), "fi_eq_open");
	must(fi_cq_open(domain, &cq_attr, &cq, NULL), "fi_cq_open");
	must(fi_av_open(domain, &av_attr, &av, NULL), "fi_av_open");
	must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &eq->fid, 0), "fi_ep_bind");
	must(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_enable(ep), "fi_enable");
	must(fi_mr_reg(domain, buf, sizeof(buf), FI_SEND | FI_RECV, 0, 0, 0, &mr, NULL),
	     "fi_mr_reg");
}

/* guide: join */
static void join(const char *address, uint64_t flags)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct fi_eq_err_entry err = { 0 };
	struct fi_eq_entry entry;
	uint32_t event;
	ssize_t ret;

	if (inet_pton(AF_INET, address, &in.sin_addr) != 1)
		must(-FI_EINVAL, address);
	must(fi_join(ep, &in, flags, &group, NULL), "fi_join");
	ret = fi_eq_sread(eq, &event, &entry, sizeof(entry), JOIN_MS, 0);
	if (ret == -FI_EAVAIL && fi_eq_readerr(eq, &err, 0) > 0)
		ret = -err.err;
	must(ret, "joining the group");
}
/* guide: end */

/* guide: send */
static void send_all(void)
{
	struct timespec pause = { 0, PAUSE_MS * 1000000L };
	struct iovec iov = { .iov_base = buf };
	void *desc = fi_mr_desc(mr);
	struct fi_msg msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1 };

	msg.addr = fi_mc_addr(group);
	for (int i = 0; i < SENT; i++) {
		iov.iov_len = (size_t)snprintf(buf, sizeof(buf), "datagram %d", i) + 1;
		must(fi_sendmsg(ep, &msg, FI_MULTICAST), "fi_sendmsg");
		wait_completion();
		nanosleep(&pause, NULL);
	}
	printf("sent %d datagrams\n", SENT);
}
/* guide: end */

static void receive_some(void)
{
	int last = -1, number = 0;

	printf("a member of the group\n");
	fflush(stdout);
	for (int i = 0; i < WANTED; i++) {
		must(fi_recv(ep, buf, sizeof(buf), fi_mr_desc(mr), FI_ADDR_UNSPEC, NULL),
		     "fi_recv");
		wait_completion();
		if (sscanf(buf, "datagram %d", &number) != 1 || number <= last)
			must(-FI_EIO, "a datagram");
		last = number;
	}
	printf("received %d datagrams in order\n", WANTED);
}

int main(int argc, char **argv)
{
	const char *address = "239.77.0.1";
	static const struct option help[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
	int option, sender = 0;

	while ((option = getopt_long(argc, argv, "hsg:", help, NULL)) != -1) {
		if (option == 'g') {
			address = optarg;
			continue;
		} else if (option == 's') {
			sender = 1;
			continue;
		}
		fprintf(option == 'h' ? stdout : stderr,
			"Usage: multicast [-s] [-g GROUP]\n"
			"  -s         send to the group; without it, receive\n"
			"  -g GROUP   an IPv4 address of a multicast group (%s)\n",
			address);
		return option == 'h' ? 0 : 2;
	}
	discover();
	open_endpoint();
	join(address, sender ? FI_SEND : FI_RECV);
	sender ? send_all() : receive_some();
	must(fi_close(&group->fid), "fi_close");
	must(fi_close(&ep->fid), "fi_close");
	must(fi_close(&mr->fid), "fi_close");
	must(fi_close(&av->fid), "fi_close");
	must(fi_close(&cq->fid), "fi_close");
	must(fi_close(&domain->fid), "fi_close");
	must(fi_close(&eq->fid), "fi_close");
	must(fi_close(&fabric->fid), "fi_close");
	fi_freeinfo(info);
	return 0;
}
