/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections to peers: who calls whom, and what becomes of it. */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <ofi/addr.h>
#include <ofi/wait.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn.h"
#include "conn_data.h"
#include "op.h"
#include "progress.h"
#include "prov/verbs/cm_wire.h"
#include "prov/verbs/err.h"
#include "prov/verbs/fabric.h"
#include "prov/verbs/prov.h"

#define BACKLOG	     1024
#define RETRY_MS     20 /* before the second attempt; doubled each time */
#define RETRY_MAX_MS 1000
#define RESERVE	     4 /* credits for control packets */

static struct vrb_cm *cm_of(const struct vrb_rdm *ep)
{
	return &ep->domain->fabric->cm;
}

static const char *name_of(const struct vrb_rdm_peer *peer, char *text)
{
	return ofi_addr_str(&peer->addr.sa, text, OFI_ADDR_STRLEN);
}

/* The event thread looks at what is due after so many ms. */
static void set_timer(struct vrb_rdm *ep, uint64_t ms)
{
	struct itimerspec spec = { .it_value = { (time_t)(ms / 1000),
						 (long)(ms % 1000) * 1000000 } };

	if (!ms)
		spec.it_value.tv_nsec = 1;
	timerfd_settime(ep->timer.fd, 0, &spec, NULL);
}

static void bury(struct vrb_rdm_link *link)
{
	link->state = VRB_RDM_LINK_DEAD;
	SLIST_INSERT_HEAD(&link->ep->graves, link, grave);
	set_timer(link->ep, 0);
}

/* What the peer's queue pair needs of ours; the queue pair is our own, not the id's. */
static struct rdma_conn_param conn_param(const struct vrb_rdm_link *link, const uint8_t *wire,
					 uint8_t len)
{
	const struct ibv_device_attr *attr = &link->ep->domain->attr;

	return (struct rdma_conn_param){
		.private_data = wire,
		.private_data_len = len,
		.responder_resources =
			(uint8_t)(attr->max_qp_rd_atom < 255 ? attr->max_qp_rd_atom : 255),
		.initiator_depth =
			(uint8_t)(attr->max_qp_init_rd_atom < 255 ? attr->max_qp_init_rd_atom
								  : 255),
		.retry_count = (uint8_t)vrb_params.retry_count,
		.rnr_retry_count = (uint8_t)vrb_params.rnr_retry_count,
		.srq = 1,
		.qp_num = link->qp_num,
	};
}

/* The link is the one to send by, from now on. */
static void up(struct vrb_rdm_link *link)
{
	struct vrb_rdm_peer *peer = link->peer;

	link->state = VRB_RDM_LINK_UP;
	if (link->mirror)
		return;
	if (peer->link) /* the old one is flushing: up when it is done */
		return;
	peer->next = NULL;
	peer->link = link;
	peer->deadline = 0;
	vrb_proto_peer_up(&peer->proto, link->size, RESERVE, peer->eager);
	vrb_rdm_ops_pump(peer);
}

/* The peer's operations fail with err. */
static void down(struct vrb_rdm_peer *peer, int err)
{
	peer->deadline = 0;
	vrb_proto_peer_down(&peer->proto, err);
	vrb_rdm_ops_fail(peer, err);
}

/* The link is of no use any more; `err` ends what it carried. */
static void end(struct vrb_rdm_link *link, int err)
{
	struct vrb_rdm_peer *peer = link->peer;

	if (link->state >= VRB_RDM_LINK_ENDED)
		return;
	link->state = VRB_RDM_LINK_ENDED;
	vrb_rdm_link_break(link);
	if (peer->next == link)
		peer->next = NULL;
	if (peer->link == link)
		down(peer, err);
	if (vrb_rdm_link_idle(link))
		vrb_rdm_conn_drained(link);
}

void vrb_rdm_conn_drained(struct vrb_rdm_link *link)
{
	struct vrb_rdm_peer *peer = link->peer;

	if (link->state != VRB_RDM_LINK_ENDED)
		return;
	if (peer->link == link) {
		peer->link = NULL;
		if (peer->next && peer->next->state == VRB_RDM_LINK_UP)
			up(peer->next);
		else if (!peer->next &&
			 (!TAILQ_EMPTY(&peer->proto.outs) || !STAILQ_EMPTY(&peer->ops)))
			vrb_rdm_conn_want(peer);
	}
	bury(link);
}

void vrb_rdm_conn_failed(struct vrb_rdm_link *link, int err, const struct ibv_wc *wc)
{
	char text[OFI_ADDR_STRLEN];

	if (link->state < VRB_RDM_LINK_ENDED)
		FI_WARN(&vrb_prov, FI_LOG_EP_DATA, "peer %s: %s (vendor 0x%x): connection ended\n",
			name_of(link->peer, text), ibv_wc_status_str(wc->status), wc->vendor_err);
	link->broken = true;
	end(link, err);
}

void vrb_rdm_conn_malformed(struct vrb_rdm_link *link, const char *what)
{
	char text[OFI_ADDR_STRLEN];

	FI_WARN(&vrb_prov, FI_LOG_EP_DATA,
		"peer %s sent a packet that makes no sense: %s: connection ended\n",
		name_of(link->peer, text), what);
	end(link, FI_ECONNABORTED);
}

bool vrb_rdm_conn_heard(struct vrb_rdm_link *link)
{
	if (link->state == VRB_RDM_LINK_ACCEPTED)
		up(link);
	return link->mirror || link->peer->link == link;
}

/* Active side. */

static int give_up(struct vrb_rdm_link *link, int err)
{
	struct vrb_rdm_peer *peer = link->peer;
	uint64_t now = ofi_now_ms();
	char text[OFI_ADDR_STRLEN];

	link->state = VRB_RDM_LINK_ENDED;
	if (peer->next == link)
		peer->next = NULL;
	bury(link);
	if (peer->next || peer->link)
		return 0;
	if (now < peer->deadline) {
		peer->delay = peer->delay * 2 < RETRY_MAX_MS ? peer->delay * 2 : RETRY_MAX_MS;
		peer->retry_at =
			now + peer->delay + (peer->proto.src * 7 + now) % (peer->delay + 1);
		set_timer(peer->ep, 1);
		return 0;
	}
	FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "peer %s can't be connected: %s\n", name_of(peer, text),
		fi_strerror(err));
	down(peer, err);
	return -err;
}

static int call(struct vrb_rdm_peer *peer)
{
	struct vrb_rdm *ep = peer->ep;
	struct vrb_rdm_link *link = vrb_rdm_link_new(ep);
	int ret;

	if (!link)
		return -FI_ENOMEM;
	link->peer = peer;
	link->active = true;
	link->owner.kind = VRB_OWNER_RDM_LINK;
	ret = vrb_cm_create_id(cm_of(ep), "connecting reliable datagrams", &link->owner, &link->id);
	if (ret) {
		vrb_rdm_link_free(link);
		return ret;
	}
	peer->next = link;
	link->state = VRB_RDM_LINK_CALLING;
	if (rdma_resolve_addr(link->id, NULL, &peer->addr.sa, vrb_params.resolve_timeout))
		return give_up(link, -vrb_errno(errno));
	return 0;
}

int vrb_rdm_conn_want(struct vrb_rdm_peer *peer)
{
	int ret;

	if (peer->ep->closing)
		return -FI_EOPBADSTATE;
	if (peer->next || peer->link || peer->deadline)
		return 0;
	peer->deadline = ofi_now_ms() + (uint64_t)vrb_params.rdm_connect_timeout;
	peer->delay = RETRY_MS;
	ret = call(peer);
	if (ret)
		peer->deadline = 0;
	return ret;
}

static void request(struct vrb_rdm_link *link)
{
	struct vrb_rdm *ep = link->ep;
	uint8_t wire[VRB_CM_WIRE_MAX];
	struct rdma_conn_param param;
	int ret;

	if (!link->id->verbs || strcmp(ibv_get_device_name(link->id->verbs->device),
				       ibv_get_device_name(ep->domain->ctx->device))) {
		give_up(link, FI_EHOSTUNREACH);
		return;
	}
	ret = vrb_rdm_link_create_qp(link);
	if (ret) {
		give_up(link, -ret);
		return;
	}
	param = conn_param(link, wire,
			   vrb_rdm_conn_data(ep, VRB_CMWIRE_REQUEST, VRB_CMWIRE_NONE,
					     link->peer->incarnation, wire));
	if (rdma_connect(link->id, &param))
		give_up(link, -vrb_errno(errno));
}

static void answered(struct vrb_rdm_link *link, const struct rdma_cm_event *event)
{
	struct vrb_cmwire cm;
	enum vrb_wire_error error = vrb_rdm_conn_parse(event, &cm);
	char text[OFI_ADDR_STRLEN];

	if (error || cm.kind != VRB_CMWIRE_REPLY) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"peer %s is no endpoint of this kind: its reply: %s\n",
			name_of(link->peer, text), vrb_wire_strerror(error));
		link->peer->deadline = 0;
		give_up(link, FI_EPROTO);
		return;
	}
	vrb_rdm_conn_learn(link->peer, &cm);
	if (vrb_rdm_link_connect(link) || rdma_establish(link->id)) {
		give_up(link, FI_ECONNABORTED);
		return;
	}
	up(link);
}

/* The peer's own request is the one that counts: it will come, or ours is repeated. */
static void rejected(struct vrb_rdm_link *link, const struct rdma_cm_event *event)
{
	struct vrb_cmwire cm = { .reason = VRB_CMWIRE_NONE };
	enum vrb_wire_error error = vrb_rdm_conn_parse(event, &cm);
	char text[OFI_ADDR_STRLEN];

	if (error == VRB_WIRE_E_VERSION || (!error && cm.reason == VRB_CMWIRE_VERSION)) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "peer %s refused: %s\n",
			name_of(link->peer, text), vrb_cmwire_reason_text(VRB_CMWIRE_VERSION));
		link->peer->deadline = 0;
	}
	give_up(link, FI_ECONNREFUSED);
}

static void link_event(struct vrb_rdm_link *link, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(link->id, vrb_params.resolve_timeout))
			give_up(link, -vrb_errno(errno));
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		request(link);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		answered(link, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (link->state == VRB_RDM_LINK_ACCEPTED)
			up(link);
		break;
	case RDMA_CM_EVENT_REJECTED:
		rejected(link, event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		end(link, event->event == RDMA_CM_EVENT_DISCONNECTED ? FI_ECONNRESET : FI_ENODEV);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		if (link->state == VRB_RDM_LINK_CALLING)
			give_up(link, vrb_cm_err(event->event, event->status));
		else
			end(link, vrb_cm_err(event->event, event->status));
		break;
	default:
		break;
	}
}

void vrb_rdm_conn_event(struct vrb_rdm_link *link, const struct rdma_cm_event *event)
{
	struct vrb_rdm *ep = link->ep;

	ofi_lock(&ep->lock);
	if (!ep->closing && link->state < VRB_RDM_LINK_ENDED)
		link_event(link, event);
	ofi_unlock(&ep->lock);
}

/* Passive side. */

static int accept_link(struct vrb_rdm_link *link)
{
	uint8_t wire[VRB_CM_WIRE_MAX];
	struct rdma_conn_param param;
	int ret;

	ret = vrb_rdm_link_create_qp(link);
	if (!ret)
		ret = vrb_rdm_link_connect(link);
	if (ret)
		return ret;
	param = conn_param(link, wire,
			   vrb_rdm_conn_data(link->ep, VRB_CMWIRE_REPLY, VRB_CMWIRE_NONE,
					     link->peer->incarnation, wire));
	link->state = VRB_RDM_LINK_ACCEPTED;
	return rdma_accept(link->id, &param) ? vrb_errno(errno) : 0;
}

/* Our own call is under way, and the peer's came: both sides come to the same answer. */
static bool ours_wins(const struct vrb_rdm_peer *peer)
{
	return peer->next && peer->next->active &&
	       vrb_rdm_addr_compare(&peer->ep->self, &peer->addr) < 0;
}

static enum vrb_cmwire_reason take(struct vrb_rdm *ep, struct vrb_rdm_peer *peer,
				   struct rdma_cm_id *id, const struct vrb_cmwire *cm)
{
	bool self = !vrb_rdm_addr_compare(&ep->self, &peer->addr);
	struct vrb_rdm_link *link;

	if (!self && cm->expected && cm->expected != ep->incarnation)
		return VRB_CMWIRE_STALE;
	if (!self && ours_wins(peer))
		return VRB_CMWIRE_CROSSING;
	link = vrb_rdm_link_new(ep);
	if (!link)
		return VRB_CMWIRE_RESOURCES;
	link->peer = peer;
	link->owner.kind = VRB_OWNER_RDM_LINK;
	link->id = id;
	link->mirror = self;
	if (!self) {
		vrb_rdm_conn_learn(peer, cm);
		if (peer->link)
			end(peer->link, FI_ECONNRESET);
		if (peer->next)
			end(peer->next, FI_ECONNRESET);
		peer->next = link;
	}
	id->context = &link->owner;
	if (!accept_link(link))
		return VRB_CMWIRE_NONE;
	if (peer->next == link)
		peer->next = NULL;
	link->id = NULL;
	link->state = VRB_RDM_LINK_ENDED;
	bury(link);
	return VRB_CMWIRE_RESOURCES;
}

static enum vrb_cmwire_reason requested(struct vrb_rdm *ep, const struct rdma_cm_event *event)
{
	struct vrb_rdm_peer *peer;
	struct vrb_rdm_addr addr;
	struct vrb_cmwire cm;
	enum vrb_wire_error error = vrb_rdm_conn_parse(event, &cm);

	if (error == VRB_WIRE_E_VERSION)
		return VRB_CMWIRE_VERSION;
	if (error || cm.kind != VRB_CMWIRE_REQUEST || !vrb_rdm_conn_addr(&cm, &addr))
		return VRB_CMWIRE_MALFORMED;
	if (ep->closing || !ep->enabled)
		return ep->closing ? VRB_CMWIRE_CLOSING : VRB_CMWIRE_BUSY;
	peer = vrb_rdm_peer_at(ep, &addr);
	return peer ? take(ep, peer, event->id, &cm) : VRB_CMWIRE_RESOURCES;
}

struct rdma_cm_id *vrb_rdm_conn_request(struct vrb_rdm_listener *listener,
					const struct rdma_cm_event *event)
{
	struct vrb_rdm *ep = listener->ep;
	uint8_t wire[VRB_CM_WIRE_MAX];
	enum vrb_cmwire_reason reason;
	uint8_t len;

	ofi_lock(&ep->lock);
	reason = requested(ep, event);
	len = vrb_rdm_conn_data(ep, VRB_CMWIRE_REJECT, reason, 0, wire);
	ofi_unlock(&ep->lock);
	if (reason == VRB_CMWIRE_NONE)
		return NULL;
	if (reason != VRB_CMWIRE_CROSSING)
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "connection request refused: %s\n",
			vrb_cmwire_reason_text(reason));
	rdma_reject(event->id, wire, len);
	return event->id;
}

/* Links that are done with, and calls that are to be repeated. From the event thread. */
static void timer_ready(struct vrb_source *source)
{
	struct vrb_rdm *ep = (struct vrb_rdm *)((char *)source - offsetof(struct vrb_rdm, timer));
	uint64_t now = ofi_now_ms(), next = UINT64_MAX, ticks;
	struct vrb_rdm_graves graves;
	struct vrb_rdm_link *link;
	struct vrb_rdm_peer *peer;
	uint32_t i;

	(void)!read(source->fd, &ticks, sizeof(ticks));
	ofi_lock(&ep->lock);
	graves = ep->graves;
	SLIST_INIT(&ep->graves);
	for (i = 0; i < ep->peer_count && !ep->closing; i++) {
		peer = ep->peers[i];
		if (!peer->deadline || peer->next || peer->link)
			continue;
		if (peer->retry_at <= now && call(peer))
			down(peer, FI_ENOMEM);
		else if (peer->retry_at > now && peer->retry_at < next)
			next = peer->retry_at;
	}
	if (next != UINT64_MAX)
		set_timer(ep, next - now);
	ofi_unlock(&ep->lock);

	while ((link = SLIST_FIRST(&graves))) {
		SLIST_REMOVE_HEAD(&graves, grave);
		if (link->id)
			rdma_destroy_id(link->id);
		ofi_lock(&ep->lock);
		vrb_rdm_link_free(link);
		ofi_unlock(&ep->lock);
	}
}

static int open_timer(struct vrb_rdm *ep)
{
	int ret;

	ep->timer = (struct vrb_source){
		.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.ready = timer_ready,
	};
	if (ep->timer.fd < 0)
		return -errno;
	ret = vrb_loop_add(&ep->domain->fabric->loop, &ep->timer);
	if (!ret)
		return 0;
	close(ep->timer.fd);
	ep->timer.fd = -1;
	return ret;
}

int vrb_rdm_conn_open(struct vrb_rdm *ep)
{
	struct sockaddr_storage local = { 0 };
	int ret;

	ep->timer.fd = -1;
	if (getrandom(&ep->incarnation, sizeof(ep->incarnation), 0) != sizeof(ep->incarnation))
		return -errno;
	ep->incarnation |= 1;
	memcpy(&local, ep->info->src_addr, ep->info->src_addrlen);
	ep->listener.ep = ep;
	ep->listener.owner.kind = VRB_OWNER_RDM_LISTENER;
	ret = open_timer(ep);
	if (!ret)
		ret = vrb_cm_bind_id(cm_of(ep), "fi_endpoint", &ep->listener.owner, &local,
				     &ep->listener.id);
	if (ret)
		return ret;
	if (rdma_listen(ep->listener.id, BACKLOG)) {
		ret = vrb_errno(errno);
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "fi_endpoint: rdma_listen: %s%s\n",
			fi_strerror(-ret), vrb_remedy(-ret));
		return ret;
	}
	return vrb_rdm_addr_set(&ep->self, rdma_get_local_addr(ep->listener.id))
		       ? 0
		       : -FI_EADDRNOTAVAIL;
}

static void close_link(struct vrb_rdm_link *link)
{
	if (!link)
		return;
	if (link->id)
		rdma_destroy_id(link->id);
	vrb_rdm_flush(link);
	vrb_rdm_link_free(link);
}

void vrb_rdm_conn_close(struct vrb_rdm *ep)
{
	struct vrb_rdm_link *link;
	uint32_t i;

	ofi_lock(&ep->lock);
	ep->closing = true;
	ofi_unlock(&ep->lock);
	if (ep->timer.fd >= 0) {
		vrb_loop_remove(&ep->domain->fabric->loop, &ep->timer);
		close(ep->timer.fd);
	}
	if (ep->listener.id)
		rdma_destroy_id(ep->listener.id);
	vrb_rdm_release_all(ep);
	while ((link = SLIST_FIRST(&ep->graves))) {
		SLIST_REMOVE_HEAD(&ep->graves, grave);
		close_link(link);
	}
	for (i = 0; i < VRB_RDM_QP_BUCKETS; i++)
		while ((link = ep->by_qp[i]))
			close_link(link);
	/* Calls that have no queue pair yet. */
	for (i = 0; i < ep->peer_count; i++)
		if (ep->peers[i]->next && !ep->peers[i]->next->qp)
			close_link(ep->peers[i]->next);
}
