/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport's part of a peer, and the places of its record's fields. */
#include <stddef.h>
#include <string.h>
#include "prov/rdm/av.h"
#include "rc.h"

/*
 * Hosts are distributed using a secret key, so that nobody can choose with whom to share a number.
 */
static uint8_t host_of(const struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr)
{
	uint64_t hash = vrb_rc(ep)->conns.host_key, words[2];

	ofi_rdm_addr_gid(addr, (uint8_t *)words);
	hash = ofi_index_mix(ofi_index_mix(hash, words[0]), words[1]);
	return (uint8_t)(hash % OFI_RDM_CONN_HOSTS);
}

struct ofi_rdm_peer *vrb_rc_peer_new(void)
{
	struct vrb_rc_peer *rc = ofi_stats_peer_alloc(sizeof(*rc));

	return rc ? &rc->rdm : NULL;
}

void vrb_rc_peer_free(struct ofi_rdm_peer *peer)
{
	ofi_stats_peer_free(vrb_rc_peer(peer), &peer->stats);
}

/*
 * As long as the address vector has the peer, a message that was delivered may come again, and
 * another process at its address must not pass for the one that was connected.
 */
static bool is_remembered(const struct ofi_rdm_peer *peer)
{
	const struct vrb_rc_peer *rc = vrb_rc_peer(peer);

	return (rc->delivered || rc->policy.known || rc->policy.past) &&
	       ofi_rdm_av_find(peer->ep->av, &peer->addr) != FI_ADDR_NOTAVAIL;
}

bool vrb_rc_peer_is_gone(const struct ofi_rdm_peer *peer)
{
	const struct vrb_rc_peer *rc = vrb_rc_peer(peer);

	return rc->policy.state == OFI_RDM_CONN_IDLE && !rc->conns && !rc->starved &&
	       LIST_EMPTY(&rc->asks) && !is_remembered(peer);
}

void vrb_rc_peer_met(struct ofi_rdm_peer *peer)
{
	ofi_rdm_conn_mark(&vrb_rc(peer->ep)->conns.set, &vrb_rc_peer(peer)->policy, false);
}

#define PLACE(field)                                                     \
	{                                                                \
		(int16_t)((int)offsetof(struct vrb_rc_peer, field) -     \
			  (int)offsetof(struct vrb_rc_peer, rdm.stats)), \
			sizeof(((struct vrb_rc_peer *)NULL)->field)      \
	}

static const struct ofi_stats_place places[OFI_STATS_PEER_FIELDS] = {
	[OFI_STATS_PEER_UP] = PLACE(rdm.proto.up),
	[OFI_STATS_PEER_CREDITS] = PLACE(rdm.proto.flow.credits),
	[OFI_STATS_PEER_RESERVE] = PLACE(rdm.proto.flow.reserve),
	[OFI_STATS_PEER_QUEUED] = PLACE(rdm.proto.out_count),
	[OFI_STATS_PEER_KEPT] = PLACE(rdm.proto.in_count),
	[OFI_STATS_PEER_BYTES] = PLACE(rdm.proto.flow.kept),
	[OFI_STATS_PEER_RETRIES] = PLACE(policy.attempts),
	[OFI_STATS_PEER_ERROR] = PLACE(policy.err),
	[OFI_STATS_PEER_NO_PLACE] = PLACE(policy.queued),
	[OFI_STATS_PEER_STOPPED] = PLACE(rdm.proto.flow.stopped),
	[OFI_STATS_PEER_HALTED] = PLACE(rdm.proto.flow.halted),
	[OFI_STATS_PEER_LEVEL] = PLACE(rdm.proto.flow.level),
	[OFI_STATS_PEER_HELD] = PLACE(rdm.proto.held),
	[OFI_STATS_PEER_FENCED] = PLACE(rdm.proto.fenced),
	[OFI_STATS_PEER_RMA] = PLACE(rdm.ops.stqh_first),
	[OFI_STATS_PEER_ANSWERS] = PLACE(rdm.answers.tqh_first),
};

static const char *transport_of(const struct ofi_rdm_ep *ep)
{
	if (!vrb_rc(ep)->ud)
		return "rc";
	return vrb_rc_domain(ep)->unordered ? "srd" : "ud";
}

static void show_peer(struct ofi_rdm_peer *peer)
{
	struct ofi_stats_peer *stats = &peer->stats;

	_Static_assert(sizeof(stats->address) == sizeof(peer->addr), "an address of a peer");
	ofi_stats_hide(&stats->id);
	stats->ep = peer->ep->stats.id;
	stats->most = 0;
	memcpy(stats->address, &peer->addr, sizeof(stats->address));
	stats->transport = ofi_stats_text(transport_of(peer->ep));
	ofi_stats_peer_place(places);
	ofi_stats_peer_enter(stats, ofi_rdm_conn_state_name(vrb_rc_peer(peer)->policy.state), "",
			     "", ofi_now_ms());
	ofi_stats_publish(&stats->id);
}

void vrb_rc_peer_init(struct ofi_rdm_peer *peer)
{
	struct vrb_rc_peer *rc = vrb_rc_peer(peer);

	memset(rc, 0, offsetof(struct vrb_rc_peer, rdm));
	ofi_rdm_conn_init(&rc->policy, ofi_rdm_addr_compare(&peer->ep->self, &peer->addr));
	rc->policy.host = host_of(peer->ep, &peer->addr);
	show_peer(peer);
}
