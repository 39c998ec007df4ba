/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The congestion window: when it grows and shrinks, and when a packet may be sent. */
#include "cwnd.h"

enum {
	ONE = OFI_RDM_CWND_ONE,
	ERA = 10000000, /* the shortest round-trip time is that of the last 10 to 20 seconds */
	ROUND = 32,	/* packets in which losses are counted */
	ROUND_LOST = 4,
	QUICK = 2, /* after so many round-trip times without a short one, a queue is full */
	FAR = 3,   /* long round trips with the smallest window, after which the network is far */
};

void ofi_rdm_cwnd_init(struct ofi_rdm_cwnd *cwnd, const struct ofi_rdm_cwnd_params *params)
{
	*cwnd = (struct ofi_rdm_cwnd){
		.params = params,
		.window = params->first * ONE,
		.least = UINT32_MAX,
		.earlier = UINT32_MAX,
		.fresh = true,
	};
}

static uint32_t cwnd_root(uint32_t square)
{
	uint32_t root = 0, bit;

	for (bit = 1u << 15; bit; bit >>= 1)
		if ((uint64_t)(root + bit) * (root + bit) <= square)
			root += bit;
	return root;
}

/*
 * Returns the target for a round trip. The extra time for a small window is inversely proportional
 * to its square root, and bounded.
 */
static uint64_t cwnd_target(const struct ofi_rdm_cwnd *cwnd)
{
	uint64_t target = cwnd->params->target, extra = target * 32 / cwnd_root(cwnd->window);

	return target + (extra < 4 * target ? extra : 4 * target);
}

/* Returns the target if the network is far. */
static uint64_t cwnd_far_target(const struct ofi_rdm_cwnd *cwnd)
{
	uint64_t least = cwnd->least < cwnd->earlier ? cwnd->least : cwnd->earlier;

	return least + least / 4 + cwnd->params->target;
}

static void cwnd_measure(struct ofi_rdm_cwnd *cwnd, uint32_t rtt, uint64_t now)
{
	if (now >= cwnd->era) {
		cwnd->earlier = cwnd->least;
		cwnd->least = UINT32_MAX;
		cwnd->era = now + ERA;
	}
	cwnd->rtt = rtt;
	if (rtt < cwnd->least)
		cwnd->least = rtt;
}

static void cwnd_set(struct ofi_rdm_cwnd *cwnd, uint64_t window)
{
	uint64_t most = (uint64_t)cwnd->params->most * ONE;

	window = window > most ? most : window;
	cwnd->window = window < OFI_RDM_CWND_MIN ? OFI_RDM_CWND_MIN : (uint32_t)window;
}

/*
 * Shrinks the window at most once per round trip: packets sent before it last shrank tell nothing
 * new. Returns true if it shrinks.
 */
static bool cwnd_cut(struct ofi_rdm_cwnd *cwnd, uint64_t window, uint64_t now)
{
	cwnd->fresh = false;
	if (cwnd->cut && now - cwnd->cut < cwnd->rtt)
		return false;
	cwnd->cut = now;
	cwnd->before = 0;
	cwnd_set(cwnd, window > cwnd->window / 2 ? window : cwnd->window / 2);
	return true;
}

/*
 * Returns true if round trips are long because a queue is full, which delays all packets. If some
 * are fast, processes or interrupts were late with the others.
 */
static bool cwnd_is_queued(const struct ofi_rdm_cwnd *cwnd, uint64_t now)
{
	return now - cwnd->quick > QUICK * (uint64_t)cwnd->rtt;
}

/*
 * Called when a round trip was too long. If that happens with the smallest window, queueing is not
 * the cause.
 */
static void cwnd_shrink(struct ofi_rdm_cwnd *cwnd, uint64_t target, uint64_t now)
{
	uint64_t window = cwnd->window, rtt = cwnd->rtt;
	bool smallest = window == OFI_RDM_CWND_MIN;

	if (!cwnd_cut(cwnd, window - window * (rtt - target) * 4 / 5 / rtt, now) || !smallest ||
	    ++cwnd->vain < FAR)
		return;
	cwnd->far = cwnd->fresh = true;
	cwnd->vain = 0;
	cwnd_set(cwnd, cwnd->params->first * ONE);
}

/* A window below one packet grows by a quarter each time, since many senders do the same. */
static void cwnd_grow(struct ofi_rdm_cwnd *cwnd, uint32_t count)
{
	uint64_t window = cwnd->window;

	if (cwnd->fresh)
		window += (uint64_t)count * ONE;
	else if (window >= ONE)
		window += (uint64_t)count * ONE * ONE / window;
	else
		window += (window + 3) / 4;
	cwnd_set(cwnd, window);
}

static void cwnd_count(struct ofi_rdm_cwnd *cwnd, uint32_t acked, uint32_t lost, uint64_t now)
{
	bool many;

	cwnd->acked += acked < ROUND ? (uint8_t)acked : ROUND;
	cwnd->lost += (uint8_t)lost;
	if (cwnd->acked + cwnd->lost < ROUND)
		return;
	many = cwnd->lost > ROUND_LOST;
	cwnd->acked = cwnd->lost = 0;
	if (many)
		cwnd_cut(cwnd, 0, now);
}

void ofi_rdm_cwnd_acked(struct ofi_rdm_cwnd *cwnd, uint32_t count, uint32_t rtt, uint64_t now)
{
	uint64_t target = cwnd_target(cwnd), far;

	if (rtt)
		cwnd_measure(cwnd, rtt, now);
	if (rtt && rtt <= target) {
		cwnd->far = false;
		cwnd->vain = 0;
	}
	far = cwnd->far ? cwnd_far_target(cwnd) : 0;
	target = far > target ? far : target;
	if (rtt && rtt <= target)
		cwnd->quick = now;
	if (cwnd->rtt <= target)
		cwnd_grow(cwnd, count);
	else if (rtt && cwnd_is_queued(cwnd, now))
		cwnd_shrink(cwnd, target, now);
	cwnd_count(cwnd, count, 0, now);
}

void ofi_rdm_cwnd_lost(struct ofi_rdm_cwnd *cwnd, uint64_t now)
{
	cwnd_count(cwnd, 0, 1, now);
}

void ofi_rdm_cwnd_timeout(struct ofi_rdm_cwnd *cwnd, uint64_t now)
{
	cwnd->fresh = false;
	cwnd->cut = now;
	cwnd->before = cwnd->window;
	cwnd_set(cwnd, cwnd->window / 2);
}

void ofi_rdm_cwnd_needless(struct ofi_rdm_cwnd *cwnd)
{
	if (cwnd->window < cwnd->before)
		cwnd->window = cwnd->before;
	cwnd->before = 0;
}

uint64_t ofi_rdm_cwnd_time(const struct ofi_rdm_cwnd *cwnd, uint32_t under_way)
{
	if (!under_way && cwnd->window >= ONE)
		return 0;
	if (!under_way)
		return cwnd->sent + (uint64_t)cwnd->rtt * ONE / cwnd->window;
	return under_way < cwnd->window / ONE ? 0 : OFI_RDM_CWND_NEVER;
}
