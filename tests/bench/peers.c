/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Simulates one endpoint on unreliable datagrams to which many peers send; peers.h says what is
 * modeled. First each peer sends its first message at a random time within a second, then all send
 * bursts at once: with no other trouble, with loss, and to a process that is slower than the link.
 * Prints how long it took, the shares of the peers, what was sent again, and the memory of a peer.
 * Fails if a message is lost, doubled or out of order, or if a bound is not kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "prov/rdm/peer.h"
#include "peers.h"

enum { FEW = 1000, PEERS = 100000 };

/* A part of the run, and its bounds for FEW to PEERS peers. */
struct part {
	const char *name;
	uint32_t every;		   /* one of so many peers takes part */
	uint32_t messages, spread; /* of each of them; of the beginnings, in us */
	uint32_t loss, handle;
	uint32_t time;	 /* at most, in us for each peer, until the last message is delivered */
	double fairness; /* at least */
	double again;	 /* retransmissions of a packet, at most */
};

static const struct part at_once = {
	"first message, all at once", 1, 1, PEERS_BURST_US, 0, PEERS_HANDLE_NS, 150, 1, 0.1
};
static const struct part parts[] = {
	{ "first message", 1, 1, PEERS_SPREAD_US, 0, PEERS_HANDLE_NS, 60, 1, 0.1 },
	{ "burst", 1, 8, PEERS_BURST_US, 0, PEERS_HANDLE_NS, 80, 0.54, 6 },
	{ "burst, 1 % lost", 1, 8, PEERS_BURST_US, 10, PEERS_HANDLE_NS, 100, 0.54, 5 },
	{ "burst, slow process", 1, 8, PEERS_BURST_US, 0, 4 * PEERS_HANDLE_NS, 100, 0.54, 5 },
	{ "long burst of few", 16, 256, PEERS_BURST_US, 0, PEERS_HANDLE_NS, 800, 0.65, 1 },
};

static int failures;

/* Returns the time of the processor, which others may use, too. */
static double clock_s(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

static uint32_t senders(const struct part *part)
{
	return (peers.count + part->every - 1) / part->every;
}

static void open_peers(uint32_t seed)
{
	uint32_t i, first;

	peers.now = 0;
	peers.random = seed * 0x9e3779b97f4a7c15ULL;
	peers.sources = peers_alloc(peers.count, sizeof(*peers.sources));
	peers.sinks = peers_alloc(peers.count, sizeof(*peers.sinks));
	for (i = 0; i < peers.count; i++) {
		first = peers_any(UINT32_MAX);
		peers_source_init(&peers.sources[i], first, 1);
		peers.sinks[i].first = first;
	}
	peers_net_open();
	peers_sink_open();
}

static void close_peers(void)
{
	peers_net_close();
	peers_source_close();
	peers_sink_close();
	free(peers.sources);
	free(peers.sinks);
	peers.source_timers.root = peers.sink_timers.root = NULL;
}

static void begin(const struct part *part)
{
	struct peers_source *source;
	uint64_t at;
	uint32_t i;

	memset(&peers.counts, 0, sizeof(peers.counts));
	peers.loss = part->loss;
	peers.handle = part->handle;
	peers.wanted = (uint64_t)senders(part) * part->messages;
	peers.counts.begun = peers.now;
	for (i = 0; i < peers.count; i++)
		peers.sinks[i].before = peers.sinks[i].delivered;
	for (i = 0; i < peers.count; i += part->every) {
		source = &peers.sources[i];
		source->end += part->messages;
		at = peers_us() + 1 + peers_any(part->spread);
		peers.sinks[i].post = at * 1000;
		peers_timer(&peers.source_timers, &source->due, at);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Prints the times from the first send of a peer to the delivery of its last message. */
static void print_times(const struct part *part)
{
	uint32_t i, n = senders(part);
	uint64_t *times = peers_alloc(n, sizeof(*times));
	const struct peers_sink *sink = peers.sinks;

	for (i = 0; i < n; i++, sink += part->every)
		times[i] = sink->last - sink->post;
	qsort(times, n, sizeof(*times), compare);
	printf("  time of a peer, ms: first %.3f, median %.3f, 99 %% %.3f, last %.3f\n",
	       (double)times[0] / 1e6, (double)times[n / 2] / 1e6,
	       (double)times[(uint64_t)n * 99 / 100] / 1e6, (double)times[n - 1] / 1e6);
	free(times);
}

static void want(bool kept, const char *what)
{
	if (kept || peers.count < FEW || peers.count > PEERS)
		return;
	printf("  not kept: %s\n", what);
	failures++;
}

static void print_counts(const struct peers_counts *c)
{
	printf("  dropped: port %llu, receives %llu, wire %llu, crowded %llu, requests %llu\n"
	       "  packets %llu, letters %llu, acknowledgments %llu, probes %llu, awake %llu\n",
	       (unsigned long long)c->full, (unsigned long long)c->overrun,
	       (unsigned long long)c->lost, (unsigned long long)c->crowded,
	       (unsigned long long)c->requests, (unsigned long long)c->packets,
	       (unsigned long long)c->letters, (unsigned long long)c->acks,
	       (unsigned long long)c->probes, (unsigned long long)c->awake);
}

static void report(const struct part *part)
{
	const struct peers_counts *c = &peers.counts;
	double link = (PEERS_MTU + PEERS_AROUND) * PEERS_BYTE / 100.0, sum = (double)c->sum;
	double ns = (double)(c->last - c->begun), n = senders(part);
	double fairness = part->messages > 1 ? sum * sum / (double)c->squares / n : 1;
	double again = (double)c->again / (double)c->packets;

	printf("  of the link %.3f, fairness %.3f, retransmissions %.3f of a packet, doubles %.3f\n",
	       (double)peers.wanted * link / ns, fairness, again,
	       (double)c->doubles / (double)c->packets);
	print_counts(c);
	want(ns <= 1e3 * (part->time * n + part->spread), "time");
	want(fairness >= part->fairness, "fairness");
	want(again <= part->again, "retransmissions");
}

static void check(void)
{
	uint32_t i;

	for (i = 0; i < peers.count; i++)
		if (peers.sinks[i].delivered != peers.sources[i].end || peers.sources[i].ack.first)
			peers_die("a message is lost", i);
}

static void run(const struct part *part)
{
	double start = clock_s();
	uint32_t awake;

	begin(part);
	peers_net_run();
	awake = peers_sink_rest();
	check();
	printf("%s: %u peers, %u messages of each:\n", part->name, senders(part), part->messages);
	print_times(part);
	report(part);
	printf("  awake afterward %u; simulated in %.1f s\n", awake, clock_s() - start);
	fflush(stdout);
}

static void print_memory(void)
{
	size_t asleep = offsetof(struct vrb_ud_conn, qp) + sizeof(struct vrb_ud_rest);
	size_t peer = sizeof(struct vrb_rc_conn) + sizeof(struct ofi_rdm_peer);

	printf("memory of a peer, bytes:\n"
	       "  modules: acknowledgments %zu, order %zu, window %zu, a packet %zu\n"
	       "  transport: awake %zu, asleep %zu; beside either %zu\n",
	       sizeof(struct ofi_rdm_ack), sizeof(struct ofi_rdm_seq_in),
	       sizeof(struct ofi_rdm_cwnd), sizeof(struct ofi_rdm_ack_node),
	       sizeof(struct vrb_ud_conn), asleep, peer);
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : PEERS, seed = argc > 2 ? atoi(argv[2]) : 1;
	size_t i;

	if (argc > 3 || seed < 1 || count < 1 || count > 10 * PEERS) {
		fprintf(stderr, "Usage: %s [PEERS [SEED]]\n", argv[0]);
		return 2;
	}
	peers.count = (uint32_t)count;
	open_peers((uint32_t)seed);
	run(&at_once);
	close_peers();
	open_peers((uint32_t)seed);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		run(&parts[i]);
	close_peers();
	print_memory();
	printf("%.1f s of the processor\n", clock_s());
	return failures ? 1 : 0;
}
