/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The congestion window of one peer: how many packets may be under way to it. Where many send to
 * one, what they send waits somewhere, and round trips take longer: the window grows by a packet a
 * round trip while they are short, and shrinks in proportion to what they take too long, once a
 * round trip and to the half at most.
 *
 *   target    what a round trip may take, as the transport states. Those with smaller windows are
 *             allowed more, up to five times as much, so that senders come to equal shares. Where
 *             even the smallest window does not make them shorter the network is far: then a
 *             quarter more than the shortest round trip of late is allowed.
 *   below 1   a thousand senders have less than a packet each under way: a window of 1/20 is one
 *             packet in 20 round trips.
 *   losses    are no congestion as long as they are few: a wire that loses one packet of a hundred
 *             is not slowed down. More than one of eight, and timeouts, halve the window.
 *
 * It is a state machine: the caller gives the time in microseconds, the round trips that it has
 * measured, and asks before it sends a new packet. What is sent again needs not to ask.
 */
#ifndef OFI_RDM_CWND_H
#define OFI_RDM_CWND_H

#include <stdbool.h>
#include <stdint.h>

#define OFI_RDM_CWND_NEVER UINT64_MAX

enum {
	OFI_RDM_CWND_ONE = 1024, /* a packet: windows have a fraction */
	OFI_RDM_CWND_MIN = 16,
};

/* Of all peers. */
struct ofi_rdm_cwnd_params {
	uint32_t target; /* microseconds, more than a round trip takes where nothing waits */
	uint32_t first;	 /* window in packets, of a peer that nothing is known of */
	uint32_t most;	 /* packets, less than 65536 */
};

struct ofi_rdm_cwnd {
	const struct ofi_rdm_cwnd_params *params;
	uint64_t cut;		 /* when it shrank last */
	uint64_t sent;		 /* the last new packet */
	uint64_t era;		 /* when the shortest round trip is measured anew */
	uint32_t window;	 /* in parts of a packet */
	uint32_t rtt;		 /* the last one; 0: none yet */
	uint32_t least, earlier; /* shortest round trip of this era, and of the one before */
	uint16_t lost, acked;	 /* packets since the losses were looked at */
	uint8_t vain;		 /* round trips that were too long for the smallest window */
	bool fresh;		 /* no round trip was too long yet: it doubles in each */
	bool far;		 /* they are long whatever the window */
};

void ofi_rdm_cwnd_init(struct ofi_rdm_cwnd *cwnd, const struct ofi_rdm_cwnd_params *params);

/* Packets were acknowledged; the round trip was measured, or is 0. */
void ofi_rdm_cwnd_acked(struct ofi_rdm_cwnd *cwnd, uint32_t count, uint32_t rtt, uint64_t now);
/* A packet is sent again since it was lost, others were not. */
void ofi_rdm_cwnd_lost(struct ofi_rdm_cwnd *cwnd, uint64_t now);
/* A packet is sent again since nothing came. */
void ofi_rdm_cwnd_timeout(struct ofi_rdm_cwnd *cwnd, uint64_t now);

/*
 * When a new packet may be sent, where so many are under way: now or earlier if it may, and NEVER
 * if one of these has to arrive first.
 */
uint64_t ofi_rdm_cwnd_when(const struct ofi_rdm_cwnd *cwnd, uint32_t under_way);

static inline void ofi_rdm_cwnd_sent(struct ofi_rdm_cwnd *cwnd, uint64_t now)
{
	cwnd->sent = now;
}

#endif
