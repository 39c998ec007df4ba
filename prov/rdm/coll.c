/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends and receives messages of collective operations through the protocol. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "prov/base/coll.h"
#include <rdma/fi_errno.h>
#include "prov/base/refuse.h"
#include "objects.h"
#include "coll.h"
#include "lock.h"
#include "complete.h"

#define MATCH_BITS  8u
#define TICK_MS	    1
#define TICK_MAX_MS 32
#define SILENCE_MS  900 /* interval at which peers that are waited for are probed */

/* A message of the collective engine that is in flight. */
struct ofi_rdm_xfer {
	struct ofi_rdm_proto_recv recv;	 /* first; of a receive */
	LIST_ENTRY(ofi_rdm_xfer) link;	 /* in coll->xfers */
	STAILQ_ENTRY(ofi_rdm_xfer) next; /* in coll->over */
	struct ofi_rdm_peer *peer;
	struct ofi_rdm_out *out; /* NULL: a receive */
	void *cookie;		 /* NULL: no notification wanted */
	size_t len;
	int err;
};

static struct ofi_rdm_xfer *xfer_new(struct ofi_rdm_coll *coll, struct ofi_rdm_peer *peer,
				     void *cookie)
{
	struct ofi_rdm_xfer *xfer = calloc(1, sizeof(*xfer));

	if (!xfer)
		return NULL;
	xfer->peer = peer;
	xfer->cookie = cookie;
	LIST_INSERT_HEAD(&coll->xfers, xfer, link);
	return xfer;
}

/* Called when the message is no longer in flight. */
static void xfer_land(struct ofi_rdm_xfer *xfer)
{
	LIST_REMOVE(xfer, link);
	if (!xfer->out)
		xfer->peer->proto.awaited--;
}

static void xfer_over(struct ofi_rdm_coll *coll, struct ofi_rdm_xfer *xfer, size_t len, int err)
{
	xfer_land(xfer);
	xfer->len = len;
	xfer->err = err;
	STAILQ_INSERT_TAIL(&coll->over, xfer, next);
}

void ofi_rdm_coll_out_done(struct ofi_rdm_ep *ep, struct ofi_rdm_out *out, int err)
{
	struct ofi_rdm_xfer *xfer = out->proto.context;

	ofi_rdm_out_put(ep, out);
	xfer_over(ep->coll, xfer, 0, err);
}

void ofi_rdm_coll_recv_done(struct ofi_rdm_ep *ep, const struct ofi_rdm_proto_done *done)
{
	xfer_over(ep->coll, (struct ofi_rdm_xfer *)done->recv, done->len + done->lost, done->err);
}

static struct ofi_rdm_proto_in *find_unexpected(struct ofi_rdm_coll *coll, fi_addr_t from,
						uint64_t tag, uint64_t ignore)
{
	struct ofi_rdm_peer *peer;
	int err;

	peer = ofi_rdm_peer_of(coll->ep, from, &err);
	return peer ? ofi_rdm_proto_peek(&coll->ep->proto, OFI_RDM_PROTO_COLLECTIVE,
					 peer->proto.src, tag, ignore)
		    : NULL;
}

static bool net_arrived(void *arg, fi_addr_t from, uint64_t tag)
{
	struct ofi_rdm_proto_in *in = find_unexpected(arg, from, tag, 0);

	return in && in->state == OFI_RDM_PROTO_IN_WHOLE;
}

/* Sets the timer; 0 stops it. */
static void set_tick(struct ofi_rdm_coll *coll, uint64_t ms)
{
	struct itimerspec spec = { .it_value = { .tv_nsec = (long)ms * 1000000 } };

	coll->tick_ms = ms;
	timerfd_settime(coll->tick.fd, 0, &spec, NULL);
}

static void fill_out(struct ofi_rdm_out *out, uint64_t tag, const void *buf, size_t len)
{
	struct ofi_rdm_proto_out *proto = &out->proto;

	proto->flags = OFI_RDM_WIRE_TAGGED | OFI_RDM_WIRE_COLLECTIVE;
	proto->level = OFI_RDM_PROTO_TRANSMIT;
	proto->tag = tag;
	proto->data = 0;
	proto->iov[0] = (struct iovec){ (void *)(uintptr_t)buf, len };
	proto->count = 1;
	out->flags = OFI_RDM_SILENT;
}

static ssize_t net_send(void *arg, fi_addr_t to, uint64_t tag, const void *buf, size_t len,
			void *cookie)
{
	struct ofi_rdm_coll *coll = arg;
	struct ofi_rdm_ep *ep = coll->ep;
	struct ofi_rdm_xfer *xfer;
	struct ofi_rdm_peer *peer;
	struct ofi_rdm_out *out;
	int ret;

	peer = ofi_rdm_peer_of(ep, to, &ret);
	if (!peer)
		return ret;
	ret = ofi_rdm_peer_ready(peer) ? 0 : ofi_rdm_xport(&peer->proto)->connect(&peer->proto);
	if (ret)
		return ret;
	out = ofi_rdm_out_get(ep);
	if (!out)
		return ep->objects.outs.count < ep->info->tx_attr->size ? -FI_ENOMEM : -FI_EAGAIN;
	xfer = xfer_new(coll, peer, cookie);
	if (!xfer) {
		ofi_rdm_out_put(ep, out);
		return -FI_ENOMEM;
	}
	xfer->out = out;
	fill_out(out, tag, buf, len);
	out->proto.context = xfer;
	ofi_rdm_proto_send(&peer->proto, &out->proto);
	return 0;
}

/*
 * The connection is not needed for the message itself, for which the peer would connect, but to
 * learn of the peer's death.
 */
static ssize_t net_recv(void *arg, fi_addr_t from, uint64_t tag, void *buf, size_t len,
			void *cookie)
{
	struct ofi_rdm_coll *coll = arg;
	struct ofi_rdm_xfer *xfer;
	struct ofi_rdm_peer *peer;
	int ret;

	peer = ofi_rdm_peer_of(coll->ep, from, &ret);
	if (!peer)
		return ret;
	if (!ofi_rdm_peer_ready(peer) && !net_arrived(coll, from, tag)) {
		ret = ofi_rdm_xport(&peer->proto)->connect(&peer->proto);
		if (ret)
			return ret;
	}
	xfer = xfer_new(coll, peer, cookie);
	if (!xfer)
		return -FI_ENOMEM;
	xfer->recv.iov[0] = (struct iovec){ buf, len };
	xfer->recv.count = 1;
	xfer->recv.space = OFI_RDM_PROTO_COLLECTIVE;
	peer->proto.awaited++;
	if (!coll->tick_ms)
		set_tick(coll, SILENCE_MS);
	ofi_rdm_proto_recv_post(&coll->ep->proto, &xfer->recv, peer->proto.src, tag, 0);
	return 0;
}

/*
 * Detaches a message that is not completely sent from the application's buffer: a copy takes its
 * place, because other members may wait for the message. Returns false if that is impossible.
 */
static bool withdraw_send(struct ofi_rdm_xfer *xfer)
{
	struct ofi_rdm_out *out = xfer->out;
	size_t total = out->proto.total;
	void *copy;

	if (out->proto.state == OFI_RDM_PROTO_OUT_QUEUED && total) {
		copy = malloc(total);
		if (!copy)
			return false;
		memcpy(copy, out->proto.iov[0].iov_base, total);
		if (!ofi_rdm_proto_send_from(&out->proto, copy)) {
			free(copy);
			return false;
		}
		out->copy = copy;
	}
	/* The member has the right to read the bytes in place, or the device is writing them. */
	if (out->proto.mr_count)
		return false;
	xfer->cookie = NULL;
	return true;
}

static bool net_cancel(void *arg, void *cookie)
{
	struct ofi_rdm_coll *coll = arg;
	struct ofi_rdm_xfer *xfer;

	LIST_FOREACH (xfer, &coll->xfers, link) {
		if (xfer->cookie != cookie)
			continue;
		if (xfer->out)
			return withdraw_send(xfer);
		if (!ofi_rdm_proto_recv_withdraw(&xfer->peer->proto, &xfer->recv))
			return false;
		xfer_land(xfer);
		free(xfer);
		return true;
	}
	STAILQ_FOREACH (xfer, &coll->over, next)
		if (xfer->cookie == cookie)
			xfer->cookie = NULL;
	return true;
}

static void net_sever(void *arg, void *cookie)
{
	struct ofi_rdm_coll *coll = arg;
	struct ofi_rdm_xfer *xfer;

	LIST_FOREACH (xfer, &coll->xfers, link)
		if (xfer->cookie == cookie) {
			ofi_rdm_xport(&xfer->peer->proto)->overdue(&xfer->peer->proto);
			return;
		}
}

static void net_purge(void *arg, fi_addr_t from, uint64_t tag, uint64_t ignore)
{
	struct ofi_rdm_proto_in *in;

	while ((in = find_unexpected(arg, from, tag, ignore)))
		ofi_rdm_proto_discard(in);
}

static void net_done(void *arg, const struct ofi_coll_done *done)
{
	struct ofi_rdm_coll *coll = arg;

	if (done->join)
		ofi_rdm_coll_formed(done);
	else
		ofi_rdm_complete_tx(coll->ep, done->context, FI_COLLECTIVE, done->err, 0);
}

static void take_over(struct ofi_rdm_coll *coll)
{
	struct ofi_rdm_xfer *xfer, copy;

	while ((xfer = STAILQ_FIRST(&coll->over))) {
		STAILQ_REMOVE_HEAD(&coll->over, next);
		copy = *xfer;
		free(xfer);
		if (copy.cookie)
			ofi_coll_event(copy.cookie, copy.len, copy.err);
	}
}

ssize_t ofi_rdm_coll_start(struct ofi_rdm_ep *ep, fi_addr_t group, const struct ofi_coll_call *call)
{
	struct ofi_rdm_coll *coll = ep->coll;
	ssize_t ret;

	coll->running = true;
	ret = ofi_coll_start(coll->engine, group, call);
	coll->running = false;
	ofi_rdm_coll_run(ep);
	return ret;
}

void ofi_rdm_coll_run(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_coll *coll = ep->coll;

	if (!coll || coll->running || ep->closing)
		return;
	coll->running = true;
	do {
		take_over(coll);
		ofi_coll_progress(coll->engine);
	} while (!STAILQ_EMPTY(&coll->over));
	coll->running = false;
}

void ofi_rdm_coll_lost(struct ofi_rdm_peer *peer, int err)
{
	struct ofi_rdm_ep *ep = peer->ep;
	struct ofi_rdm_xfer *xfer, *next;
	struct ofi_rdm_coll *coll = ep->coll;
	fi_addr_t addr;

	if (!coll || ep->closing)
		return;
	for (addr = 0; addr < ep->by_addr_size; addr++)
		if (ep->by_addr[addr] == peer)
			ofi_coll_lost(coll->engine, addr);
	for (xfer = LIST_FIRST(&coll->xfers); xfer; xfer = next) {
		next = LIST_NEXT(xfer, link);
		/* The protocol completes receives that have begun. */
		if (xfer->peer != peer || xfer->out || xfer->recv.users)
			continue;
		ofi_rdm_match_remove(&ep->proto.match[OFI_RDM_PROTO_COLLECTIVE], &xfer->recv.match);
		xfer_over(coll, xfer, 0, err);
	}
	ofi_rdm_coll_run(ep);
}

void ofi_rdm_coll_attend(struct ofi_rdm_coll *coll)
{
	ofi_rdm_lock(coll->ep);
	set_tick(coll, TICK_MS);
	ofi_rdm_unlock(coll->ep);
}

static void coll_tick(struct ofi_rdm_coll *coll)
{
	const struct ofi_rdm_xport_ops *ops = coll->ep->proto.xport.ops;
	struct ofi_rdm_xfer *xfer;

	if (ofi_coll_forming(coll->engine)) {
		ops->poll(&coll->ep->proto);
		set_tick(coll, coll->tick_ms < TICK_MAX_MS ? 2 * coll->tick_ms : TICK_MAX_MS);
		return;
	}
	/* A packet that the device sends reveals whether the peer is alive. */
	LIST_FOREACH (xfer, &coll->xfers, link)
		if (!xfer->out && xfer->peer->proto.up)
			ops->touch(&xfer->peer->proto);
	set_tick(coll, LIST_EMPTY(&coll->xfers) ? 0 : SILENCE_MS);
}

static void tick_ready(struct ofi_source *source)
{
	struct ofi_rdm_coll *coll = ofi_container(source, struct ofi_rdm_coll, tick);
	struct ofi_rdm_ep *ep = coll->ep;
	uint64_t ticks;

	(void)!read(source->fd, &ticks, sizeof(ticks));
	ofi_rdm_lock(ep);
	if (!ep->closing)
		coll_tick(coll);
	ofi_rdm_unlock(ep);
}

static int open_parts(struct ofi_rdm_coll *coll)
{
	const struct ofi_coll_net net = {
		.send = net_send,
		.recv = net_recv,
		.arrived = net_arrived,
		.cancel = net_cancel,
		.sever = net_sever,
		.purge = net_purge,
		.done = net_done,
		.max_msg = OFI_RDM_COLL_MAX,
		.max_ops = coll->ep->info->tx_attr->size,
	};

	coll->engine = ofi_coll_new(&net, coll);
	coll->buckets = calloc(2u << MATCH_BITS, sizeof(*coll->buckets));
	if (!coll->engine || !coll->buckets)
		return -FI_ENOMEM;
	coll->tick.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (coll->tick.fd < 0)
		return -errno;
	return ofi_loop_add(coll->ep->domain->loop, &coll->tick);
}

int ofi_rdm_coll_open(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_coll *coll;
	int ret;

	if (!(ep->info->caps & FI_COLLECTIVE))
		return 0;
	coll = calloc(1, sizeof(*coll));
	if (!coll)
		return -FI_ENOMEM;
	ep->coll = coll;
	coll->ep = ep;
	coll->tick = (struct ofi_source){ .fd = -1, .ready = tick_ready };
	LIST_INIT(&coll->xfers);
	STAILQ_INIT(&coll->over);
	ret = open_parts(coll);
	if (ret)
		return ret;
	ofi_ref_own(&coll->groups);
	ofi_rdm_match_init(&ep->proto.match[OFI_RDM_PROTO_COLLECTIVE], coll->buckets,
			   coll->buckets + (1u << MATCH_BITS), MATCH_BITS);
	ep->proto.spaces = OFI_RDM_PROTO_SPACES;
	return 0;
}

int ofi_rdm_coll_busy(const struct ofi_rdm_ep *ep)
{
	if (!ep->coll || !ofi_ref_busy(&ep->coll->groups))
		return 0;
	return ofi_refuse(
		ep->domain->prov, FI_LOG_EP_CTRL, -FI_EBUSY,
		"fi_close: endpoint %p is a member of collective groups; close the groups from fi_join_collective first\n",
		(const void *)ep);
}

void ofi_rdm_coll_fini(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_coll *coll = ep->coll;
	struct ofi_rdm_xfer *xfer;

	if (!coll)
		return;
	if (coll->tick.fd >= 0) {
		ofi_loop_remove(ep->domain->loop, &coll->tick);
		close(coll->tick.fd);
	}
	while ((xfer = LIST_FIRST(&coll->xfers))) {
		LIST_REMOVE(xfer, link);
		free(xfer);
	}
	while ((xfer = STAILQ_FIRST(&coll->over))) {
		STAILQ_REMOVE_HEAD(&coll->over, next);
		free(xfer);
	}
	ofi_coll_free(coll->engine);
	free(coll->buckets);
	free(coll);
	ep->coll = NULL;
}
