/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the transport tells the engine of a peer. */
#include <rdma/fi_errno.h>
#include "op.h"
#include "upcall.h"

#define RESERVE 4 /* credits for control packets */

void vrb_rdm_up(struct vrb_rdm_peer *peer, uint32_t credits, size_t eager, bool ending)
{
	peer->marker_set = false;
	peer->missed = 0;
	ofi_rdm_proto_peer_up(&peer->proto, credits, RESERVE, eager);
	if (ending)
		ofi_rdm_proto_peer_hold(&peer->proto, true);
	vrb_rdm_ops_pump(peer);
}

void vrb_rdm_down(struct vrb_rdm_peer *peer, int err)
{
	ofi_rdm_proto_peer_down(&peer->proto, err);
	vrb_rdm_ops_fail(peer, err);
}

void vrb_rdm_left(struct vrb_rdm_peer *peer)
{
	ofi_rdm_proto_peer_leave(&peer->proto, FI_ECONNRESET);
	vrb_rdm_keys_forget(peer);
	peer->asked = false;
}

void vrb_rdm_resume(struct vrb_rdm_peer *peer)
{
	ofi_rdm_proto_peer_hold(&peer->proto, false);
	vrb_rdm_ops_pump(peer);
}

void vrb_rdm_try_again(struct vrb_rdm_peer *peer)
{
	ofi_rdm_proto_progress(&peer->proto);
	vrb_rdm_ops_pump(peer);
}

bool vrb_rdm_has_waiting(const struct vrb_rdm_peer *peer)
{
	return !TAILQ_EMPTY(&peer->proto.outs) || !STAILQ_EMPTY(&peer->ops) ||
	       !STAILQ_EMPTY(&peer->fenced) || peer->proto.awaited;
}

bool vrb_rdm_is_awaited(const struct vrb_rdm_peer *peer)
{
	return !TAILQ_EMPTY(&peer->answers) || peer->asked ||
	       !ofi_rdm_proto_peer_idle(&peer->proto);
}

bool vrb_rdm_is_drained(const struct vrb_rdm_peer *peer)
{
	return ofi_rdm_proto_peer_drained(&peer->proto) && !peer->asked &&
	       !vrb_rdm_ops_begun(peer) && TAILQ_EMPTY(&peer->answers) &&
	       STAILQ_EMPTY(&peer->replies);
}
