/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Control packets in reply to a peer's: sent at once, or as soon as there is a credit. */
#include "reply.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

/* A packet that waits for a credit. */
struct ofi_rdm_reply {
	STAILQ_ENTRY(ofi_rdm_reply) link;
	size_t hdr_len, len;
	uint8_t bytes[]; /* the header, then the payload */
};

/* Returns 0 or -FI_EAGAIN. */
static int send_reply(struct ofi_rdm_peer *peer, const void *hdr, size_t hdr_len,
		      const void *payload, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)payload, len };
	int ret = -FI_EAGAIN;

	if (ofi_rdm_flow_has_control_credit(&peer->proto.flow))
		ret = ofi_rdm_xport(&peer->proto)
			      ->send(&peer->proto, hdr, hdr_len, &iov, 0, len, NULL);
	if (!ret)
		ofi_rdm_flow_take(&peer->proto.flow);
	return ret;
}

static size_t size_of(const struct ofi_rdm_reply *reply)
{
	return sizeof(*reply) + reply->hdr_len + reply->len;
}

static void drop_reply(struct ofi_rdm_peer *peer, struct ofi_rdm_reply *reply)
{
	STAILQ_REMOVE_HEAD(&peer->replies, link);
	peer->reply_bytes -= size_of(reply);
	free(reply);
}

/* Returns true if as many replies are queued as a peer may make us keep. It may accept none. */
static bool is_too_much(const struct ofi_rdm_peer *peer)
{
	return peer->reply_bytes > peer->ep->proto.budget.most;
}

bool ofi_rdm_replies_send(struct ofi_rdm_peer *peer)
{
	struct ofi_rdm_reply *reply;

	while ((reply = STAILQ_FIRST(&peer->replies))) {
		if (send_reply(peer, reply->bytes, reply->hdr_len, reply->bytes + reply->hdr_len,
			       reply->len))
			return false;
		drop_reply(peer, reply);
	}
	return true;
}

bool ofi_rdm_answer(struct ofi_rdm_peer *peer, const struct ofi_rdm_wire_packet *packet,
		    const void *payload, size_t len)
{
	uint8_t hdr[OFI_RDM_WIRE_HEADER_MAX];
	size_t hdr_len = ofi_rdm_wire_build(hdr, packet);
	struct ofi_rdm_reply *reply;

	if (!peer->proto.up)
		return true;
	if (ofi_rdm_replies_sent(peer) && !send_reply(peer, hdr, hdr_len, payload, len))
		return true;
	reply = is_too_much(peer) ? NULL : malloc(sizeof(*reply) + hdr_len + len);
	if (!reply)
		return false;
	reply->hdr_len = hdr_len;
	reply->len = len;
	memcpy(reply->bytes, hdr, hdr_len);
	if (len)
		memcpy(reply->bytes + hdr_len, payload, len);
	STAILQ_INSERT_TAIL(&peer->replies, reply, link);
	peer->reply_bytes += size_of(reply);
	return true;
}

void ofi_rdm_replies_drop(struct ofi_rdm_peer *peer)
{
	struct ofi_rdm_reply *reply;

	while ((reply = STAILQ_FIRST(&peer->replies)))
		drop_reply(peer, reply);
}
