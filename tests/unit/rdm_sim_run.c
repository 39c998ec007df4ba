/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The simulator's scheduler, which runs from a seed; and an endpoint whose peer is hostile. */
#include <string.h>
#include <rdma/fi_errno.h>
#include "rdm_sim.h"

static void notice(struct sim_qp *qp)
{
	struct sim_endpoint *ep = sim_endpoint_at(qp->from);

	sim_forget_partial(ep, qp->to);
	ofi_rdm_proto_peer_down(&qp->peer, sim_random(2) ? FI_ECONNABORTED : FI_ETIMEDOUT);
	/* What was not sent will not come. */
	qp->first = qp->last;
}

static bool is_drained(const struct sim_qp *qp)
{
	return qp->seen == qp->posted && !qp->peer.up;
}

static void connect_pair(struct sim_qp *qp)
{
	struct sim_qp *ends[2] = { qp, sim_qp_other(qp) };
	uint32_t credits = 2 + sim_random(8);
	int i;

	if (!is_drained(ends[0]) || !is_drained(ends[1]))
		return;
	if (sim.options.failures && !sim_random(10)) {
		notice(qp);
		return;
	}
	for (i = 0; i < 2; i++) {
		ends[i]->broken = ends[i]->failing = false;
		ends[i]->moved = ends[i]->posted;
	}
	sim_wire_up(qp);
	for (i = 0; i < (ends[0] == ends[1] ? 1 : 2); i++)
		ofi_rdm_proto_peer_up(&ends[i]->peer, credits, 1, SIM_EAGER - sim_random(9));
}

static void break_pair(struct sim_qp *qp)
{
	if (!qp->peer.up || !sim_qp_other(qp)->peer.up || qp->broken)
		return;
	qp->broken = sim_qp_other(qp)->broken = true;
	sim.breaks++;
}

/* An idle connection ends by agreement, and what was asked for since waits for the next one. */
static void evict_pair(struct sim_qp *qp)
{
	struct sim_qp *other = sim_qp_other(qp);

	if (!qp->peer.up || !other->peer.up || qp->broken)
		return;
	if (!qp->peer.held) {
		/* Who is busy is held too where there is no room for it, and drained. */
		if (ofi_rdm_proto_peer_idle(&qp->peer) || !sim_random(4))
			ofi_rdm_proto_peer_hold(&qp->peer, true);
		return;
	}
	if (!other->peer.held && ofi_rdm_proto_peer_idle(&other->peer))
		ofi_rdm_proto_peer_hold(&other->peer, true);
	if (other->peer.held && ofi_rdm_proto_peer_idle(&qp->peer) &&
	    ofi_rdm_proto_peer_idle(&other->peer) && qp->seen == qp->posted &&
	    other->seen == other->posted) {
		ofi_rdm_proto_peer_leave(&qp->peer, FI_EOTHER);
		if (other != qp)
			ofi_rdm_proto_peer_leave(&other->peer, FI_EOTHER);
		sim.evictions++;
		return;
	}
	ofi_rdm_proto_peer_hold(&qp->peer, false);
	ofi_rdm_proto_peer_hold(&other->peer, false);
}

static bool step_pair(struct sim_qp *qp)
{
	switch (sim_random(8)) {
	case 0:
	case 1:
	case 2:
		return sim_qp_move(qp);
	case 3:
	case 4:
	case 5:
		return sim_qp_see(qp);
	case 6:
		if (qp->peer.up && qp->broken)
			notice(qp);
		else if (!qp->peer.up)
			connect_pair(qp);
		return true;
	default:
		ofi_rdm_proto_progress(&qp->peer);
		evict_pair(qp);
		return true;
	}
}

/*
 * Returns a transport as the options describe it, with random values where any value is allowed.
 * Even on a lossy wire it is ordered and reliable: rdm_sim_wire.c restores both.
 */
static struct ofi_rdm_xport some_transport(void)
{
	return (struct ofi_rdm_xport){
		.ops = &sim_xport,
		.props = {
			.ordered = true,
			.reliable = true,
			.delivers = true,
			.can_read = !sim.options.no_reads,
			.copies = sim.options.copies,
			.can_write = !sim.options.no_writes,
			.window = SIM_RING,
			.max_packet = SIM_PACKET,
			.max_read = 200 + sim_random(200),
			.max_write = 200 + sim_random(200),
			.reads = 1 + sim_random(3),
			.writes = 1 + sim_random(3),
		},
	};
}

static void init_endpoint(int e)
{
	struct sim_endpoint *ep = sim_endpoint_at(e);
	const struct ofi_rdm_xport xport = some_transport();
	struct ofi_rdm_proto_config config = {
		.segmented = sim_random(2) ? 400 : 0,
		.write = sim_random(2),
		.descriptors = sim_random(2),
		.unexpected = 300 + sim_random(sim_random(4) ? 3000 : 30000),
	};
	int i;

	memset(ep->buckets, 0, sizeof(ep->buckets));
	SIM_CHECK(!ofi_rdm_proto_init(&ep->proto, &sim_ops, &xport, &config));
	for (i = 0; i < 2; i++)
		ofi_rdm_match_init(&ep->proto.match[i], ep->buckets[2 * i], ep->buckets[2 * i + 1],
				   SIM_BITS);
	ep->posted = NULL;
	ep->unexpected_count = 0;
	for (i = 0; i < sim.options.endpoints; i++) {
		ofi_rdm_proto_peer_init(&ep->proto, &ep->qps[i].peer, (uint32_t)i);
		ep->qps[i].from = e;
		ep->qps[i].to = i;
		ep->qps[i].posted = ep->qps[i].moved = ep->qps[i].seen = 0;
		ep->qps[i].first = ep->qps[i].last = 0;
		ep->qps[i].broken = ep->qps[i].failing = false;
		sim_wire_down(&ep->qps[i]);
	}
	for (i = 0; i < SIM_OUTS; i++)
		ep->outs[i].msg = -1;
	for (i = 0; i < SIM_RECVS; i++)
		ep->recvs[i].used = false;
	for (i = 0; i < SIM_INS; i++) {
		ep->ins[i].used = false;
		ep->ins[i].in.index = (uint32_t)i;
	}
}

static struct sim_qp *any_qp(void)
{
	int a = (int)sim_random((uint32_t)sim.options.endpoints);
	int b = (int)sim_random((uint32_t)sim.options.endpoints);

	return &sim.eps[a].qps[b];
}

static void do_anything(void)
{
	struct sim_qp *qp = any_qp();
	struct sim_endpoint *ep = sim_endpoint_at(qp->from);
	struct sim_recv *recv = sim_recv_new(ep);
	uint32_t dice = sim_random(20);

	if (dice < 9)
		sim_send(ep, qp->to);
	else if (dice < 17 && recv)
		sim_recv_post(ep, recv);
	else if (dice < 19 && recv)
		sim_peek(ep, recv);
	else if (dice == 19)
		sim_cancel(ep);
}

/* Everything that can happen without the application has happened. */
static void settle(void)
{
	struct sim_qp *qp;
	bool again = sim.options.again, busy;
	int i, j;

	sim.options.again = false;
	do {
		busy = false;
		for (i = 0; i < sim.options.endpoints; i++) {
			for (j = 0; j < sim.options.endpoints; j++) {
				qp = &sim.eps[i].qps[j];
				if (qp->broken && qp->peer.up)
					notice(qp);
				while (sim_qp_see(qp) || sim_qp_move(qp))
					busy = true;
				if (!qp->peer.up)
					connect_pair(qp);
				if (qp->peer.held)
					ofi_rdm_proto_peer_hold(&qp->peer, false);
				ofi_rdm_proto_progress(&qp->peer);
				busy |= !qp->peer.up || qp->posted != qp->seen;
			}
		}
	} while (busy);
	sim.options.again = again;
}

/* Receives for all that is unexpected, and for what they let come. */
static void receive_all(struct sim_endpoint *ep)
{
	struct sim_recv *recv;
	int rounds;

	for (rounds = 0; ep->unexpected_count; rounds++) {
		SIM_CHECK(rounds < 4 * SIM_MSGS);
		while (ep->posted)
			sim_cancel(ep);
		recv = sim_recv_new(ep);
		SIM_CHECK(recv != NULL);
		recv->tagged = sim.msgs[ep->unexpected[0]].flags & OFI_RDM_WIRE_TAGGED;
		recv->sticky = false;
		recv->src = OFI_RDM_MATCH_ANY;
		recv->ignore = UINT64_MAX;
		recv->len = 1200;
		sim_recv_post(ep, recv);
		settle();
	}
}

void sim_check_quiet(const struct sim_endpoint *ep)
{
	int i;

	for (i = 0; i < SIM_OUTS; i++)
		SIM_CHECK(ep->outs[i].msg < 0);
	for (i = 0; i < SIM_RECVS; i++)
		SIM_CHECK(!ep->recvs[i].used);
	for (i = 0; i < SIM_INS; i++)
		SIM_CHECK(!ep->ins[i].used);
	for (i = 0; i < SIM_MRS; i++)
		SIM_CHECK(!ep->mrs[i].used);
	for (i = 0; i < sim.options.endpoints; i++)
		SIM_CHECK(ofi_rdm_proto_peer_idle(&ep->qps[i].peer));
	SIM_CHECK(ep->proto.budget.used == 0);
}

/*
 * A process dies and returns: its queue pairs break, its state is lost, and everything that it had
 * is returned.
 */
static void restart(int e)
{
	struct sim_endpoint *ep = sim_endpoint_at(e);
	int i;

	for (i = 0; i < sim.options.endpoints; i++) {
		ep->qps[i].broken = sim_qp_other(&ep->qps[i])->broken = true;
		notice(&ep->qps[i]);
		notice(sim_qp_other(&ep->qps[i]));
		while (sim_qp_see(&ep->qps[i]))
			;
		while (sim_qp_see(sim_qp_other(&ep->qps[i])))
			;
		ofi_rdm_proto_peer_purge(&ep->qps[i].peer);
	}
	ep->posted = NULL;
	ofi_rdm_proto_cancel_all(&ep->proto);
	sim_check_quiet(ep);
	init_endpoint(e);
}

void sim_start(uint64_t seed, const struct sim_options *options)
{
	int i;

	sim.seed = seed;
	sim.random = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	sim.options = *options;
	sim.hostile = false;
	sim.msg_count = 0;
	memset(sim.of_msg, 0, sizeof(sim.of_msg));
	sim_wire_clear();
	for (i = 0; i < options->endpoints; i++)
		init_endpoint(i);
}

void sim_run(uint64_t seed, const struct sim_options *options)
{
	int i, steps;

	sim_start(seed, options);
	for (i = 0; i < options->ops; i++) {
		do_anything();
		if (options->failures && !sim_random(20))
			break_pair(any_qp());
		if (options->failures && !sim_random(60))
			restart((int)sim_random((uint32_t)options->endpoints));
		for (steps = (int)sim_random(12); steps > 0; steps--)
			step_pair(any_qp());
	}
	settle();
	for (i = 0; i < options->endpoints; i++)
		receive_all(sim_endpoint_at(i));
	for (i = 0; i < options->endpoints; i++) {
		while (sim.eps[i].posted)
			sim_cancel(sim_endpoint_at(i));
	}
	settle();
	for (i = 0; i < options->endpoints; i++)
		sim_check_quiet(sim_endpoint_at(i));
}

void sim_complete_all(struct sim_qp *qp)
{
	qp->moved = qp->posted;
	while (sim_qp_see(qp))
		qp->moved = qp->posted;
}

void sim_end_hostile(struct sim_qp *qp)
{
	struct sim_endpoint *ep = sim_endpoint_at(qp->from);

	ofi_rdm_proto_peer_down(&qp->peer, FI_ECONNABORTED);
	sim_complete_all(qp);
	ofi_rdm_proto_peer_purge(&qp->peer);
	ofi_rdm_proto_cancel_all(&ep->proto);
	sim_check_quiet(ep);
}

static void post_some(struct sim_endpoint *ep)
{
	struct sim_recv *recv = sim_recv_new(ep);

	if (!recv)
		return;
	sim_recv_start(recv);
	ofi_rdm_proto_recv_post(&ep->proto, &recv->recv, recv->src, recv->tag, recv->ignore);
}

size_t sim_malign_packet(uint8_t *bytes)
{
	uint8_t list[2 * sizeof(struct ofi_rdm_wire_region)];
	struct ofi_rdm_wire_region region = { 0x1000, 1 + sim_random(600), 1 };
	struct ofi_rdm_wire_packet p = {
		.type = 1 + sim_random(OFI_RDM_WIRE_TYPES - 1),
		.flags = (uint8_t)sim_random(16),
		.count = (uint8_t)sim_random(3),
		/* Numbers of a first or second use that may exist or not. */
		.id = (1 + sim_random(3)) << OFI_RDM_PROTO_INDEX_BITS | sim_random(6),
		.rid = sim_random(5),
		.tag = sim_tag(),
		.total = region.len,
		.offset = sim_random(200),
		.list = list,
		.payload_len = sim_random(SIM_EAGER),
	};
	struct sim_qp *qp = &sim.eps[0].qps[1];
	size_t len;

	ofi_rdm_wire_put_region(list, 0, &region);
	ofi_rdm_wire_put_region(list, 1, &region);
	if (p.count == 2)
		p.total *= 2;
	if (p.type == OFI_RDM_WIRE_SEG_NEXT && qp->peer.assembling && sim_random(4)) {
		p.id = qp->peer.assembling->packet.id;
		p.offset = qp->peer.assembling->got;
	}
	len = ofi_rdm_wire_build(bytes, &p);
	/* Sometimes without the payload of types that have none, so that it is valid. */
	return len + (p.type < OFI_RDM_WIRE_RTS || !sim_random(8) ? p.payload_len : 0);
}

void sim_run_hostile(uint64_t seed, size_t (*packet)(uint8_t *bytes))
{
	const struct sim_options options = { .endpoints = 2, .again = seed & 1 };
	struct sim_endpoint *ep = sim_endpoint_at(0);
	struct sim_qp *qp = &ep->qps[1];
	struct sim_in *buffer;
	size_t len;
	int i, n;
	bool kept;

	sim_start(seed, &options);
	sim.hostile = true;
	for (i = 0; i < 60; i++) {
		if (!qp->peer.up)
			ofi_rdm_proto_peer_up(&qp->peer, 8, 1, SIM_EAGER);
		if (sim_random(2))
			post_some(ep);
		if (!sim_random(3))
			sim_send(ep, 1);
		for (n = 0; n < SIM_INS && ep->ins[n].used; n++)
			;
		SIM_CHECK(n < SIM_INS);
		buffer = &ep->ins[n];
		len = packet(buffer->bytes);
		if (!len)
			break;
		buffer->used = true;
		if (ofi_rdm_proto_packet(&qp->peer, &buffer->in, buffer->bytes, len, &kept)) {
			sim.refused++;
			if (sim_random(2))
				ofi_rdm_proto_peer_down(&qp->peer, FI_EPROTO);
		}
		if (!kept)
			buffer->used = false;
		if (!qp->peer.up || sim_random(2))
			sim_complete_all(qp);
	}
	sim_end_hostile(qp);
}
