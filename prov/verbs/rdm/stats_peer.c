/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The record of a peer: where readers find what they want to know of it. */
#include <stddef.h>
#include <string.h>
#include "peer.h"
#include "prov/base/wait.h"
#include "stats.h"

#define PLACE(field)                                                  \
	{                                                             \
		(int16_t)((int)offsetof(struct vrb_rdm_peer, field) - \
			  (int)offsetof(struct vrb_rdm_peer, stats)), \
			sizeof(((struct vrb_rdm_peer *)NULL)->field)  \
	}

static const struct ofi_stats_place places[OFI_STATS_PEER_FIELDS] = {
	[OFI_STATS_PEER_UP] = PLACE(proto.up),
	[OFI_STATS_PEER_CREDITS] = PLACE(proto.flow.credits),
	[OFI_STATS_PEER_RESERVE] = PLACE(proto.flow.reserve),
	[OFI_STATS_PEER_QUEUED] = PLACE(proto.out_count),
	[OFI_STATS_PEER_KEPT] = PLACE(proto.in_count),
	[OFI_STATS_PEER_BYTES] = PLACE(proto.flow.kept),
	[OFI_STATS_PEER_RETRIES] = PLACE(conn.attempts),
	[OFI_STATS_PEER_ERROR] = PLACE(conn.err),
	[OFI_STATS_PEER_NO_PLACE] = PLACE(conn.queued),
	[OFI_STATS_PEER_STOPPED] = PLACE(proto.flow.stopped),
	[OFI_STATS_PEER_HALTED] = PLACE(proto.flow.halted),
	[OFI_STATS_PEER_TOLD] = PLACE(proto.flow.told),
	[OFI_STATS_PEER_HELD] = PLACE(proto.held),
	[OFI_STATS_PEER_FENCED] = PLACE(proto.fenced),
	[OFI_STATS_PEER_RMA] = PLACE(ops.stqh_first),
	[OFI_STATS_PEER_ANSWERS] = PLACE(answers.tqh_first),
};

void vrb_rdm_stats_show_peer(struct vrb_rdm_peer *peer)
{
	struct ofi_stats_peer *stats = &peer->stats;

	_Static_assert(sizeof(stats->address) == sizeof(peer->addr), "an address of a peer");
	ofi_stats_peer_hide(stats);
	stats->ep = peer->ep->stats.id;
	stats->most = 0;
	memcpy(stats->address, &peer->addr, sizeof(stats->address));
	memcpy(stats->transport, "rc", sizeof("rc"));
	memcpy(stats->place, places, sizeof(places));
	ofi_stats_peer_enter(stats, ofi_rdm_conn_state_name(peer->conn.state), "", "",
			     ofi_now_ms());
	ofi_stats_peer_show(stats);
}
