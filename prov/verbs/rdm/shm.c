/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared memory of endpoints and connections: offering, mapping, closing. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "prov/verbs/discovery/resolve.h"
#include "prov/verbs/provider/prov.h"
#include "src/ds/clock.h"
#include "src/ds/min.h"
#include "shm_int.h"

#define NO_MEMORY "no memory or no descriptor for a ring"

struct offer {
	uint8_t version, kind, unused[2];
	uint32_t index; /* of the ring: its bit in the bell */
	struct vrb_shm_place bell, ring;
};

/* Earlier versions of this file send less of it, and take a refusal for a ring without packets. */
struct answer {
	uint8_t version, kind;
	uint8_t copies;	 /* long messages are copied */
	uint8_t refused; /* the ring is not mapped */
};

/*
 * Returns true for an address of this host: the kernel also chooses it as the source of packets to
 * it. Binding to it would prove less, because net.ipv4.ip_nonlocal_bind may permit any address.
 */
static bool is_here(const struct sockaddr *addr)
{
	struct sockaddr_storage to = { 0 }, from = { 0 };

	memcpy(&to, addr, ofi_addr_size(addr));
	return !vrb_route(NULL, &to, &from) &&
	       ofi_addr_same_host((const struct sockaddr *)&from, addr);
}

/* Returns true if the peer is on this host. A queue pair's name has the GID of the host's port. */
static bool is_near(const struct ofi_rdm_addr *own, const struct ofi_rdm_addr *addr)
{
	return ofi_rdm_addr_is_qp(addr) ? !memcmp(own->qp.gid, addr->qp.gid, sizeof(addr->qp.gid))
					: is_here(&addr->sa);
}

bool vrb_shm_is_near(const struct vrb_rc_conn *conn)
{
	return vrb_rc_shares(conn->ep) && conn->peer_shares && !conn->mirror &&
	       vrb_rc_peer(conn->peer)->policy.order && is_near(&conn->ep->self, &conn->peer->addr);
}

static struct vrb_shm *shm_new(struct ofi_rdm_ep *ep)
{
	struct vrb_shm *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->bell = vrb_shm_create(sizeof(*all->bell), &all->place);
	if (!all->bell) {
		free(all);
		return NULL;
	}
	TAILQ_INIT(&all->pending);
	TAILQ_INIT(&all->awake);
	TAILQ_INIT(&all->offered);
	TAILQ_INIT(&all->waiting);
	all->ep = ep;
	all->context.ops.poll_cq = vrb_shm_poll_cq;
	all->context.ops.post_send = vrb_shm_post_send;
	all->cq.context = &all->context;
	all->cq.cq_context = all;
	all->device = vrb_rc(ep)->poll_cq;
	all->first = vrb_rc(ep)->first;
	vrb_rc(ep)->shm = all;
	vrb_rdm_poll_from(vrb_rc(ep), &all->cq, VRB_RDM_BATCH);
	return all;
}

void vrb_shm_close(struct ofi_rdm_ep *ep)
{
	struct vrb_shm *all = vrb_rc(ep)->shm;

	if (!all)
		return;
	vrb_rc(ep)->shm = NULL;
	vrb_rdm_poll_from(vrb_rc(ep), all->device, all->first);
	munmap(all->bell, sizeof(*all->bell));
	close((int)all->place.fd);
	free(all->conns);
	free(all);
}

/* Assigns an index to the ring. Returns false if there are too many rings, or no memory. */
static bool number_ring(struct vrb_shm *all, struct vrb_shm_conn *shm)
{
	struct vrb_shm_conn **conns;
	uint32_t i, size = all->size ? ofi_min(2 * all->size, VRB_SHM_RINGS) : 64;

	for (i = 0; i < all->size && all->conns[i]; i++)
		;
	if (i == all->size) {
		if (size == all->size)
			return false;
		conns = realloc(all->conns, size * sizeof(*conns));
		if (!conns)
			return false;
		memset(conns + all->size, 0, (size - all->size) * sizeof(*conns));
		all->conns = conns;
		all->size = size;
	}
	shm->index = i;
	all->conns[i] = shm;
	return true;
}

static void close_file(struct vrb_shm_conn *shm)
{
	if (shm->fd < 0)
		return;
	close(shm->fd);
	shm->fd = -1;
	vrb_shm_of(shm)->files--;
	TAILQ_REMOVE(&vrb_shm_of(shm)->offered, shm, offer);
}

static void close_ring(struct vrb_shm_conn *shm)
{
	close_file(shm);
	if (!shm->rx.map)
		return;
	vrb_shm_set_awake(shm, false);
	vrb_shm_of(shm)->conns[shm->index] = NULL;
	munmap(shm->rx.map, sizeof(*shm->rx.map));
	shm->rx.map = NULL;
}

static void set_waiting(struct vrb_shm_conn *shm, bool waits)
{
	if (waits)
		TAILQ_INSERT_TAIL(&vrb_shm_of(shm)->waiting, shm, offer);
	else if (shm->waits)
		TAILQ_REMOVE(&vrb_shm_of(shm)->waiting, shm, offer);
	shm->waits = waits;
}

/* Returns true if the held completion is for a work request of the connection. */
static bool holds_sent(const struct vrb_shm *all, const struct vrb_rc_conn *conn)
{
	const struct vrb_rdm_slot *slot = vrb_shm_held_slot(all);

	return all->has_held && slot && slot->conn == conn;
}

/* Unmaps what the peer has made. */
static void close_theirs(struct vrb_shm_conn *shm)
{
	if (shm->tx.map)
		munmap(shm->tx.map, sizeof(*shm->tx.map));
	if (shm->bell)
		munmap(shm->bell, sizeof(*shm->bell));
	shm->tx.map = NULL;
	shm->bell = NULL;
}

static void shm_conn_free(struct vrb_shm_conn *shm)
{
	struct vrb_shm *all = vrb_shm_of(shm);

	if (all->goal.shm == shm)
		all->goal.shm = NULL;
	set_waiting(shm, false);
	close_ring(shm);
	close_theirs(shm);
	if (shm->is_pending)
		TAILQ_REMOVE(&all->pending, shm, pending);
	shm->conn->shm = NULL;
	shm->conn->sq = shm->conn->qp;
	all->count--;
	free(shm);
}

void vrb_shm_conn_close(struct vrb_rc_conn *conn)
{
	struct vrb_shm *all = vrb_rc(conn->ep)->shm;

	if (all && holds_sent(all, conn))
		all->has_held = false;
	if (conn->shm)
		shm_conn_free(conn->shm);
}

/* Ends shared memory with a peer if neither end can write to a ring of the other one. */
static void end_unmapped(struct vrb_shm_conn *shm)
{
	if (shm->answered && !shm->waits && !shm->rx.map && !shm->tx.map)
		shm_conn_free(shm);
}

static struct vrb_shm_conn *shm_conn_new(struct vrb_rc_conn *conn)
{
	struct vrb_shm *all = vrb_rc(conn->ep)->shm ? vrb_rc(conn->ep)->shm : shm_new(conn->ep);
	struct vrb_shm_conn *shm = all ? calloc(1, sizeof(*shm)) : NULL;

	if (!shm)
		return NULL;
	shm->conn = conn;
	shm->fd = -1;
	shm->reported = conn->head;
	shm->device_end = shm->rdma_end = conn->head;
	shm->qp.context = &all->context;
	conn->shm = shm;
	conn->sq = &shm->qp;
	all->count++;
	return shm;
}

static bool open_ring(struct vrb_shm_conn *shm, struct vrb_shm_place *place)
{
	struct vrb_shm *all = vrb_shm_of(shm);
	struct ofi_shm_ring_map *map = vrb_shm_create(sizeof(*map), place);

	if (!map)
		return false;
	if (!number_ring(all, shm)) {
		close((int)place->fd);
		munmap(map, sizeof(*map));
		return false;
	}
	shm->fd = (int)place->fd;
	shm->offered = ofi_now_ms();
	all->files++;
	TAILQ_INSERT_TAIL(&all->offered, shm, offer);
	shm->rx.map = map;
	map->at = (uintptr_t)map;
	vrb_shm_set_awake(shm, true);
	return true;
}

static void log_refusal(const struct vrb_rc_conn *conn, const char *what)
{
	char text[OFI_ADDR_STRLEN];

	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL, "peer %s: %s, messages go through the device\n",
		ofi_rdm_addr_str(&conn->peer->addr, text, sizeof(text)), what);
}

/* Returns false if the connection has no room for the packet at the moment. */
static bool offer_ring(struct vrb_shm_conn *shm)
{
	struct offer offer = { .version = OFI_RDM_WIRE_VERSION, .kind = VRB_SHM_OFFER };

	if (!shm->conn->live)
		return true;
	if (!open_ring(shm, &offer.ring)) {
		log_refusal(shm->conn, NO_MEMORY);
		return true;
	}
	offer.index = shm->index;
	offer.bell = vrb_shm_of(shm)->place;
	if (!vrb_rc_conn_send(shm->conn, &offer, sizeof(offer)))
		return true;
	close_ring(shm);
	return false;
}

/* Makes the offers for which there are places. */
static void make_offers(struct vrb_shm *all)
{
	struct vrb_shm_conn *shm;

	while (all->files < VRB_SHM_OFFERS && (shm = TAILQ_FIRST(&all->waiting))) {
		set_waiting(shm, false);
		if (!offer_ring(shm)) {
			set_waiting(shm, true);
			all->calls->starved(all->ep);
			break;
		}
		end_unmapped(shm);
	}
}

void vrb_shm_offer(struct vrb_rc_conn *conn, const struct vrb_shm_calls *calls)
{
	struct vrb_shm_conn *shm = shm_conn_new(conn);

	if (!shm) {
		log_refusal(conn, NO_MEMORY);
		return;
	}
	vrb_shm_of(shm)->calls = calls;
	set_waiting(shm, true);
	make_offers(vrb_shm_of(shm));
}

static bool is_wake_due(const struct vrb_shm *all)
{
	const struct vrb_shm_conn *shm;

	TAILQ_FOREACH (shm, &all->pending, pending)
		if (shm->wake_due)
			return true;
	return false;
}

bool vrb_shm_wakes(const struct ofi_rdm_ep *ep)
{
	const struct vrb_rc_conn *conn = NULL;

	while ((conn = vrb_rc_table_next(&vrb_rc(ep)->by_qp, conn)))
		if (conn->shm && conn->live && (conn->shm->wakes || conn->shm->wake_due))
			return true;
	return false;
}

/* The mapping of a ring whose file is closed remains, because the peer may have mapped it, too. */
void vrb_shm_tick(struct ofi_rdm_ep *ep)
{
	struct vrb_shm *all = vrb_rc(ep)->shm;
	uint64_t now = ofi_now_ms();

	if (!all)
		return;
	make_offers(all);
	while (!TAILQ_EMPTY(&all->waiting) && all->files == VRB_SHM_OFFERS &&
	       now >= TAILQ_FIRST(&all->offered)->offered + VRB_SHM_OFFER_MS) {
		close_file(TAILQ_FIRST(&all->offered));
		make_offers(all);
	}
	if (is_wake_due(all))
		all->calls->starved(ep);
	/* No peer can map anything, so the device is polled as without shared memory. */
	if (!all->used && !all->count && !all->has_held)
		vrb_shm_close(ep);
}

/* Maps what the peer offers, and states whether that has succeeded. */
static void map_offer(struct vrb_shm_conn *shm, const struct offer *offer)
{
	struct answer answer = { OFI_RDM_WIRE_VERSION, VRB_SHM_START, .refused = 1 };
	const char *why = "its memory cannot be mapped";
	struct ofi_shm_ring_map *ring = NULL;

	if (offer->index < VRB_SHM_RINGS)
		ring = vrb_shm_map(&offer->ring, sizeof(*ring));
	shm->bell = ring ? vrb_shm_map(&offer->bell, sizeof(*shm->bell)) : NULL;
	if (shm->bell) {
		answer.copies = vrb_shm_try_copy(shm, ring, &offer->ring);
		answer.refused = 0;
	}
	if (vrb_rc_conn_send(shm->conn, &answer, sizeof(answer))) {
		answer.refused = 1;
		why = "no room for the answer to its offer";
	}
	/* The answer itself goes through the device. */
	shm->tx.map = ring;
	if (answer.refused) {
		log_refusal(shm->conn, why);
		close_theirs(shm);
		return;
	}
	shm->to = offer->index;
	shm->sent = 0;
	shm->copies = answer.copies;
	vrb_shm_of(shm)->used = true;
}

static void take_offer(struct vrb_rc_conn *conn, const void *bytes, size_t len)
{
	struct offer offer;

	if (len != sizeof(offer) || conn->shm->answered) {
		vrb_rc(conn->ep)->shm->calls->damaged(conn);
		return;
	}
	conn->shm->answered = true;
	memcpy(&offer, bytes, sizeof(offer));
	map_offer(conn->shm, &offer);
	end_unmapped(conn->shm);
}

/* The peer has not mapped the ring. If it has used the ring or a right to copy, that is ignored. */
static void take_refusal(struct vrb_shm_conn *shm)
{
	struct vrb_shm *all = vrb_shm_of(shm);

	if (shm->rx.map && !shm->started && !shm->is_copied) {
		log_refusal(shm->conn, "it cannot map this memory");
		close_ring(shm);
	}
	end_unmapped(shm);
	make_offers(all);
}

static bool is_refusal(const uint8_t *bytes, size_t len)
{
	return len >= sizeof(struct answer) && bytes[offsetof(struct answer, refused)];
}

/* Called when the peer starts to use the ring, or refuses it. */
static void take_answer(struct vrb_shm_conn *shm, const uint8_t *bytes, size_t len)
{
	if (is_refusal(bytes, len)) {
		take_refusal(shm);
		return;
	}
	close_file(shm);
	shm->is_copied = shm->rx.map && len > offsetof(struct answer, copies) &&
			 bytes[offsetof(struct answer, copies)];
	vrb_shm_of(shm)->used = true;
	make_offers(vrb_shm_of(shm));
}

static bool is_kind(const void *bytes, size_t len, enum vrb_shm_kind kind)
{
	const uint8_t *at = bytes;

	return len >= 2 && at[0] == OFI_RDM_WIRE_VERSION && at[1] == kind;
}

bool vrb_shm_is_start(const void *bytes, size_t len)
{
	return is_kind(bytes, len, VRB_SHM_START) && !is_refusal(bytes, len);
}

bool vrb_shm_packet(struct vrb_rc_conn *conn, const void *bytes, size_t len)
{
	if (is_kind(bytes, len, VRB_SHM_WAKE))
		return true;
	if (is_kind(bytes, len, VRB_SHM_START)) {
		if (conn->shm)
			take_answer(conn->shm, bytes, len);
		return true;
	}
	if (!is_kind(bytes, len, VRB_SHM_OFFER))
		return false;
	if (conn->shm)
		take_offer(conn, bytes, len);
	return true;
}
