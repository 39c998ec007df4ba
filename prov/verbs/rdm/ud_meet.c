/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections without the connection manager, to queue pairs that are known by name: GID, queue
 * pair number, and a random key. The two ends exchange the usual private data in letters, which are
 * packets to the queue pair itself. A request contains the key in the peer's name, so its sender
 * knows the name. The answer goes to the GID in the request and returns the request's number: a
 * request with somebody else's GID makes no connection.
 *
 * An IPv4 address that is a GID is a name if it has a hint, which is the queue pair number and the
 * key. A hint may be out of date: if nobody answers, the connection manager is asked instead.
 *
 * A retransmitted request may arrive twice: the first copy is declined, so its sender gives up, and
 * the second copy is accepted. The sender therefore refuses an answer that it does not wait for,
 * and an answer is retransmitted until the first packet or a refusal arrives. An answer contains
 * the key in the name of the request's sender: to those who do not know it, refusals would reveal
 * which connections exist.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/rdm/peer.h"
#include "prov/verbs/discovery/gid.h"
#include "prov/verbs/provider/prov.h"
#include "ud_int.h"
#include "ud_refuse.h"

enum {
	GID = 16,
	MARK = 4,  /* bytes of the mark before the packet of a message */
	TIMES = 2, /* transmissions of a request before the connection manager is asked */
};

struct ibv_ah_attr vrb_ud_attr_to(const struct vrb_ud *all, const uint8_t *gid)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = all->port.num,
		.grh = { .sgid_index = (uint8_t)all->port.gid_index, .hop_limit = 64 },
	};

	memcpy(attr.grh.dgid.raw, gid, GID);
	return attr;
}

/* Only RoCE v2 tells the receiver the IPv4 address that a packet comes from. */
static bool is_hinted(const struct vrb_ud *all)
{
	const struct sockaddr *self = &all->ep->self.sa;

	return self->sa_family == AF_INET && all->port.gid_type == IBV_GID_TYPE_ROCE_V2 &&
	       vrb_gid_is_addr(&all->port.gid, self);
}

int vrb_ud_draw_key(struct vrb_ud *all)
{
	while (!all->key) {
		if (!vrb_ud_random(all, &all->key))
			return -FI_EIO;
		/* With the highest bit set, the device would send its queue pair's own Q_Key. */
		all->key &= INT32_MAX;
	}
	return 0;
}

int vrb_ud_set_name(struct vrb_ud *all)
{
	struct ofi_rdm_addr *self = &all->ep->self;

	if (!all->unordered && !is_hinted(all))
		return 0;
	if (!all->key && vrb_ud_draw_key(all))
		return -FI_EIO;
	if (all->unordered)
		return ofi_rdm_addr_set_qp(self, all->port.gid.raw, all->qp->qp_num, all->key)
			       ? 0
			       : -FI_EADDRNOTAVAIL;
	ofi_rdm_addr_set_hint(self, (struct ofi_rdm_addr_hint){ all->qp->qp_num, all->key });
	return 0;
}

/* Returns false if the address does not say which queue pair takes requests. */
static bool name_of(const struct ofi_rdm_addr *addr, struct ofi_qp_name *name)
{
	struct ofi_rdm_addr_hint hint;

	if (ofi_rdm_addr_is_qp(addr)) {
		*name = addr->qp;
		return true;
	}
	if (!ofi_rdm_addr_hint(addr, &hint))
		return false;
	*name = (struct ofi_qp_name){ .qpn = hint.qpn, .key = hint.key };
	ofi_rdm_addr_gid(addr, name->gid);
	return true;
}

/*
 * The first connection to a host by IP address goes through the connection manager, because
 * creating an address handle for an unknown host may block for seconds.
 */
bool vrb_ud_has_name(const struct ofi_rdm_peer *peer)
{
	struct vrb_ud *all = vrb_rc(peer->ep)->ud;
	struct ofi_qp_name name;

	if (!all || !all->key || !name_of(&peer->addr, &name))
		return false;
	return all->unordered || vrb_ud_has_path(all, name.gid);
}

/*
 * Returns the path of a letter, or NULL. Only a reliable device creates a new one: on others,
 * anybody could name a host that does not exist, which takes seconds to find out.
 */
static struct vrb_ah *letter_path(struct vrb_ud *all, const struct ibv_ah_attr *attr)
{
	return all->unordered ? vrb_ud_path_get(all, attr)
			      : vrb_ud_path_like(all, attr->grh.dgid.raw);
}

static void forget_name(struct vrb_rc_conn *conn)
{
	ofi_rdm_addr_set_hint(&conn->peer->addr, (struct ofi_rdm_addr_hint){ 0 });
}

static struct vrb_ud_letter *letter_new(const struct vrb_ud *all, enum vrb_ud_kind kind,
					const uint8_t *wire, uint8_t len,
					const struct vrb_ud_first *first)
{
	size_t more = first && first->len ? MARK + first->len : 0, size = GID + len + more;
	struct vrb_ud_letter *letter = malloc(sizeof(*letter) + size);
	uint32_t mark;

	if (!letter)
		return NULL;
	*letter = (struct vrb_ud_letter){
		.kind = kind,
		.wait = VRB_UD_LETTER_US,
		.carried = (uint32_t)more,
		.len = (uint32_t)size,
	};
	memcpy(letter->data, all->port.gid.raw, GID);
	memcpy(letter->data + GID, wire, len);
	if (!more)
		return letter;
	mark = htole32(first->mark);
	memcpy(letter->data + GID + len, &mark, MARK);
	memcpy(letter->data + GID + len + MARK, first->bytes, first->len);
	return letter;
}

static void send_letter(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	const struct vrb_ud_way way = vrb_ud_way_of(ud);
	struct vrb_ud_letter *letter = ud->letter;
	bool asks = letter->kind == VRB_UD_ASK;
	const struct vrb_ud_packet packet = {
		.kind = letter->kind,
		.to = asks ? letter->key : ud->to,
		.from = ud->conn->qp_num,
		.key = asks ? all->key : letter->key,
		/* A refusal of the answer needs our key for its Q_Key. */
		.id = asks ? 0 : all->key,
		.asked = letter->carried,
		.payload = letter->data,
		.len = letter->len,
	};

	letter->at = all->now + letter->wait;
	/* A reliable device still tries the last copy. Half of its queue is for packets. */
	if (letter->posted)
		return;
	if (all->unordered && 2 * vrb_ud_sq_room(all) <= all->sq_depth + VRB_UD_RESERVE) {
		letter->at = all->now + VRB_UD_LETTER_US / 100;
		return;
	}
	/* Endpoints whose requests are lost together must not retransmit them together. */
	if (letter->times)
		letter->at -= ofi_rdm_ack_part(letter->wait, ud->conn->qp_num + letter->times);
	letter->wait =
		letter->wait < VRB_UD_LETTER_MOST_US ? 2 * letter->wait : VRB_UD_LETTER_MOST_US;
	letter->times += letter->times < UINT8_MAX;
	letter->posted = vrb_ud_put_bare(all, &way, &packet) && all->unordered;
}

/* Sends a letter for the first time. Returns 0 or -FI_ENOMEM. */
static int begin_letter(struct vrb_ud_conn *ud, uint32_t key, struct vrb_ud_letter *letter)
{
	ud->letter = letter;
	if (!ud->path || !letter)
		return -FI_ENOMEM;
	letter->key = key;
	vrb_ud_of(ud)->now = vrb_ud_clock();
	send_letter(ud);
	vrb_ud_watch(ud);
	return 0;
}

int vrb_ud_ask(struct vrb_rc_conn *conn, const uint8_t *wire, uint8_t len,
	       const struct vrb_ud_first *first)
{
	struct vrb_ud *all = vrb_rc(conn->ep)->ud;
	struct vrb_ud_conn *ud = conn->ud;
	struct ofi_qp_name name;
	struct ibv_ah_attr attr;

	if (!name_of(&conn->peer->addr, &name))
		return -FI_EHOSTUNREACH;
	attr = vrb_ud_attr_to(all, name.gid);
	ud->path = letter_path(all, &attr);
	ud->qpn = name.qpn;
	return begin_letter(ud, name.key, letter_new(all, VRB_UD_ASK, wire, len, first));
}

int vrb_ud_answer(struct vrb_rc_conn *conn, const struct rdma_cm_event *event, const uint8_t *wire,
		  uint8_t len)
{
	const struct rdma_ud_param *asker = &event->param.ud;
	struct ofi_rdm_addr_hint hint;

	/* A peer that has not proved itself leaves no hint, and a known hint is not replaced. */
	if (!conn->proof && !ofi_rdm_addr_hint(&conn->peer->addr, &hint))
		ofi_rdm_addr_set_hint(&conn->peer->addr,
				      (struct ofi_rdm_addr_hint){ asker->qp_num, asker->qkey });
	return begin_letter(conn->ud, asker->qkey,
			    letter_new(vrb_ud_of(conn->ud), VRB_UD_ANSWER, wire, len, NULL));
}

void vrb_ud_decline(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event, const uint8_t *wire,
		    uint8_t len)
{
	const struct vrb_ud_packet packet = {
		.kind = VRB_UD_DECLINE,
		.to = vrb_ud_number_in(event),
		.payload = wire,
		.len = len,
	};
	struct vrb_ud_way way = { .qpn = event->param.ud.qp_num };
	struct vrb_ud *all = vrb_rc(ep)->ud;

	/* A sender that is not told asks again, or asks the connection manager. */
	if (!all)
		return;
	way.path = vrb_ud_refusal_path(all, &event->param.ud.ah_attr);
	way.qkey = vrb_ud_qkey(all, event->param.ud.qkey);
	if (way.path)
		vrb_ud_put_bare(all, &way, &packet);
	vrb_ud_path_leave(all, way.path);
}

bool vrb_ud_was_asked(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event)
{
	struct vrb_rc_conn *conn = vrb_ud_known(ep, event);

	if (vrb_rc(ep)->ud)
		vrb_rc(ep)->ud->requests--;
	if (conn && conn->ud->letter && conn->ud->letter->kind == VRB_UD_ANSWER)
		send_letter(conn->ud);
	return conn;
}

void vrb_ud_sender(const struct ofi_rdm_ep *ep, const struct rdma_cm_event *event,
		   struct ofi_rdm_addr *from)
{
	const struct rdma_ud_param *ud = &event->param.ud;
	const uint8_t *gid = ud->ah_attr.grh.dgid.raw;

	if (vrb_rc_domain(ep)->unordered) {
		ofi_rdm_addr_set_qp(from, gid, ud->qp_num, ud->qkey);
		return;
	}
	*from = (struct ofi_rdm_addr){ .in.sin_family = AF_INET };
	memcpy(&from->in.sin_addr, gid + 12, sizeof(from->in.sin_addr));
}

size_t vrb_ud_room(const struct ofi_rdm_ep *ep, uint8_t len)
{
	const struct vrb_ud *all = vrb_rc(ep)->ud;

	/* The peer's MTU is not known yet, but all Elastic Fabric Adapters have the same. */
	return vrb_ud_payload(all, all->unordered ? all->port.mtu : 0) - GID - len - MARK;
}

/*
 * In the event of a letter's request, the status is the number of bytes that follow the private
 * data: the mark of the packet, and the packet.
 */
size_t vrb_ud_carried(const struct rdma_cm_event *event)
{
	return !event->id && event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? (size_t)event->status
									   : 0;
}

const uint8_t *vrb_ud_first_in(const struct rdma_cm_event *event, size_t *len, uint32_t *mark)
{
	const uint8_t *bytes = event->param.ud.private_data;
	size_t carried = vrb_ud_carried(event);

	if (carried <= MARK)
		return NULL;
	bytes += event->param.ud.private_data_len;
	memcpy(mark, bytes, MARK);
	*mark = le32toh(*mark);
	*len = carried - MARK;
	return bytes + MARK;
}

/*
 * Returns the length of a letter without the message that it carries. If the stated length of the
 * message exceeds the packet, the result wraps around to more than any letter has.
 */
static size_t words_len(const struct vrb_ud_packet *packet)
{
	return packet->kind == VRB_UD_ASK ? packet->len - packet->asked : packet->len;
}

static struct rdma_cm_event event_new(enum rdma_cm_event_type type, const struct ibv_wc *wc,
				      const struct vrb_ud_packet *packet, size_t skip)
{
	return (struct rdma_cm_event){
		.event = type,
		.param.ud = { .private_data = packet->payload + skip,
			      .private_data_len = (uint8_t)(words_len(packet) - skip),
			      .qp_num = wc->src_qp,
			      .qkey = packet->key },
	};
}

/*
 * Returns true if the letter's GID is the IPv4 address that the packet came from. The IPv4 header
 * is the last 20 bytes in the place of the GRH. A reliable device provides no header to compare
 * with.
 */
static bool comes_from(const struct vrb_ud *all, const struct vrb_ud_rx *rx)
{
	const uint8_t *grh = (const uint8_t *)(uintptr_t)rx->sge.addr, *gid = rx->packet.payload;

	if (!all->grh)
		return true;
	return !memcmp(gid, ofi_rdm_addr_mapped, sizeof(ofi_rdm_addr_mapped)) &&
	       grh[20] >> 4 == 4 && !memcmp(grh + 32, gid + 12, 4);
}

/*
 * A request without the key in our name is for an earlier endpoint with that queue pair number, or
 * comes from somebody who does not know the name: nothing is kept for it, not even a path.
 */
static void take_ask(struct vrb_ud *all, const struct ibv_wc *wc, const struct vrb_ud_rx *rx)
{
	const struct vrb_ud_packet *packet = &rx->packet;
	struct rdma_cm_event event;

	if (words_len(packet) < GID || packet->to != all->key || all->requests == VRB_UD_REQUESTS ||
	    !comes_from(all, rx))
		return;
	event = event_new(RDMA_CM_EVENT_CONNECT_REQUEST, wc, packet, GID);
	event.param.ud.ah_attr = vrb_ud_attr_to(all, packet->payload);
	event.status = (int)packet->asked;
	all->requests += all->calls->letter(all->ep, NULL, &event);
}

/* Returns the connection with that number if it waits for an answer. */
static struct vrb_ud_conn *asking(const struct vrb_ud *all, uint32_t number)
{
	struct vrb_rc_conn *conn = vrb_rc_conn_find(all->ep, number);
	struct vrb_ud_conn *ud = conn && conn->state < VRB_RC_CONN_ENDED ? conn->ud : NULL;

	return ud && ud->letter && ud->letter->kind == VRB_UD_ASK ? ud : NULL;
}

static void end_ask(struct vrb_ud *all, struct vrb_ud_conn *ud, struct rdma_cm_event *event)
{
	event->param.ud.ah_attr = ud->path->attr;
	/* Without memory for the event, the request is sent again, and answered again. */
	if (!all->calls->letter(all->ep, ud->conn, event))
		return;
	free(ud->letter);
	ud->letter = NULL;
}

/* Ends the request as the connection manager does that gets no answer. */
static void no_answer(struct vrb_ud_conn *ud)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_UNREACHABLE, .status = 1 };

	end_ask(vrb_ud_of(ud), ud, &event);
}

static void take_decline(struct vrb_ud *all, const struct ibv_wc *wc,
			 const struct vrb_ud_packet *packet)
{
	struct vrb_ud_conn *ud = asking(all, packet->to);
	struct rdma_cm_event event = event_new(RDMA_CM_EVENT_UNREACHABLE, wc, packet, 0);

	if (!ud || ud->qpn != wc->src_qp)
		return;
	event.status = 1;
	end_ask(all, ud, &event);
}

/*
 * Returns true if the answer comes from the peer of a connection. The peer's number is known once
 * the event thread has handled its first answer.
 */
static bool has_conn(const struct vrb_ud *all, const struct ibv_wc *wc,
		     const struct vrb_ud_packet *packet)
{
	const struct vrb_rc_conn *conn = vrb_rc_conn_find(all->ep, packet->to);

	return conn && conn->state < VRB_RC_CONN_ENDED && conn->ud && conn->ud->qpn == wc->src_qp &&
	       (!conn->ud->heard || conn->ud->to == packet->from);
}

/* The peer repeats its answer, so it does not know yet that the first one arrived. */
static void confirm_again(const struct vrb_ud *all, uint32_t number)
{
	struct vrb_ud_conn *ud = vrb_rc_conn_find(all->ep, number)->ud;

	ud = ud->heard && !ud->over ? vrb_ud_wake(ud) : NULL;
	if (ud)
		vrb_ud_send_bare(ud, VRB_UD_ACK, 0);
}

void vrb_ud_conn_confirm(struct vrb_rc_conn *conn)
{
	struct vrb_ud_conn *ud = conn->ud;

	if (ud->over || ud->broken || ud->ack.first)
		return;
	ud->ack.owes = vrb_ud_of(ud)->now;
	vrb_ud_watch(ud);
}

/* The GID of an answer that nobody waits for is checked like that of a request. */
static void take_answer(struct vrb_ud *all, const struct ibv_wc *wc, const struct vrb_ud_rx *rx)
{
	const struct vrb_ud_packet *packet = &rx->packet;
	struct vrb_ud_conn *ud = asking(all, packet->to);
	struct rdma_cm_event event;
	struct ibv_ah_attr attr;

	if (packet->len < GID || packet->key != all->key)
		return;
	event = event_new(RDMA_CM_EVENT_ESTABLISHED, wc, packet, GID);
	if (ud && ud->qpn == wc->src_qp) {
		end_ask(all, ud, &event);
	} else if (has_conn(all, wc, packet)) {
		confirm_again(all, packet->to);
	} else if (comes_from(all, rx)) {
		attr = vrb_ud_attr_to(all, packet->payload);
		vrb_ud_refuse_to(all, wc, packet, &attr);
	}
}

void vrb_ud_letter_free(struct vrb_ud_conn *ud)
{
	if (ud->letter && ud->letter->kind == VRB_UD_ASK)
		forget_name(ud->conn);
	free(ud->letter);
	ud->letter = NULL;
}

void vrb_ud_letter_again(struct vrb_ud_conn *ud)
{
	const struct vrb_ud_letter *letter = ud->letter;

	if (!letter || letter->at > vrb_ud_of(ud)->now)
		return;
	if (letter->kind != VRB_UD_ASK || letter->times < TIMES ||
	    ofi_rdm_addr_is_qp(&ud->conn->peer->addr)) {
		send_letter(ud);
		return;
	}
	/* The connection manager may know the endpoint that has the peer's IP address. */
	forget_name(ud->conn);
	no_answer(ud);
}

void vrb_ud_letter_left(struct vrb_ud *all, uint32_t number, bool nobody)
{
	struct vrb_rc_conn *conn = vrb_rc_conn_find(all->ep, number);
	struct vrb_ud_conn *ud = asking(all, number);

	if (conn && conn->ud && conn->ud->letter)
		conn->ud->letter->posted = false;
	if (!nobody)
		return;
	if (ud)
		no_answer(ud);
	else if (conn && conn->ud && vrb_ud_waits_for_first(conn->ud))
		vrb_ud_over(conn->ud, FI_ECONNRESET);
}

void vrb_ud_met_other(const struct vrb_ud *all, const uint8_t *bytes, size_t len)
{
	struct vrb_ud_head head;

	if (len < sizeof(head))
		return;
	memcpy(&head, bytes, sizeof(head));
	if (all->key && head.kind == VRB_UD_ASK && le32toh(head.to) == all->key &&
	    head.version != VRB_UD_VERSION)
		FI_WARN_SPARSE(
			&vrb_prov, FI_LOG_EP_CTRL,
			"connection request dropped: its sender uses version %u of datagrams, this library uses %u\n",
			head.version, VRB_UD_VERSION);
}

void vrb_ud_met(struct vrb_ud *all, const struct ibv_wc *wc, const struct vrb_ud_rx *rx)
{
	const struct vrb_ud_packet *packet = &rx->packet;

	if (!all->key || words_len(packet) > UINT8_MAX)
		return;
	if (packet->kind == VRB_UD_ASK)
		take_ask(all, wc, rx);
	else if (packet->kind == VRB_UD_ANSWER)
		take_answer(all, wc, rx);
	else
		take_decline(all, wc, packet);
}
