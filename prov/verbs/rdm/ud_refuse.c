/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Refusals of packets for connections that do not exist here, or not any more. Anybody can send
 * such packets, so the number of refusals is limited, and they are as long as a header. Whoever
 * knows one of a connection's two numbers gets the same answer as somebody who knows none.
 */
#include "ud_refuse.h"

static bool is_left(struct vrb_ud_quota *quota, uint32_t most, uint64_t us, uint64_t now)
{
	if (now - quota->since >= us)
		*quota = (struct vrb_ud_quota){ .since = now };
	return quota->count < most;
}

static bool may_refuse(struct vrb_ud *all)
{
	bool may = is_left(&all->refusals, VRB_UD_REFUSALS, VRB_UD_REFUSAL_US, all->now);

	all->refusals.count += may;
	return may;
}

/*
 * A host without a path may not exist, and finding that out may take seconds on a device whose
 * network resolves addresses: such hosts are not answered. An Elastic Fabric Adapter resolves
 * nothing, so a few each minute are. Their address handles count as those of strangers, and stay:
 * to destroy one aborts what is sent to that GID with another one.
 */
struct vrb_ah *vrb_ud_refusal_path(struct vrb_ud *all, const struct ibv_ah_attr *attr)
{
	struct vrb_ah *path = vrb_ud_path_back(all, attr);

	if (path || !all->unordered)
		return path;
	if (is_left(&all->refused_hosts, VRB_UD_REFUSED_HOSTS, VRB_UD_REFUSED_US, vrb_ud_clock()))
		path = vrb_ud_path_new(all, attr);
	all->refused_hosts.count += !!path;
	return path;
}

static void send_refusal(struct vrb_ud *all, const struct ibv_wc *wc,
			 const struct vrb_ud_packet *packet, const struct ibv_ah_attr *attr,
			 uint32_t key)
{
	const struct vrb_ud_packet refusal = {
		.kind = VRB_UD_END,
		.to = packet->from,
		.from = packet->to,
		.id = VRB_UD_UNKNOWN,
		.words = { .next = packet->number, .echo = packet->order },
	};
	const struct vrb_ud_way way = {
		.path = vrb_ud_refusal_path(all, attr),
		.qpn = wc->src_qp,
		.qkey = vrb_ud_qkey(all, key),
	};

	if (way.path)
		vrb_ud_put_bare(all, &way, &refusal);
	vrb_ud_path_leave(all, way.path);
}

void vrb_ud_refuse_to(struct vrb_ud *all, const struct ibv_wc *wc,
		      const struct vrb_ud_packet *packet, const struct ibv_ah_attr *attr)
{
	if (may_refuse(all))
		send_refusal(all, wc, packet, attr, packet->id);
}

/*
 * Without a header of the network, the device does not tell where a packet came from. It may come
 * from any peer without a connection whose queue pair has this number; the others ignore a refusal
 * of what they have not sent.
 */
static void refuse_peers(struct vrb_ud *all, const struct ibv_wc *wc,
			 const struct vrb_ud_packet *packet)
{
	const struct ofi_rdm_addr *addr;
	struct ibv_ah_attr attr;
	uint32_t i;

	for (i = 0; i < all->ep->peer_count; i++) {
		addr = &all->ep->peers[i]->addr;
		if (!ofi_rdm_addr_is_qp(addr) || addr->qp.qpn != wc->src_qp ||
		    all->ep->peers[i]->proto.up)
			continue;
		attr = vrb_ud_attr_to(all, addr->qp.gid);
		send_refusal(all, wc, packet, &attr, addr->qp.key);
	}
}

void vrb_ud_refuse(struct vrb_ud *all, const struct ibv_wc *wc, const struct vrb_ud_rx *rx)
{
	struct ibv_ah_attr attr;

	/* Nobody waits for an answer to the others. */
	if (rx->packet.kind < VRB_UD_NUMBERED || !may_refuse(all))
		return;
	if (!all->grh)
		refuse_peers(all, wc, &rx->packet);
	else if (vrb_ud_attr_from(all, wc, rx, &attr))
		send_refusal(all, wc, &rx->packet, &attr, rx->packet.id);
}

void vrb_ud_repeat_end(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	if (packet->kind >= VRB_UD_NUMBERED && may_refuse(vrb_ud_of(ud)))
		vrb_ud_send_bare(ud, VRB_UD_END, ud->reason);
}

bool vrb_ud_waits_for_first(const struct vrb_ud_conn *ud)
{
	return ud->letter && ud->letter->kind == VRB_UD_ANSWER && !ud->over;
}

/* Returns true if the packet with that number was sent and is not acknowledged. */
static bool is_unacked(const struct vrb_ud_conn *ud, uint32_t number)
{
	const struct ofi_rdm_ack_node *node = ud->ack.first;

	while (node && node->number != number)
		node = node->next;
	return node;
}

bool vrb_ud_is_refusal(const struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	const struct ofi_rdm_ack_words *words = &packet->words;

	if (vrb_ud_waits_for_first(ud))
		return true;
	return is_unacked(ud, words->next) &&
	       ofi_rdm_seq_distance(ud->ack.newest, words->echo) > 0 &&
	       ofi_rdm_seq_distance(words->echo, ud->ack.order) > 0;
}
