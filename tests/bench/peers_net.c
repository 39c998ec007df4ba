/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The modeled network between the peers and the receiver, the receiver's time, and the clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "peers.h"

#define LIMIT_NS 600000000000ull /* of simulated time: it does not end */

struct host {
	struct ofi_rdm_due_node due; /* first; when the first packet has left */
	struct peers_tx *first, *last;
};

struct peers peers;

static struct {
	struct ofi_rdm_due due;
	struct host *hosts;
	struct peers_line port, back, requests;
	uint64_t port_busy, back_busy, thread_busy, process_busy; /* until then */
	struct peers_rx receives[VRB_UD_RQ];
	struct peers_rx *spare[VRB_UD_RQ], *arrived[VRB_UD_RQ];
	uint32_t spares;
	uint64_t arrived_head, arrived_tail;
	uint64_t polled, last; /* in us */
} net;

void peers_die(const char *what, uint32_t peer)
{
	fflush(stdout);
	fprintf(stderr, "error: peer %u: %s\n", peer, what);
	exit(1);
}

void *peers_alloc(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		peers_die("out of memory", 0);
	return memory;
}

uint32_t peers_any(uint32_t n)
{
	peers.random ^= peers.random << 13;
	peers.random ^= peers.random >> 7;
	peers.random ^= peers.random << 17;
	return (uint32_t)((peers.random >> 32) * n >> 32);
}

void peers_timer(struct ofi_rdm_due *due, struct ofi_rdm_due_node *node, uint64_t us)
{
	if (us != OFI_RDM_DUE_NEVER && (!node->link || us * 1000 < node->at))
		ofi_rdm_due_set(due, node, us * 1000);
}

static void line_put(struct peers_line *line, struct peers_packet packet)
{
	struct peers_packet *packets = line->packets;
	uint64_t i, size = line->size;

	if (line->head - line->tail == size) {
		line->size = size ? 2 * size : 1024;
		line->packets = peers_alloc(line->size, sizeof(*packets));
		for (i = line->tail; i != line->head; i++)
			line->packets[i % line->size] = packets[i % size];
		free(packets);
	}
	line->packets[line->head++ % line->size] = packet;
}

static struct peers_packet line_take(struct peers_line *line)
{
	return line->packets[line->tail++ % line->size];
}

static uint64_t line_next(const struct peers_line *line)
{
	return line->tail == line->head ? UINT64_MAX : line->packets[line->tail % line->size].at;
}

static uint64_t bytes_ns(uint64_t bytes)
{
	return bytes * PEERS_BYTE / 100;
}

static uint64_t length_ns(const struct peers_packet *packet)
{
	uint64_t bytes = VRB_UD_HEAD;

	if (packet->kind == VRB_UD_SEND)
		bytes = PEERS_MTU;
	else if (packet->kind == VRB_UD_ASK || packet->kind == VRB_UD_ANSWER)
		bytes = PEERS_LETTER;
	return bytes_ns(bytes + PEERS_AROUND);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static bool is_lost(void)
{
	bool lost = peers.loss && peers_any(1000) < peers.loss;

	peers.counts.lost += lost;
	return lost;
}

/* A packet comes to the queue before the receiver's link. */
static void enter_port(struct peers_packet packet)
{
	uint64_t come = peers.now + PEERS_WIRE, start = later(come, net.port_busy);

	if (is_lost())
		return;
	if (start - come > bytes_ns(PEERS_ROOM)) {
		peers.counts.full++;
		return;
	}
	net.port_busy = start + length_ns(&packet);
	packet.at = net.port_busy + PEERS_WIRE;
	line_put(&net.port, packet);
}

static void host_next(struct host *host)
{
	ofi_rdm_due_set(&net.due, &host->due,
			host->first ? peers.now + length_ns(&host->first->packet)
				    : OFI_RDM_DUE_NEVER);
}

static void host_sent(struct host *host)
{
	struct peers_tx *tx = host->first;

	host->first = tx->next;
	host_next(host);
	tx->posted = false;
	enter_port(tx->packet);
	if (tx->done)
		peers_tx_put(tx);
}

void peers_net_post(struct peers_tx *tx)
{
	struct host *host = &net.hosts[tx->packet.peer / PEERS_HOST];

	tx->posted = true;
	tx->next = NULL;
	if (host->first) {
		host->last->next = tx;
		host->last = tx;
		return;
	}
	host->first = host->last = tx;
	host_next(host);
}

void peers_net_answer(struct peers_packet packet)
{
	if (is_lost())
		return;
	net.back_busy = later(net.back_busy, peers.now) + length_ns(&packet);
	packet.at = net.back_busy + 2 * PEERS_WIRE;
	line_put(&net.back, packet);
}

void peers_net_accept(uint32_t peer)
{
	struct peers_packet request = { .peer = peer };

	if (net.requests.head - net.requests.tail == VRB_UD_REQUESTS) {
		peers.counts.requests++;
		return;
	}
	net.thread_busy = later(net.thread_busy, peers.now) + PEERS_ACCEPT_NS;
	request.at = net.thread_busy;
	line_put(&net.requests, request);
}

/* A packet comes to the receiver's device. */
static void receive(void)
{
	struct peers_packet packet = line_take(&net.port);
	struct peers_rx *rx;

	if (!net.spares) {
		peers.counts.overrun++;
		return;
	}
	rx = net.spare[--net.spares];
	rx->packet = packet;
	net.arrived[net.arrived_head++ % VRB_UD_RQ] = rx;
}

void peers_net_repost(struct peers_rx *rx)
{
	net.spare[net.spares++] = rx;
}

/* Receives that are taken, but for those of packets that the process has not seen. */
uint32_t peers_net_kept(void)
{
	return VRB_UD_RQ - net.spares - (uint32_t)(net.arrived_head - net.arrived_tail);
}

void peers_net_spend(uint32_t ns)
{
	net.process_busy += ns;
}

static void poll_device(void)
{
	struct peers_rx *rx;
	int i;

	net.polled = net.last;
	net.last = peers_us();
	net.process_busy = peers.now;
	for (i = 0; i < VRB_UD_BATCH && net.arrived_tail != net.arrived_head; i++) {
		rx = net.arrived[net.arrived_tail++ % VRB_UD_RQ];
		if (!peers_sink_take(rx, net.polled))
			peers_net_repost(rx);
	}
	peers_sink_polled();
}

static void run_sink_timer(void)
{
	net.process_busy = peers.now;
	peers_sink_timer((struct peers_awake *)ofi_rdm_due_first(&peers.sink_timers));
}

static void run_source_timer(void)
{
	peers_source_timer((struct peers_source *)ofi_rdm_due_first(&peers.source_timers));
}

static void run_host(void)
{
	host_sent((struct host *)ofi_rdm_due_first(&net.due));
}

static void take_back(void)
{
	struct peers_packet packet = line_take(&net.back);

	peers_source_take(&packet);
}

static void accept_one(void)
{
	peers_sink_accepted(line_take(&net.requests).peer);
}

static uint64_t due_next(const struct ofi_rdm_due *due)
{
	const struct ofi_rdm_due_node *first = ofi_rdm_due_first(due);

	return first ? first->at : UINT64_MAX;
}

/* Does what comes next. Returns false if nothing does. */
static bool step(void)
{
	const struct {
		uint64_t at;
		void (*run)(void);
	} all[] = {
		{ line_next(&net.port), receive },
		{ net.arrived_tail == net.arrived_head ? UINT64_MAX : net.process_busy,
		  poll_device },
		{ line_next(&net.back), take_back },
		{ due_next(&net.due), run_host },
		{ due_next(&peers.source_timers), run_source_timer },
		{ later(due_next(&peers.sink_timers), net.process_busy), run_sink_timer },
		{ line_next(&net.requests), accept_one },
	};
	size_t i, first = 0;

	for (i = 1; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].at < all[first].at)
			first = i;
	if (all[first].at == UINT64_MAX)
		return false;
	peers.now = later(peers.now, all[first].at);
	all[first].run();
	return true;
}

void peers_net_run(void)
{
	uint64_t until = peers.now + LIMIT_NS;

	while (step())
		if (peers.now > until)
			peers_die("the simulation does not end", 0);
}

void peers_net_open(void)
{
	uint32_t i;

	net.hosts = peers_alloc(peers.count / PEERS_HOST + 1, sizeof(*net.hosts));
	for (i = 0; i < VRB_UD_RQ; i++)
		peers_net_repost(&net.receives[i]);
}

void peers_net_close(void)
{
	free(net.hosts);
	free(net.port.packets);
	free(net.back.packets);
	free(net.requests.packets);
	memset(&net, 0, sizeof(net));
}
