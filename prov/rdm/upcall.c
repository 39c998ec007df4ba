/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls of the transport to the engine about a peer. */
#include <rdma/fi_errno.h>
#include "op.h"
#include "reply.h"
#include "upcall.h"

#define RESERVE 4 /* credits reserved for control packets */

void ofi_rdm_up(struct ofi_rdm_peer *peer, uint32_t credits, size_t eager, bool ending)
{
	peer->marker_set = false;
	peer->missed = 0;
	ofi_rdm_proto_peer_up(&peer->proto, credits, RESERVE, eager);
	if (!ending)
		ofi_rdm_ops_pump(peer);
	ofi_rdm_proto_progress(&peer->proto);
	if (ending)
		ofi_rdm_proto_peer_hold(&peer->proto, true);
	/* Messages that nothing reports no longer hold up what is fenced behind them. */
	ofi_rdm_ops_pump(peer);
}

void ofi_rdm_down(struct ofi_rdm_peer *peer, int err)
{
	ofi_rdm_proto_peer_down(&peer->proto, err);
	ofi_rdm_ops_fail(peer, err);
}

void ofi_rdm_left(struct ofi_rdm_peer *peer)
{
	ofi_rdm_proto_peer_leave(&peer->proto, FI_ECONNRESET);
	ofi_rdm_replies_drop(peer);
	ofi_rdm_keys_unresolve(peer);
	peer->asked = false;
}

void ofi_rdm_resume(struct ofi_rdm_peer *peer)
{
	ofi_rdm_proto_peer_hold(&peer->proto, false);
	ofi_rdm_ops_pump(peer);
}

void ofi_rdm_try_again(struct ofi_rdm_peer *peer)
{
	ofi_rdm_proto_progress(&peer->proto);
	ofi_rdm_ops_pump(peer);
}

bool ofi_rdm_has_waiting(const struct ofi_rdm_peer *peer)
{
	return !TAILQ_EMPTY(&peer->proto.outs) || !STAILQ_EMPTY(&peer->ops) ||
	       !STAILQ_EMPTY(&peer->fenced) || peer->proto.awaited;
}

bool ofi_rdm_is_awaited(const struct ofi_rdm_peer *peer)
{
	return !TAILQ_EMPTY(&peer->answers) || peer->asked ||
	       !ofi_rdm_proto_peer_idle(&peer->proto);
}

bool ofi_rdm_is_drained(const struct ofi_rdm_peer *peer)
{
	return ofi_rdm_proto_peer_drained(&peer->proto) && !peer->asked &&
	       !ofi_rdm_ops_begun(peer) && TAILQ_EMPTY(&peer->answers) &&
	       STAILQ_EMPTY(&peer->replies);
}

void ofi_rdm_release_all(struct ofi_rdm_ep *ep)
{
	uint32_t i;

	if (!ep->buckets)
		return;
	for (i = 0; i < ep->peer_count; i++) {
		ofi_rdm_proto_peer_down(&ep->peers[i]->proto, FI_ECANCELED);
		ofi_rdm_proto_peer_purge(&ep->peers[i]->proto);
		ofi_rdm_ops_fail(ep->peers[i], FI_ECANCELED);
	}
	ofi_rdm_proto_cancel_all(&ep->proto);
}
