/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Acknowledgments: which packets have arrived, which are lost, and the round-trip time. */
#include "ack.h"
#include "src/ds/min.h"

enum { BACKOFF_MAX = 24 };

void ofi_rdm_ack_init(struct ofi_rdm_ack *ack, const struct ofi_rdm_ack_params *params,
		      uint32_t first)
{
	*ack = (struct ofi_rdm_ack){
		.params = params,
		.timer = OFI_RDM_ACK_NEVER,
		.owes = OFI_RDM_ACK_NEVER,
		.next = first,
		.oldest = first,
		.order = 1,
		.reorder = params->reorder,
	};
}

static uint64_t ack_between(uint64_t value, uint64_t min, uint64_t max)
{
	return value < min ? min : value > max ? max : value;
}

uint64_t ofi_rdm_ack_timeout(const struct ofi_rdm_ack *ack)
{
	const struct ofi_rdm_ack_params *params = ack->params;
	uint64_t timeout = params->first;

	/* With a clock of microseconds the variation may be 0. */
	if (ack->srtt)
		timeout = ack->srtt / 8 + (ack->rttvar ? ack->rttvar : 1) + params->delay;
	timeout = ack_between(timeout, params->min, params->max);
	timeout = ack_between(timeout << ack->backoff, params->min, params->max);
	/* Sequence numbers begin at a random number, so peers subtract different parts. */
	if (ack->backoff)
		timeout -= ofi_rdm_ack_part(timeout, ack->oldest + ack->order * 0x9e3779b9);
	return timeout;
}

/*
 * Updates the estimates as in RFC 6298, 2.2 and 2.3. rttvar is stored in quarters, so it equals
 * four times the variation.
 */
static void ack_measure(struct ofi_rdm_ack *ack, uint32_t rtt)
{
	uint32_t mean = ack->srtt / 8;
	uint32_t differs = rtt > mean ? rtt - mean : mean - rtt;

	if (!ack->srtt) {
		ack->srtt = rtt * 8;
		ack->rttvar = rtt * 2;
		return;
	}
	ack->rttvar = ack->rttvar - ack->rttvar / 4 + differs;
	ack->srtt = ack->srtt - mean + rtt;
}

static void ack_transmit(struct ofi_rdm_ack *ack, struct ofi_rdm_ack_node *node, uint64_t now)
{
	node->order = ack->order++;
	node->sent = now;
	if (node == ack->first)
		ack->timer = now + ofi_rdm_ack_timeout(ack);
}

void ofi_rdm_ack_sent(struct ofi_rdm_ack *ack, struct ofi_rdm_ack_node *node, uint64_t now)
{
	node->next = NULL;
	node->number = ack->next++;
	node->again = false;
	if (ack->first) {
		ack->last->next = node;
	} else {
		ack->first = node;
		ack->last_arrival = now;
	}
	ack->last = node;
	ack_transmit(ack, node, now);
}

/* Rejects numbers and transmissions that were never sent. */
static bool ack_is_possible(const struct ofi_rdm_ack *ack, const struct ofi_rdm_ack_words *words)
{
	int32_t sent = ofi_rdm_seq_distance(words->next, ack->next);

	if (sent < 0 || ofi_rdm_seq_distance(words->echo, ack->order) <= 0)
		return false;
	return sent >= OFI_RDM_SEQ_WINDOW || !(words->early >> sent);
}

static bool ack_covers(const struct ofi_rdm_ack_words *words, uint32_t number)
{
	int32_t at = ofi_rdm_seq_distance(words->next, number);

	return at < 0 || (at < OFI_RDM_SEQ_WINDOW && words->early >> at & 1);
}

static void ack_mark_newest(struct ofi_rdm_ack *ack, uint32_t order)
{
	if (ofi_rdm_seq_distance(ack->newest, order) > 0)
		ack->newest = order;
}

/*
 * Returns true if the peer reports that a retransmission was needless: packets overtake each other
 * more than assumed.
 */
static bool ack_mark_doubles(struct ofi_rdm_ack *ack, uint16_t doubles)
{
	int16_t more = (int16_t)(doubles - ack->its_doubles);

	if (more <= 0)
		return false;
	ack->its_doubles = doubles;
	if (!ack->sent_again)
		return false;
	ack->sent_again = 0;
	if (2 * ack->reorder < OFI_RDM_SEQ_WINDOW)
		ack->reorder *= 2;
	return true;
}

static void ack_complete(struct ofi_rdm_ack *ack, struct ofi_rdm_ack_node *node, uint32_t echo,
			 uint64_t now, struct ofi_rdm_ack_news *news)
{
	uint64_t rtt = now - node->sent;

	news->count++;
	if (node->order == echo)
		news->rtt = (uint32_t)ack_between(rtt, 1, UINT32_MAX / 16);
	/* Only the echo tells which copy of a retransmitted packet has arrived. */
	if (!node->again)
		ack_mark_newest(ack, node->order);
	else if (ofi_rdm_seq_distance(echo, node->order) > 0)
		news->needless = true;
}

/* Moves acknowledged packets from the list of sent packets to the news. */
static void ack_sort(struct ofi_rdm_ack *ack, const struct ofi_rdm_ack_words *words, uint64_t now,
		     struct ofi_rdm_ack_news *news)
{
	struct ofi_rdm_ack_node *node, **link = &ack->first, **done = &news->done;

	ack->last = NULL;
	while ((node = *link)) {
		if (!ack_covers(words, node->number)) {
			ack->last = node;
			link = &node->next;
			continue;
		}
		*link = node->next;
		*done = node;
		done = &node->next;
		ack_complete(ack, node, words->echo, now, news);
	}
	*done = NULL;
	ack->oldest = ack->first ? ack->first->number : ack->next;
}

bool ofi_rdm_ack_take(struct ofi_rdm_ack *ack, const struct ofi_rdm_ack_words *words, uint64_t now,
		      struct ofi_rdm_ack_news *news)
{
	*news = (struct ofi_rdm_ack_news){ .count = 0 };
	if (!ack_is_possible(ack, words))
		return false;
	ack->last_arrival = now;
	news->needless = ack_mark_doubles(ack, words->doubles);
	ack_mark_newest(ack, words->echo);
	ack_sort(ack, words, now, news);
	if (news->rtt)
		ack_measure(ack, news->rtt);
	if (news->count) {
		if (!news->needless)
			ack->backoff = 0;
		ack->timer = ack->first ? now + ofi_rdm_ack_timeout(ack) : OFI_RDM_ACK_NEVER;
	}
	return true;
}

static enum ofi_rdm_ack_due ack_again(struct ofi_rdm_ack *ack, struct ofi_rdm_ack_node *node,
				      uint64_t now, enum ofi_rdm_ack_due why)
{
	node->again = true;
	ack->sent_again++;
	ack_transmit(ack, node, now);
	return why;
}

/* The time by which this process or its host is late is not a silence of the peer. */
static void ack_skip_pause(struct ofi_rdm_ack *ack, uint64_t now)
{
	uint64_t late = now > ack->timer + ack->params->max ? now - ack->timer : 0;

	ack->last_arrival = now - ack->last_arrival > late ? ack->last_arrival + late : now;
}

enum ofi_rdm_ack_due ofi_rdm_ack_due(struct ofi_rdm_ack *ack, uint64_t now,
				     struct ofi_rdm_ack_node **node)
{
	if (!ack->first)
		return OFI_RDM_ACK_NOTHING;
	ack_skip_pause(ack, now);
	if (now >= ack->last_arrival + ack->params->silence)
		return OFI_RDM_ACK_GIVE_UP;
	for (*node = ack->first; *node; *node = (*node)->next)
		if (ofi_rdm_seq_distance((*node)->order, ack->newest) >= ack->reorder)
			return ack_again(ack, *node, now, OFI_RDM_ACK_RESEND);
	if (now < ack->timer)
		return OFI_RDM_ACK_NOTHING;
	ack->backoff += ack->backoff < BACKOFF_MAX;
	ack->reorder = ack->params->reorder;
	*node = ack->first;
	return ack_again(ack, *node, now, OFI_RDM_ACK_TIMEOUT);
}

void ofi_rdm_ack_arrived(struct ofi_rdm_ack *ack, const struct ofi_rdm_seq_in *in, uint32_t order,
			 enum ofi_rdm_seq_verdict verdict, uint64_t now)
{
	ack->last_arrival = now;
	if (ofi_rdm_seq_distance(ack->echo, order) > 0)
		ack->echo = order;
	ack->doubles += verdict == OFI_RDM_SEQ_DUPLICATE;
	ack->unacked += ack->unacked < UINT8_MAX;
	if (verdict != OFI_RDM_SEQ_DELIVER || in->early || ack->unacked >= ack->params->every)
		ack->owes = now;
	else if (ack->owes == OFI_RDM_ACK_NEVER)
		ack->owes = now + ack->params->delay;
}

void ofi_rdm_ack_fill(struct ofi_rdm_ack *ack, const struct ofi_rdm_seq_in *in,
		      struct ofi_rdm_ack_words *words)
{
	*words = (struct ofi_rdm_ack_words){
		.next = in->next,
		.echo = ack->echo,
		.early = in->early,
		.doubles = ack->doubles,
	};
	ack->unacked = 0;
	ack->owes = OFI_RDM_ACK_NEVER;
}

uint64_t ofi_rdm_ack_next(const struct ofi_rdm_ack *ack)
{
	uint64_t next = ack->owes, silent;

	if (!ack->first)
		return next;
	silent = ack->last_arrival + ack->params->silence;
	return ofi_min(silent, ofi_min(ack->timer, next));
}
