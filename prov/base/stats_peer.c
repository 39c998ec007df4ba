/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The record of a peer: its state, which other processes read without a lock. */
#include "stats.h"

void ofi_stats_peer_show(struct ofi_stats_peer *peer)
{
	__atomic_store_n(&peer->id, ofi_stats_number(), __ATOMIC_RELEASE);
}

void ofi_stats_peer_hide(struct ofi_stats_peer *peer)
{
	__atomic_store_n(&peer->id, 0, __ATOMIC_RELEASE);
}

/*
 * A sequence lock: readers that see an odd number, or different numbers before and after, try
 * again.
 */
void ofi_stats_peer_enter(struct ofi_stats_peer *peer, const char *state, const char *cause,
			  const char *waits, uint64_t now)
{
	uint8_t texts[] = { ofi_stats_text(state), ofi_stats_text(cause), ofi_stats_text(waits) };

	__atomic_store_n(&peer->turn, peer->turn + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	peer->since = now;
	peer->state = texts[0];
	peer->cause = texts[1];
	peer->waits = texts[2];
	__atomic_store_n(&peer->turn, peer->turn + 1, __ATOMIC_RELEASE);
}
