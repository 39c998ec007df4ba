/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the ends of a connection on unreliable datagrams say about themselves as they connect. */
#include <string.h>
#include <errno.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/cm/cm_wire.h"
#include "ud_int.h"

uint8_t vrb_ud_say(const struct vrb_rc_conn *conn, uint8_t *wire, uint8_t len)
{
	const struct vrb_ud_words words = { .number = conn->qp_num,
					    .first = conn->ud->first,
					    .qpn = vrb_rc(conn->ep)->ud->qp->qp_num,
					    .reads = vrb_rdm_conn_reads(conn->ep),
					    .delivered = vrb_rc_peer(conn->peer)->delivered,
					    .mtu = ofi_min(vrb_rc(conn->ep)->ud->port.mtu,
							   vrb_ud_route_mtu(conn->id)) };

	vrb_ud_words_build(wire + len, &words);
	return (uint8_t)(len + VRB_UD_WORDS);
}

/* Reads the words behind the other private data. */
static enum ofi_rdm_wire_error words_in(const struct rdma_cm_event *event,
					struct vrb_ud_words *words)
{
	const struct rdma_ud_param *ud = &event->param.ud;
	size_t other, len;
	const uint8_t *data = vrb_cm_unpack(ud->private_data, ud->private_data_len, &other);
	uint32_t version;

	len = data ? ud->private_data_len - 1 - other : 0;
	if (len < sizeof(version))
		return OFI_RDM_WIRE_E_SHORT;
	memcpy(&version, data + other, sizeof(version));
	if (le32toh(version) != VRB_UD_VERSION)
		return OFI_RDM_WIRE_E_VERSION;
	if (!vrb_ud_words_parse(data + other, len, words))
		return OFI_RDM_WIRE_E_SIZE;
	/* A peer that names a queue pair other than the one it sends from lies. */
	return event->id || ud->qp_num == words->qpn ? OFI_RDM_WIRE_OK : OFI_RDM_WIRE_E_ID;
}

enum ofi_rdm_wire_error vrb_ud_words_check(const struct rdma_cm_event *event)
{
	struct vrb_ud_words words;

	return words_in(event, &words);
}

uint32_t vrb_ud_number_in(const struct rdma_cm_event *event)
{
	struct vrb_ud_words words;

	return words_in(event, &words) ? 0 : words.number;
}

static const void *end_of(const void *ep, uint32_t number)
{
	return &vrb_rc_conn_find((struct ofi_rdm_ep *)(uintptr_t)ep, number)->ud->end;
}

static uint64_t end_hash(const void *a, uint64_t seed)
{
	const struct vrb_ud_end *end = a;

	return ofi_index_mix(seed, (uint64_t)end->number << 32 | end->qpn);
}

static int end_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct vrb_ud_end));
}

static struct ofi_index_keys ends_of(const struct vrb_ud *all)
{
	return (struct ofi_index_keys){
		.owner = all->ep,
		.key_of = end_of,
		.hash = end_hash,
		.compare = end_compare,
	};
}

/*
 * Lists the connection, so that a repeat of its request is recognized. It is not listed if there is
 * no memory, or if a peer that lies claims the end of another connection.
 */
static void conn_know(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);

	if (ofi_index_find(&all->by_end, ends_of(all), &ud->end) == OFI_INDEX_NONE)
		ofi_index_add(&all->by_end, ends_of(all), ud->conn->qp_num);
}

void vrb_ud_unknow(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);

	if (ud->heard)
		ofi_index_remove(&all->by_end, ends_of(all), ud->conn->qp_num);
}

struct vrb_rc_conn *vrb_ud_known(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event)
{
	const struct vrb_ud *all = vrb_rc(ep)->ud;
	struct vrb_ud_end end = { vrb_ud_number_in(event), event->param.ud.qp_num };
	uint32_t number = all ? ofi_index_find(&all->by_end, ends_of(all), &end) : OFI_INDEX_NONE;
	struct vrb_rc_conn *conn = number == OFI_INDEX_NONE ? NULL : vrb_rc_conn_find(ep, number);

	return conn && conn->state < VRB_RC_CONN_ENDED ? conn : NULL;
}

int vrb_ud_hear(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	struct vrb_ud *all = vrb_rc(conn->ep)->ud;
	struct vrb_ud_conn *ud = conn->ud;
	struct vrb_ud_words words;

	if (words_in(event, &words))
		return -FI_EPROTO;
	vrb_ud_unknow(ud);
	ud->to = words.number;
	ud->qpn = words.qpn;
	ud->direct = words.reads && vrb_rdm_conn_reads(conn->ep);
	ud->delivered = words.delivered;
	ud->payload = vrb_ud_payload(all, ofi_min(words.mtu, vrb_ud_route_mtu(event->id)));
	ud->heard = true;
	/* Only repeated requests are looked up by the peer's end. */
	if (event->event != RDMA_CM_EVENT_ESTABLISHED)
		conn_know(ud);
	ofi_rdm_seq_begin(&ud->in, words.first);
	/* An answer in a letter counts as the first packet: it is repeated until it arrives. */
	if (!event->id && event->event == RDMA_CM_EVENT_ESTABLISHED && !ud->used) {
		ud->used = true;
		all->fresh--;
	}
	if (event->id && event->event != RDMA_CM_EVENT_ESTABLISHED)
		return 0;
	/* A letter names only the GID; a path of the connection manager has more. */
	if (!event->id) {
		vrb_ud_path_leave(all, ud->path);
		ud->path = vrb_ud_path_like(all, event->param.ud.ah_attr.grh.dgid.raw);
	}
	if (ud->path)
		return 0;
	errno = 0;
	ud->path = vrb_ud_path_of(ud, &event->param.ud.ah_attr);
	if (ud->path)
		return 0;
	return errno ? -errno : -FI_ENOMEM;
}

uint32_t vrb_ud_delivered(const struct vrb_rc_conn *conn)
{
	return conn->ud ? conn->ud->delivered : 0;
}

/* Service ID resolution has one reply; a status above 0 refuses the request. */
enum rdma_cm_event_type vrb_ud_event(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		return RDMA_CM_EVENT_CONNECT_RESPONSE;
	if (event->event == RDMA_CM_EVENT_UNREACHABLE && event->status > 0)
		return RDMA_CM_EVENT_REJECTED;
	return event->event;
}
