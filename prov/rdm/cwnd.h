/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The congestion window of one peer: the number of packets that may be in flight to it. If many
 * senders transmit to one receiver, packets are queued somewhere and round trips take longer. The
 * window grows by a packet per round trip while these are short. When they are too long, it shrinks
 * in proportion to the excess, at most once per round trip and at most by half.
 *
 *   target    the allowed duration of a round trip, stated by the transport. Senders with smaller
 *             windows are allowed more, up to five times as much, so that senders converge to
 *             equal shares. If even the smallest window does not shorten the round trips, the
 *             network is far: then a round trip may take 5/4 of the recent shortest one, plus the
 *             target.
 *   below 1   a thousand senders have less than one packet each in flight: a window of 1/20 is one
 *             packet in 20 round trips.
 *   noise     where processes or interrupts are late now and then, some round trips are short and
 *             some long. A full queue makes all of them long, so the window does not shrink if one
 *             was short within the last two round-trip times.
 *   losses    are not taken as congestion while they are rare: a link that loses one packet of a
 *             hundred is not slowed down. More than one of eight, and timeouts, halve the window. A
 *             timeout that turns out to have been too early is undone.
 *
 * It is a state machine: the caller supplies the time in microseconds and the measured round-trip
 * times, and asks before it sends a new packet. Retransmissions need no permission.
 */
#ifndef OFI_RDM_CWND_H
#define OFI_RDM_CWND_H

#include <stdbool.h>
#include <stdint.h>

#define OFI_RDM_CWND_NEVER UINT64_MAX

enum {
	OFI_RDM_CWND_ONE = 1024, /* one packet: windows have a fractional part */
	OFI_RDM_CWND_MIN = 16,
};

/* Parameters for all peers. */
struct ofi_rdm_cwnd_params {
	uint32_t target; /* in microseconds, more than an unqueued round trip takes */
	uint32_t first;	 /* initial window in packets */
	uint32_t most;	 /* largest window in packets, less than 65536 */
};

struct ofi_rdm_cwnd {
	const struct ofi_rdm_cwnd_params *params;
	uint64_t cut;		 /* time when it last shrank */
	uint64_t sent;		 /* time of the last new packet */
	uint64_t quick;		 /* time of the last round trip that was not too long */
	uint64_t era;		 /* when the shortest round-trip time is measured again */
	uint32_t window;	 /* in fractions of a packet */
	uint32_t rtt;		 /* the last round-trip time; 0 for none yet */
	uint32_t least, earlier; /* shortest round-trip time of this era, and of the previous one */
	uint32_t before; /* the window before the last timeout; 0 if something else has cut it */
	uint8_t lost, acked; /* packets since losses were last evaluated */
	uint8_t vain : 6;    /* round trips that were too long with the smallest window */
	bool fresh : 1;	     /* no round trip was too long yet: the window doubles in each */
	bool far : 1;	     /* round trips are long whatever the window */
};

void ofi_rdm_cwnd_init(struct ofi_rdm_cwnd *cwnd, const struct ofi_rdm_cwnd_params *params);

/* Records that packets were acknowledged; rtt is the measured round-trip time, or 0. */
void ofi_rdm_cwnd_acked(struct ofi_rdm_cwnd *cwnd, uint32_t count, uint32_t rtt, uint64_t now);
/* Records that a packet is retransmitted because it was lost while others arrived. */
void ofi_rdm_cwnd_lost(struct ofi_rdm_cwnd *cwnd, uint64_t now);
/* Records that a packet is retransmitted because nothing arrived. */
void ofi_rdm_cwnd_timeout(struct ofi_rdm_cwnd *cwnd, uint64_t now);
/* Records that the packets that were retransmitted last were not lost: the peer was just late. */
void ofi_rdm_cwnd_needless(struct ofi_rdm_cwnd *cwnd);

/*
 * Returns when a new packet may be sent if that many are in flight: a time that is not after now if
 * at once, NEVER if one of them must arrive first.
 */
uint64_t ofi_rdm_cwnd_time(const struct ofi_rdm_cwnd *cwnd, uint32_t under_way);

static inline void ofi_rdm_cwnd_sent(struct ofi_rdm_cwnd *cwnd, uint64_t now)
{
	cwnd->sent = now;
}

#endif
