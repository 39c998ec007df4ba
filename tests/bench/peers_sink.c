/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The endpoint that receives: what prov/verbs/rdm/ud_recv.c, ud_poll.c, ud_meet.c and ud_sleep.c do
 * at the receiver's end of connections. Messages must be delivered once and in order.
 */
#include <stdlib.h>
#include "peers.h"
static struct {
	struct peers_awakes awake, spare, prompt;
	uint32_t awake_count, looks;
} all;

void peers_sink_open(void)
{
	TAILQ_INIT(&all.awake);
	TAILQ_INIT(&all.spare);
	TAILQ_INIT(&all.prompt);
}

static void free_all(struct peers_awakes *list)
{
	struct peers_awake *awake;

	while ((awake = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, awake, awake);
		free(awake);
	}
}

void peers_sink_close(void)
{
	free_all(&all.awake);
	free_all(&all.spare);
	all.awake_count = all.looks = 0;
}

static struct peers_sink *sink_of(const struct peers_awake *awake)
{
	return &peers.sinks[awake->peer];
}

static struct peers_awake *awake_new(uint32_t peer, uint32_t first)
{
	struct peers_awake *awake = TAILQ_FIRST(&all.spare);

	if (awake)
		TAILQ_REMOVE(&all.spare, awake, awake);
	else
		awake = peers_alloc(1, sizeof(*awake));
	*awake = (struct peers_awake){ .peer = peer };
	awake->letter.at = OFI_RDM_DUE_NEVER;
	awake->letter.wait = VRB_UD_LETTER_US;
	ofi_rdm_ack_init(&awake->ack, &peers_ack_params, first);
	TAILQ_INSERT_TAIL(&all.awake, awake, awake);
	all.awake_count++;
	all.looks += VRB_UD_LOOKS_WAKING;
	if (all.awake_count > peers.counts.awake)
		peers.counts.awake = all.awake_count;
	peers.sinks[peer].awake = awake;
	return awake;
}

static struct peers_awake *wake(uint32_t peer)
{
	struct peers_sink *sink = &peers.sinks[peer];
	const struct vrb_ud_rest *rest = &sink->rest;
	struct peers_awake *awake;

	if (sink->awake)
		return sink->awake;
	awake = awake_new(peer, rest->out);
	awake->ack.order = rest->order;
	awake->ack.newest = rest->order - 1;
	awake->ack.echo = rest->echo;
	awake->ack.doubles = rest->doubles;
	awake->ack.its_doubles = rest->its_doubles;
	awake->ack.reorder = rest->reorder;
	ofi_rdm_seq_begin(&awake->in, rest->in);
	return awake;
}

static void sleep_now(struct peers_awake *awake)
{
	sink_of(awake)->rest = (struct vrb_ud_rest){
		.out = awake->ack.next,
		.in = awake->in.next,
		.order = awake->ack.order,
		.echo = awake->ack.echo,
		.doubles = awake->ack.doubles,
		.its_doubles = awake->ack.its_doubles,
		.reorder = awake->ack.reorder,
	};
	sink_of(awake)->awake = NULL;
	ofi_rdm_due_set(&peers.sink_timers, &awake->due, OFI_RDM_DUE_NEVER);
	TAILQ_REMOVE(&all.awake, awake, awake);
	TAILQ_INSERT_HEAD(&all.spare, awake, awake);
	all.awake_count--;
}

/* Returns true if the connection sleeps now. */
static bool look_at(struct peers_awake *awake)
{
	bool used = awake->seen_order != awake->ack.order || awake->seen_in != awake->in.next;

	awake->seen_order = awake->ack.order;
	awake->seen_in = awake->in.next;
	if (used || awake->in.first || awake->is_prompt || awake->ack.first ||
	    awake->ack.owes != OFI_RDM_ACK_NEVER || awake->letter.at != OFI_RDM_DUE_NEVER)
		return false;
	sleep_now(awake);
	return true;
}

static void look(uint32_t looks)
{
	struct peers_awake *awake;

	if (looks > all.awake_count)
		looks = all.awake_count;
	for (; looks && all.awake_count > VRB_UD_KEPT + peers.count / VRB_UD_SHARE; looks--) {
		awake = TAILQ_FIRST(&all.awake);
		if (look_at(awake))
			continue;
		TAILQ_REMOVE(&all.awake, awake, awake);
		TAILQ_INSERT_TAIL(&all.awake, awake, awake);
	}
}

uint32_t peers_sink_rest(void)
{
	/* The first look notes that they were used. */
	look(all.awake_count);
	look(all.awake_count);
	return all.awake_count;
}

static void send_packet(struct peers_awake *awake, enum vrb_ud_kind kind)
{
	struct peers_packet packet = { .kind = (uint8_t)kind, .peer = awake->peer };
	uint64_t lag = (peers_us() - awake->arrived) / 16;

	packet.lag = 16 * (uint32_t)(lag < UINT16_MAX ? lag : UINT16_MAX);
	ofi_rdm_ack_fill(&awake->ack, &awake->in, &packet.words);
	peers_net_answer(packet);
}

static void send_ack(struct peers_awake *awake)
{
	awake->acked = peers_us();
	peers.counts.acks++;
	send_packet(awake, VRB_UD_ACK);
	peers_net_spend(PEERS_SEND_NS);
}

static void watch(struct peers_awake *awake)
{
	uint64_t next = ofi_rdm_ack_next(&awake->ack);

	next = awake->letter.at < next ? awake->letter.at : next;
	peers_timer(&peers.sink_timers, &awake->due, next);
}

static void send_answer(struct peers_awake *awake)
{
	struct peers_letter *letter = &awake->letter;

	letter->at = peers_us() + letter->wait;
	letter->wait =
		letter->wait < VRB_UD_LETTER_MOST_US ? 2 * letter->wait : VRB_UD_LETTER_MOST_US;
	send_packet(awake, VRB_UD_ANSWER);
	watch(awake);
}

/* A request that comes again is answered again unless the peer has sent something since. */
void peers_sink_accepted(uint32_t peer)
{
	struct peers_sink *sink = &peers.sinks[peer];

	if (!sink->met) {
		sink->met = true;
		ofi_rdm_seq_begin(&awake_new(peer, 1)->in, sink->first);
	} else if (!sink->awake || sink->awake->letter.at == OFI_RDM_DUE_NEVER) {
		return;
	}
	send_answer(sink->awake);
}

void peers_sink_timer(struct peers_awake *awake)
{
	ofi_rdm_due_set(&peers.sink_timers, &awake->due, OFI_RDM_DUE_NEVER);
	if (awake->letter.at <= peers_us())
		send_answer(awake);
	if (ofi_rdm_ack_is_owed(&awake->ack, peers_us()))
		send_ack(awake);
	watch(awake);
}

/* Half of the messages are delivered: how equal are the shares? */
static void note_shares(void)
{
	uint32_t i, share;

	for (i = 0; i < peers.count; i++) {
		share = peers.sinks[i].delivered - peers.sinks[i].before;
		peers.counts.sum += share;
		peers.counts.squares += (uint64_t)share * share;
	}
}

static void deliver(struct peers_awake *awake, const struct peers_packet *packet)
{
	struct peers_sink *sink = sink_of(awake);

	if (packet->kind != VRB_UD_SEND)
		return;
	if (packet->message != sink->delivered++)
		peers_die("a message is lost, doubled or out of order", awake->peer);
	sink->last = peers.counts.last = peers.now;
	if (++peers.counts.delivered == peers.wanted / 2)
		note_shares();
	peers_net_spend(peers.handle);
	if (peers_us() - awake->acked < VRB_UD_PROMPT_US || awake->is_prompt)
		return;
	awake->is_prompt = true;
	TAILQ_INSERT_TAIL(&all.prompt, awake, prompt);
}

static bool is_crowded(const struct peers_awake *awake, const struct peers_packet *packet)
{
	uint32_t kept = peers_net_kept();

	if (ofi_rdm_seq_distance(awake->in.next, packet->number) <= 0 || kept <= VRB_UD_RQ / 2)
		return false;
	return kept > VRB_UD_RQ - VRB_UD_RQ / 4 ||
	       __builtin_popcountll(awake->in.early) >= VRB_UD_FEW;
}

static bool take_numbered(struct peers_awake *awake, struct peers_rx *rx)
{
	enum ofi_rdm_seq_verdict verdict;
	struct ofi_rdm_seq_node *node;

	if (is_crowded(awake, &rx->packet)) {
		peers.counts.crowded++;
		return false;
	}
	verdict = ofi_rdm_seq_arrive(&awake->in, rx->packet.number, &rx->node);
	if (verdict == OFI_RDM_SEQ_BEYOND)
		peers_die("a number is impossible", awake->peer);
	if (verdict == OFI_RDM_SEQ_DELIVER) {
		deliver(awake, &rx->packet);
		while ((node = ofi_rdm_seq_pop(&awake->in))) {
			deliver(awake, &((struct peers_rx *)node)->packet);
			peers_net_repost((struct peers_rx *)node);
		}
	}
	peers.counts.doubles += verdict == OFI_RDM_SEQ_DUPLICATE;
	ofi_rdm_ack_arrived(&awake->ack, &awake->in, rx->packet.order, verdict, peers_us());
	return verdict == OFI_RDM_SEQ_KEEP;
}

bool peers_sink_take(struct peers_rx *rx, uint64_t polled)
{
	const struct peers_packet *packet = &rx->packet;
	struct ofi_rdm_ack_news news;
	struct peers_awake *awake;
	bool stays;

	peers_net_spend(PEERS_SEND_NS);
	if (packet->kind == VRB_UD_ASK) {
		peers_net_accept(packet->peer);
		return false;
	}
	if (!peers.sinks[packet->peer].met)
		peers_die("it sends without an answer", packet->peer);
	awake = wake(packet->peer);
	awake->letter.at = OFI_RDM_DUE_NEVER;
	if (!ofi_rdm_ack_take(&awake->ack, &packet->words, peers_us(), &news))
		peers_die("its acknowledgment is impossible", packet->peer);
	stays = take_numbered(awake, rx);
	awake->arrived = polled;
	if (ofi_rdm_ack_is_owed(&awake->ack, peers_us()))
		send_ack(awake);
	watch(awake);
	return stays;
}

void peers_sink_polled(void)
{
	struct peers_awake *awake;

	while ((awake = TAILQ_FIRST(&all.prompt))) {
		TAILQ_REMOVE(&all.prompt, awake, prompt);
		awake->is_prompt = false;
		if (awake->ack.owes != OFI_RDM_ACK_NEVER)
			send_ack(awake);
	}
	look(all.looks);
	all.looks = 0;
}
