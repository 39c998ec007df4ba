/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A peer: what prov/verbs/rdm/ud_send.c and ud_meet.c do at the sender's end of a connection. */
#include <stdlib.h>
#include "peers.h"

const struct ofi_rdm_ack_params peers_ack_params = {
	VRB_UD_ACK_TIMES,
	.silence = 10000000,
	.reorder = 3,
};
static const struct ofi_rdm_cwnd_params cwnd_params = VRB_UD_CWND_PARAMS;

static struct peers_tx *spare;

static uint32_t number_of(const struct peers_source *source)
{
	return (uint32_t)(source - peers.sources);
}

static struct peers_tx *tx_new(const struct peers_source *source, enum vrb_ud_kind kind)
{
	struct peers_tx *tx = spare;

	if (tx)
		spare = tx->next;
	else
		tx = peers_alloc(1, sizeof(*tx));
	*tx = (struct peers_tx){ .packet = { .kind = (uint8_t)kind, .peer = number_of(source) } };
	return tx;
}

void peers_tx_put(struct peers_tx *tx)
{
	tx->done = true;
	if (tx->posted)
		return;
	tx->next = spare;
	spare = tx;
}

void peers_source_close(void)
{
	struct peers_tx *tx;

	while ((tx = spare)) {
		spare = tx->next;
		free(tx);
	}
}

void peers_source_init(struct peers_source *source, uint32_t first, uint32_t sink_first)
{
	ofi_rdm_ack_init(&source->ack, &peers_ack_params, first);
	ofi_rdm_cwnd_init(&source->cwnd, &cwnd_params);
	ofi_rdm_seq_begin(&source->in, sink_first);
	source->letter.at = OFI_RDM_DUE_NEVER;
	source->letter.wait = VRB_UD_LETTER_US;
}

/* Returns 0 if an earlier copy has not left yet. */
static int transmit(struct peers_source *source, struct peers_tx *tx)
{
	if (tx->posted)
		return 0;
	tx->packet.number = tx->node.number;
	tx->packet.order = tx->node.order;
	ofi_rdm_ack_fill(&source->ack, &source->in, &tx->packet.words);
	peers_net_post(tx);
	return 1;
}

static void launch(struct peers_source *source, struct peers_tx *tx)
{
	ofi_rdm_ack_sent(&source->ack, &tx->node, peers_us());
	ofi_rdm_cwnd_sent(&source->cwnd, peers_us());
	source->flying++;
	peers.counts.packets += transmit(source, tx);
}

static uint64_t send_time(const struct peers_source *source)
{
	uint64_t time = ofi_rdm_cwnd_time(&source->cwnd, source->flying);
	uint64_t most = source->cwnd.sent + VRB_UD_PACE_US;

	return !source->flying && time > most ? most : time;
}

static bool has_work(const struct peers_source *source)
{
	return source->met && source->next != source->end;
}

static void pump(struct peers_source *source)
{
	struct peers_tx *tx;

	while (has_work(source) && ofi_rdm_ack_is_open(&source->ack) &&
	       send_time(source) <= peers_us()) {
		tx = tx_new(source, VRB_UD_SEND);
		tx->packet.message = source->next++;
		launch(source, tx);
	}
}

static void watch(struct peers_source *source)
{
	uint64_t next = ofi_rdm_ack_next(&source->ack), pace;

	if (has_work(source)) {
		pace = send_time(source);
		next = pace > peers_us() && pace < next ? pace : next;
	}
	next = source->letter.at < next ? source->letter.at : next;
	peers_timer(&peers.source_timers, &source->due, next);
}

static void send_letter(struct peers_source *source)
{
	struct peers_letter *letter = &source->letter;
	struct peers_tx *tx = tx_new(source, VRB_UD_ASK);

	letter->at = peers_us() + letter->wait;
	if (letter->times++)
		letter->at -= ofi_rdm_ack_part(letter->wait, peers_any(UINT32_MAX));
	letter->wait =
		letter->wait < VRB_UD_LETTER_MOST_US ? 2 * letter->wait : VRB_UD_LETTER_MOST_US;
	peers.counts.letters++;
	tx->done = true;
	peers_net_post(tx);
}

/* The peer's host is there, which the connection manager tells. */
static void timed_out(struct peers_source *source)
{
	if (source->ack.backoff < 2)
		ofi_rdm_cwnd_timeout(&source->cwnd, peers_us());
	if (peers_us() - source->ack.last_arrival < VRB_UD_SILENT_US || peers_us() < source->ask)
		return;
	source->ask = peers_us() + VRB_UD_ASK_US;
	peers.counts.probes++;
	ofi_rdm_ack_heard(&source->ack, peers_us());
}

static void resend(struct peers_source *source)
{
	struct ofi_rdm_ack_node *node;
	enum ofi_rdm_ack_due due;

	while ((due = ofi_rdm_ack_due(&source->ack, peers_us(), &node)) != OFI_RDM_ACK_NOTHING) {
		if (due == OFI_RDM_ACK_GIVE_UP)
			peers_die("it has given up", number_of(source));
		if (due == OFI_RDM_ACK_TIMEOUT)
			timed_out(source);
		else
			ofi_rdm_cwnd_lost(&source->cwnd, peers_us());
		peers.counts.again += transmit(source, (struct peers_tx *)node);
	}
}

void peers_source_timer(struct peers_source *source)
{
	ofi_rdm_due_set(&peers.source_timers, &source->due, OFI_RDM_DUE_NEVER);
	if ((!source->met && !source->letter.times) || source->letter.at <= peers_us())
		send_letter(source);
	resend(source);
	pump(source);
	watch(source);
}

/* The first packet tells the receiver that its answer has arrived. */
static void take_answer(struct peers_source *source)
{
	if (source->met)
		return;
	source->met = true;
	source->letter.at = OFI_RDM_DUE_NEVER;
	launch(source, tx_new(source, VRB_UD_NOTHING));
}

static void take_words(struct peers_source *source, const struct peers_packet *packet)
{
	struct ofi_rdm_ack_node *node, *next;
	struct ofi_rdm_ack_news news;
	uint32_t rtt;

	if (!ofi_rdm_ack_take(&source->ack, &packet->words, peers_us(), &news))
		peers_die("an acknowledgment is impossible", number_of(source));
	if (news.needless)
		ofi_rdm_cwnd_needless(&source->cwnd);
	if (!news.count)
		return;
	for (node = news.done; node; node = next) {
		next = node->next;
		source->flying--;
		peers_tx_put((struct peers_tx *)node);
	}
	rtt = news.rtt > packet->lag ? news.rtt - packet->lag : 1;
	ofi_rdm_cwnd_acked(&source->cwnd, news.count, news.rtt ? rtt : 0, peers_us());
}

void peers_source_take(const struct peers_packet *packet)
{
	struct peers_source *source = &peers.sources[packet->peer];

	if (packet->kind == VRB_UD_ANSWER) {
		take_answer(source);
	} else {
		take_words(source, packet);
		resend(source);
	}
	pump(source);
	watch(source);
}
