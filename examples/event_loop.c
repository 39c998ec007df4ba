/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One loop that sleeps in epoll_wait and handles everything: events of connections, completions,
 * and a timer. The server echoes what its client sends. The client ends the connection after some
 * rounds.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include "example.h"

enum { ROUNDS = 100, SIZE = 64 };

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_pep *pep;
static struct fid_eq *eq;
static struct fid_ep *ep;
static struct fid_cq *cq;
static struct fid_mr *mr;
static char buf[2][SIZE]; /* to send, to receive */
static int epoll, timer, client, over, rounds, ticks;

/* guide: add */
/* Adds the descriptor of an event queue or completion queue to the loop. */
static void add_queue(struct fid *queue)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = queue };
	int fd;

	must(fi_control(queue, FI_GETWAIT, &fd), "FI_GETWAIT");
	must(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0, "epoll_ctl");
}
/* guide: end */

static void open_endpoint(struct fi_info *info)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD };

	must(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	must(fi_cq_open(domain, &attr, &cq, NULL), "fi_cq_open");
	must(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &eq->fid, 0), "fi_ep_bind");
	must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_enable(ep), "fi_enable");
	must(fi_mr_reg(domain, buf, sizeof(buf), FI_SEND | FI_RECV, 0, 0, 0, &mr, NULL),
	     "fi_mr_reg");
	must(fi_recv(ep, buf[1], SIZE, fi_mr_desc(mr), 0, NULL), "fi_recv");
	add_queue(&cq->fid);
}

static void send_buffer(void)
{
	must(fi_send(ep, buf[0], SIZE, fi_mr_desc(mr), 0, NULL), "fi_send");
}

/* guide: event */
static void handle_event(uint32_t event, struct fi_eq_cm_entry *entry)
{
	if (event == FI_CONNREQ) {
		if (ep) { /* one client is enough */
			must(fi_reject(pep, entry->info->handle, NULL, 0), "fi_reject");
		} else {
			open_endpoint(entry->info);
			must(fi_accept(ep, NULL, 0), "fi_accept");
		}
		fi_freeinfo(entry->info);
	} else if (event == FI_CONNECTED && client) {
		send_buffer();
	} else if (event == FI_SHUTDOWN) {
		over = 1;
	}
}
/* guide: end */

/* guide: completion */
static void handle_completion(const struct fi_cq_msg_entry *entry)
{
	if (!(entry->flags & FI_RECV))
		return;
	must(fi_recv(ep, buf[1], SIZE, fi_mr_desc(mr), 0, NULL), "fi_recv");
	if (++rounds == ROUNDS && client)
		must(fi_shutdown(ep, 0), "fi_shutdown");
	else
		send_buffer();
}
/* guide: end */

/* guide: drain */
/* Reads both queues until they are empty. */
static void drain(void)
{
	struct fi_cq_err_entry cq_err = { 0 };
	struct fi_eq_err_entry eq_err = { 0 };
	struct fi_cq_msg_entry completion;
	struct fi_eq_cm_entry entry;
	uint32_t event;
	ssize_t ret;

	while ((ret = fi_eq_read(eq, &event, &entry, sizeof(entry), 0)) > 0)
		handle_event(event, &entry);
	if (ret == -FI_EAVAIL && fi_eq_readerr(eq, &eq_err, 0) > 0)
		must(-eq_err.err, "connecting");
	while (cq && (ret = fi_cq_read(cq, &completion, 1)) != -FI_EAGAIN) {
		if (ret == 1) {
			handle_completion(&completion);
			continue;
		}
		must(ret == -FI_EAVAIL ? fi_cq_readerr(cq, &cq_err, 0) : ret, "fi_cq_read");
		if (cq_err.err != FI_ECANCELED) /* the receive of a connection that is over */
			must(-cq_err.err, "an operation");
	}
}
/* guide: end */

/* guide: loop */
static void run(void)
{
	struct epoll_event events[4];
	uint64_t expired;

	while (!over) {
		struct fid *queues[] = { &eq->fid, cq ? &cq->fid : NULL };
		int ret;

		drain();
		/* Refused with -FI_EAGAIN if something has come since: then there is no wakeup. */
		ret = fi_trywait(fabric, queues, queues[1] ? 2 : 1);
		if (ret == -FI_EAGAIN)
			continue;
		must(ret, "fi_trywait");
		must(epoll_wait(epoll, events, 4, -1) < 0 && errno != EINTR ? -errno : 0,
		     "epoll_wait");
		if (read(timer, &expired, sizeof(expired)) == sizeof(expired))
			ticks++;
	}
}
/* guide: end */

static void start(const char *server, struct fi_info *info)
{
	struct itimerspec often = { { 0, 100000000 }, { 0, 100000000 } };
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	struct epoll_event event = { .events = EPOLLIN };

	must(epoll = epoll_create1(0), "epoll_create1");
	must(timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), "timerfd_create");
	must(timerfd_settime(timer, 0, &often, NULL), "timerfd_settime");
	must(epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event), "epoll_ctl");
	must(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	must(fi_eq_open(fabric, &attr, &eq, NULL), "fi_eq_open");
	add_queue(&eq->fid);
	if (server) {
		open_endpoint(info);
		must(fi_connect(ep, info->dest_addr, NULL, 0), "fi_connect");
		return;
	}
	must(fi_passive_ep(fabric, info, &pep, NULL), "fi_passive_ep");
	must(fi_pep_bind(pep, &eq->fid, 0), "fi_pep_bind");
	must(fi_listen(pep), "fi_listen");
	printf("waiting for a connection\n");
	fflush(stdout);
}

static void close_all(void)
{
	struct fid *all[] = { &ep->fid, &mr->fid,    &cq->fid, &domain->fid, pep ? &pep->fid : NULL,
			      &eq->fid, &fabric->fid };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]) /* a client has no passive endpoint */
			must(fi_close(all[i]), "fi_close");
}

int main(int argc, char **argv)
{
	struct fi_info *hints = new_hints(FI_MSG, FI_MR_LOCAL), *info;
	const char *port = "47592", *server;

	server = arguments(argc, argv, "One loop sleeps until anything happens.", &port);
	client = server != NULL;
	hints->ep_attr->type = FI_EP_MSG;
	must(fi_getinfo(FI_VERSION(1, 17), server, port, server ? 0 : FI_SOURCE, hints, &info),
	     "fi_getinfo");
	start(server, info);
	run();
	printf("%d messages received, the timer ran: %s\n", rounds, ticks ? "yes" : "no");
	close_all();
	fi_freeinfo(hints);
	fi_freeinfo(info);
	return 0;
}
