/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections to peers: chooses connections to end, to make room for others. */
#include "conn_int.h"
#include "prov/rdm/upcall.h"

#define LOOKS 64 /* connections checked for one that is not used */

bool vrb_rdm_conn_is_idle(const struct ofi_rdm_peer *peer)
{
	return vrb_rc_peer(peer)->conn && vrb_rc_peer(peer)->conn->live &&
	       ofi_rdm_is_drained(peer) && vrb_rc_conn_idle(vrb_rc_peer(peer)->conn);
}

static bool was_used(struct ofi_rdm_peer *peer)
{
	struct vrb_rc_conn *conn = vrb_rc_peer(peer)->conn;
	bool used;

	if (vrb_rc_peer(peer)->policy.state == OFI_RDM_CONN_ACCEPTING)
		return false;
	if (!conn || !conn->live)
		return true;
	used = conn->used || conn->head != vrb_rc_peer(peer)->seen;
	conn->used = false;
	if (vrb_rc(peer->ep)->recent_qp == conn->qp_num)
		vrb_rc(peer->ep)->recent_qp = VRB_RDM_NO_QP;
	vrb_rc_peer(peer)->seen = conn->head;
	return used;
}

/*
 * Returns true if as many connections are ending as are needed. If the device is full, those that
 * it still has count.
 */
static bool enough_leave(const struct ofi_rdm_conn_set *set)
{
	uint32_t leave = set->going + (set->open < set->params.cap ? set->ending : 0);

	return leave && leave >= set->queued;
}

/*
 * Ends one connection, for a stranger only one that the policy permits to end for it. Connections
 * used since the last check are spared once more. The number of checks is limited.
 */
static void evict_one(struct ofi_rdm_conn_set *set, const struct ofi_rdm_peer *asker)
{
	struct ofi_rdm_conn_input input = { .event = OFI_RDM_CONN_EVICT };
	struct ofi_rdm_conn *conn = NULL;
	struct ofi_rdm_peer *peer;
	int i;

	for (i = 0; i < LOOKS; i++) {
		conn = asker ? ofi_rdm_conn_stranger_victim(set, vrb_rc_peer(asker)->policy.host)
			     : ofi_rdm_conn_victim(set);
		if (!conn || !was_used(vrb_rdm_conn_peer(conn)))
			break;
		ofi_rdm_conn_used(set, conn);
	}
	if (!conn)
		return;
	peer = vrb_rdm_conn_peer(conn);
	input.idle = vrb_rdm_conn_is_idle(peer);
	vrb_rdm_conn_step(peer, input);
}

/*
 * The number of connections exceeds the limit: evicts the least recently used one, or the next if
 * all are in use.
 */
void vrb_rdm_conn_evict(struct ofi_rdm_ep *ep)
{
	vrb_rc(ep)->conns.crowded = true;
	if (!enough_leave(&vrb_rc(ep)->conns.set))
		evict_one(&vrb_rc(ep)->conns.set, NULL);
}

void vrb_rdm_conn_make_room(struct ofi_rdm_peer *asker)
{
	evict_one(&vrb_rc(asker->ep)->conns.set, asker);
}
