/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The private data of connection messages: fills it from endpoints and evaluates it. */
#include <string.h>
#include <ofi/addr.h>
#include "conn_int.h"
#include "prov/verbs/cm/cm_wire.h"

#define NO_PORT 1 /* any valid port: the name of a queue pair has none */

static struct ofi_rdm_cmwire own_words(const struct ofi_rdm_ep *ep, enum ofi_rdm_cmwire_kind kind)
{
	struct ofi_rdm_cmwire cm = {
		.kind = kind,
		.incarnation = vrb_rc(ep)->conns.set.params.incarnation,
		.flags =
			(uint16_t)((ep->info->caps & FI_RMA_EVENT ? OFI_RDM_CMWIRE_RMA_EVENTS : 0) |
				   (vrb_rc_shares(ep) ? OFI_RDM_CMWIRE_SHM : 0)),
		.from_context = ep->context,
		.serial = vrb_rc(ep)->conns.set.serial,
		.eager = (uint32_t)ep->proto.eager,
		.port = ofi_rdm_addr_is_qp(&ep->self) ? NO_PORT : ofi_addr_port(&ep->self.sa),
	};

	ofi_rdm_addr_gid(&ep->self, cm.addr);
	return cm;
}

struct ofi_rdm_cmwire vrb_rdm_conn_words(const struct ofi_rdm_peer *peer,
					 enum ofi_rdm_cmwire_kind kind)
{
	struct ofi_rdm_cmwire cm = own_words(peer->ep, kind);

	cm.expected = vrb_rc_peer(peer)->policy.known;
	cm.to_context = peer->context;
	return cm;
}

static uint8_t cmwire_pack(const struct ofi_rdm_cmwire *cm, uint8_t *wire)
{
	uint8_t bytes[OFI_RDM_CMWIRE_LEN];

	ofi_rdm_cmwire_build(bytes, cm);
	return vrb_cm_pack(wire, bytes, sizeof(bytes));
}

uint8_t vrb_rdm_conn_data(const struct ofi_rdm_peer *peer, enum ofi_rdm_cmwire_kind kind,
			  uint8_t *wire)
{
	const struct ofi_rdm_cmwire cm = vrb_rdm_conn_words(peer, kind);

	return cmwire_pack(&cm, wire);
}

uint8_t vrb_rdm_conn_reject_data(const struct ofi_rdm_ep *ep, enum ofi_rdm_cmwire_reason reason,
				 uint8_t *wire)
{
	struct ofi_rdm_cmwire cm = own_words(ep, OFI_RDM_CMWIRE_REJECT);

	cm.reason = reason;
	return cmwire_pack(&cm, wire);
}

bool vrb_rdm_conn_addr(const struct ofi_rdm_ep *ep, const struct ofi_rdm_cmwire *cm,
		       struct ofi_rdm_addr *addr)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(cm->port) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(cm->port) };

	if (!memcmp(cm->addr, ofi_rdm_addr_mapped, sizeof(ofi_rdm_addr_mapped))) {
		memcpy(&in.sin_addr, &cm->addr[12], 4);
		return ofi_rdm_addr_set(addr, (struct sockaddr *)&in);
	}
	memcpy(&in6.sin6_addr, cm->addr, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr))
		in6.sin6_scope_id = vrb_rc(ep)->conns.scope;
	return ofi_rdm_addr_set(addr, (struct sockaddr *)&in6);
}

bool vrb_rdm_conn_is_from(const struct ofi_rdm_cmwire *cm, const struct ofi_rdm_addr *from)
{
	uint8_t gid[sizeof(cm->addr)];

	if (!ofi_rdm_addr_is_qp(from) && from->sa.sa_family != AF_INET &&
	    from->sa.sa_family != AF_INET6)
		return false;
	ofi_rdm_addr_gid(from, gid);
	return !memcmp(cm->addr, gid, sizeof(gid));
}

const uint8_t *vrb_rdm_conn_bytes(const struct rdma_cm_event *event, size_t *len)
{
	return vrb_cm_unpack(event->param.conn.private_data, event->param.conn.private_data_len,
			     len);
}

enum ofi_rdm_wire_error vrb_rdm_conn_parse(const struct rdma_cm_event *event,
					   struct ofi_rdm_cmwire *cm)
{
	size_t len;
	const uint8_t *data = vrb_rdm_conn_bytes(event, &len);

	return ofi_rdm_cmwire_parse(data, len, cm);
}

void vrb_rdm_conn_learn(struct vrb_rc_conn *conn, const struct ofi_rdm_cmwire *cm)
{
	conn->eager = cm->eager;
	conn->peer_shares = cm->flags & OFI_RDM_CMWIRE_SHM;
	conn->rma_events = cm->flags & OFI_RDM_CMWIRE_RMA_EVENTS;
}
