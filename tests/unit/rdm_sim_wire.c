/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The simulator's lossy wire: it reorders packets, and drops and duplicates them if it is
 * unreliable. seq.h and ack.h restore what the wire lacks. Each end of a connection accepts packets
 * of that connection only. Each pair of ends has its own clock.
 */
#include <string.h>
#include "src/ds/container.h"
#include "rdm_sim.h"

static const struct ofi_rdm_ack_params sim_ack_params = {
	.first = 1000,
	.min = 100,
	.max = 20000,
	.delay = 30,
	.every = 4,
	.silence = UINT32_MAX,
	.reorder = 3,
};

bool sim_is_lossy(void)
{
	return sim.options.unordered || sim.options.unreliable;
}

static uint64_t *clock_of(struct sim_qp *qp)
{
	return qp->from <= qp->to ? &qp->clock : &sim_qp_other(qp)->clock;
}

static void forget_kept(struct sim_qp *qp, uint32_t session, uint32_t first)
{
	struct ofi_rdm_seq_node *node = ofi_rdm_seq_begin(&qp->in, first);

	qp->session = session;
	for (; node; node = node->next)
		((struct sim_packet *)node)->used = false;
}

void sim_wire_clear(void)
{
	int i, j;

	for (i = 0; i < SIM_WIRE; i++)
		sim.packets[i].used = sim.packets[i].on_wire = false;
	for (i = 0; i < SIM_ENDPOINTS; i++) {
		for (j = 0; j < SIM_ENDPOINTS; j++) {
			sim.eps[i].qps[j].clock = 0;
			sim.eps[i].qps[j].in.first = NULL;
		}
	}
}

void sim_wire_down(struct sim_qp *qp)
{
	forget_kept(qp, 0, 0);
	ofi_rdm_ack_init(&qp->ack, &sim_ack_params, 0);
	qp->launched = qp->posted;
}

/* Sequence numbers start again; half of the time they wrap around soon. */
void sim_wire_up(struct sim_qp *qp)
{
	struct sim_qp *ends[2] = { qp, sim_qp_other(qp) };
	uint32_t first[2];
	int i;

	sim.sessions++;
	for (i = 0; i < 2; i++)
		first[i] =
			qp == ends[1] && i ? first[0] : 0u - sim_random(sim_random(2) ? 20 : 1000);
	for (i = 0; i < 2; i++) {
		forget_kept(ends[i], sim.sessions, first[!i]);
		ofi_rdm_ack_init(&ends[i]->ack, &sim_ack_params, first[i]);
		ends[i]->launched = ends[i]->posted;
	}
}

static struct sim_packet *free_packet(void)
{
	struct sim_packet *p = sim.packets;

	while (p < sim.packets + SIM_WIRE && p->used)
		p++;
	return p < sim.packets + SIM_WIRE ? p : NULL;
}

/* An unreliable wire drops the packet when all places are taken. */
static bool put_on_wire(const struct sim_packet *packet)
{
	struct sim_packet *p = free_packet();

	if (p && sim.options.unreliable && !sim_random(8)) {
		sim.lost++;
		return true;
	}
	if (!p)
		return sim.options.unreliable;
	*p = *packet;
	p->used = p->on_wire = true;
	return true;
}

/* Sends the packet of a work request, or an acknowledgement only if wr is NULL. */
static bool transmit(struct sim_qp *qp, struct sim_wr *wr)
{
	struct sim_packet p = { .qp = qp, .session = qp->session, .wr = wr };

	if (sim.options.unreliable)
		ofi_rdm_ack_fill(&qp->ack, &qp->in, &p.words);
	if (wr) {
		p.number = wr->node.number;
		p.order = wr->node.order;
		p.len = wr->len;
		memcpy(p.bytes, wr->bytes, wr->len);
	}
	if (!put_on_wire(&p))
		return false;
	if (sim.options.unreliable && !sim_random(8))
		put_on_wire(&p);
	return true;
}

static struct sim_wr *wr_of(struct ofi_rdm_ack_node *node)
{
	return ofi_container(node, struct sim_wr, node);
}

/* Completes a work request. Completions are reported in order. */
static void complete(struct sim_qp *qp, struct sim_wr *wr)
{
	SIM_CHECK(!wr->moved);
	wr->moved = true;
	while (qp->moved != qp->launched && qp->ring[qp->moved % SIM_RING].moved)
		qp->moved++;
}

/* RDMA and window operations wait until all earlier packets have arrived, as with a fence. */
static bool launch(struct sim_qp *qp)
{
	struct sim_wr *wr = &qp->ring[qp->launched % SIM_RING];

	if (qp->launched == qp->posted)
		return false;
	if (wr->kind != SIM_SEND) {
		if (qp->moved != qp->launched)
			return false;
		qp->launched++;
		sim_qp_execute(qp, wr);
		complete(qp, wr);
		return true;
	}
	if (sim.options.unreliable) {
		SIM_CHECK(ofi_rdm_ack_is_open(&qp->ack));
		ofi_rdm_ack_sent(&qp->ack, &wr->node, *clock_of(qp));
	} else if (free_packet()) {
		wr->node.number = qp->ack.next++;
	} else {
		return false;
	}
	qp->launched++;
	SIM_CHECK(transmit(qp, wr));
	return true;
}

static void take_words(struct sim_qp *at, const struct sim_packet *p)
{
	struct ofi_rdm_ack_news news;
	struct ofi_rdm_ack_node *node, *next;

	SIM_CHECK(ofi_rdm_ack_take(&at->ack, &p->words, *clock_of(at), &news));
	for (node = news.done; node; node = next) {
		next = node->next;
		complete(at, wr_of(node));
	}
}

static void deliver(struct sim_packet *p)
{
	struct sim_packet copy = *p;

	p->used = false;
	sim_qp_arrive(copy.qp, copy.bytes, copy.len);
}

static void take_data(struct sim_qp *at, struct sim_packet *p)
{
	enum ofi_rdm_seq_verdict verdict = ofi_rdm_seq_arrive(&at->in, p->number, &p->node);
	uint32_t order = p->order;

	SIM_CHECK(at->session);
	SIM_CHECK(verdict <= OFI_RDM_SEQ_DUPLICATE);
	SIM_CHECK(verdict != OFI_RDM_SEQ_DUPLICATE || sim.options.unreliable);
	sim.early += verdict == OFI_RDM_SEQ_KEEP;
	sim.doubles += verdict == OFI_RDM_SEQ_DUPLICATE;
	if (!sim.options.unreliable)
		complete(p->qp, p->wr);
	p->used = verdict == OFI_RDM_SEQ_KEEP;
	if (verdict == OFI_RDM_SEQ_DELIVER) {
		deliver(p);
		while ((p = (struct sim_packet *)ofi_rdm_seq_pop(&at->in)))
			deliver(p);
	}
	if (sim.options.unreliable)
		ofi_rdm_ack_arrived(&at->ack, &at->in, order, verdict, *clock_of(at));
}

/* Packets of an earlier connection are dropped. */
static void arrive(struct sim_packet *p)
{
	struct sim_qp *at = sim_qp_other(p->qp);

	p->on_wire = false;
	if (!at->peer.up || at->broken || p->session != at->session) {
		sim.stale++;
		p->used = false;
		return;
	}
	if (sim.options.unreliable)
		take_words(at, p);
	if (p->len)
		take_data(at, p);
	else
		p->used = false;
}

/* Delivers a random packet between the two ends, in either direction. */
static bool arrive_any(struct sim_qp *qp)
{
	uint32_t i, from = sim_random(SIM_WIRE);
	struct sim_packet *p;

	for (i = 0; i < SIM_WIRE; i++) {
		p = &sim.packets[(from + i) % SIM_WIRE];
		if (p->on_wire && (p->qp == qp || p->qp == sim_qp_other(qp))) {
			arrive(p);
			return true;
		}
	}
	return false;
}

static bool send_again(struct sim_qp *qp)
{
	struct ofi_rdm_ack_node *node;
	enum ofi_rdm_ack_due due;
	bool some = false;

	while ((due = ofi_rdm_ack_due(&qp->ack, *clock_of(qp), &node)) != OFI_RDM_ACK_NOTHING) {
		SIM_CHECK(due != OFI_RDM_ACK_GIVE_UP);
		sim.resent++;
		some = true;
		transmit(qp, wr_of(node));
	}
	if (ofi_rdm_ack_is_owed(&qp->ack, *clock_of(qp))) {
		some = true;
		transmit(qp, NULL);
	}
	return some;
}

/* Advances the clock to the next timer of either end. */
static bool wait_for_timer(struct sim_qp *qp)
{
	struct sim_qp *other = sim_qp_other(qp);
	uint64_t next = ofi_rdm_ack_next(&qp->ack), its = ofi_rdm_ack_next(&other->ack);
	bool some;

	next = its < next ? its : next;
	if (next == OFI_RDM_ACK_NEVER)
		return false;
	if (next > *clock_of(qp))
		*clock_of(qp) = next;
	some = send_again(qp);
	return send_again(other) || some;
}

bool sim_wire_move(struct sim_qp *qp)
{
	struct sim_qp *other = sim_qp_other(qp);

	if (qp->broken || !qp->peer.up || !other->peer.up)
		return false;
	*clock_of(qp) += sim_random(20);
	if (sim.options.unreliable && !sim_random(3) && (send_again(qp) || send_again(other)))
		return true;
	if (!sim_random(2) && launch(qp))
		return true;
	return arrive_any(qp) || launch(qp) || (sim.options.unreliable && wait_for_timer(qp));
}
