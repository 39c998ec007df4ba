/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The steps at which a peer stops. The victim proceeds to the step and stops itself, so the
 * operations in flight are known; the test's own process posts them.
 */
#include "rdm_points.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "rdm.h"
#include "rdm_node.h"

enum { MOST = 300, LARGE = 5 << 20, HELLO = 1, OP = 2, PING = 3 };
enum { STOP_MS = 60, TIMEOUT_MS = 2000, SPARES = 4 };

struct card {
	struct node_name name;
	uint64_t addr, key;
};

struct scene;

struct point {
	const char *name;
	unsigned int count; /* operations */
	unsigned int fail;  /* at least this many fail when the peer is killed */
	size_t len;
	bool stranger;					/* the peer is not connected before */
	void (*begin)(struct scene *s, unsigned int i); /* each operation, before the peer stops */
	void (*act)(struct scene *s, unsigned int i);	/* or when it has stopped */
	void (*victim)(struct scene *s);		/* until it stops */
	bool received;					/* by the peer, when it continues */
	bool halfway;	  /* it is killed when part of it has arrived here */
	bool late;	  /* it is killed before */
	unsigned int fit; /* with FI_VERBS_SHM: as many are in its memory when it is killed */
};

struct scene {
	const struct point *point;
	struct node node;
	struct card card; /* the victim's */
	fi_addr_t to, other;
	unsigned int done, failed, seen[MOST], pings;
};

static char out[LARGE], in[LARGE];
static uint64_t olds[MOST], one = 1;
static bool killed;
/* Shared with the victims: the one that was to stop halfway had everything when it stopped. */
static bool *missed;

/* Both sides. */

static void *context_of(struct scene *s, unsigned int i)
{
	return &s->seen[i];
}

static void send_one(struct scene *s, unsigned int i)
{
	OK(fi_tsend(s->node.ep, out, s->point->len, NULL, s->to, OP, context_of(s, i)));
}

static void receive_one(struct scene *s, unsigned int i)
{
	OK(fi_trecv(s->node.ep, in, s->point->len, NULL, FI_ADDR_UNSPEC, OP, 0, context_of(s, i)));
}

static void write_one(struct scene *s, unsigned int i)
{
	OK(fi_write(s->node.ep, out, s->point->len, NULL, s->to, s->card.addr, s->card.key,
		    context_of(s, i)));
}

static void read_one(struct scene *s, unsigned int i)
{
	OK(fi_read(s->node.ep, in, s->point->len, NULL, s->to, s->card.addr, s->card.key,
		   context_of(s, i)));
}

static void add_one(struct scene *s, unsigned int i)
{
	OK(fi_fetch_atomic(s->node.ep, &one, 1, NULL, &olds[i], NULL, s->to, s->card.addr,
			   s->card.key, FI_UINT64, FI_SUM, context_of(s, i)));
}

/* Takes at most one completion: of an operation, once, or of a ping. */
static void poll_once(struct scene *s)
{
	struct fi_cq_tagged_entry entry;
	size_t i;
	int err;

	if (!node_poll(&s->node, &entry, &err))
		return;
	if (entry.op_context == &s->pings) {
		EQUAL(err, 0);
		s->pings--;
		return;
	}
	i = (size_t)((unsigned int *)entry.op_context - s->seen);
	CHECK(i < s->point->count);
	EQUAL(s->seen[i]++, 0);
	s->done++;
	s->failed += !!err;
}

/* The victim. */

/* Part of a large message has arrived, but not all of it. */
static void until_half(struct scene *s)
{
	uint64_t end = deadline();

	receive_one(s, 0);
	while (!*(volatile char *)&in[0]) {
		poll_once(s);
		pause_until(end, "the first bytes");
	}
	/* The device may finish while this thread does not run. */
	*missed = s->done;
}

static void announce(struct scene *s)
{
	uint64_t end = now_ms() + TIMEOUT_MS / 2;

	send_one(s, 0);
	/* Unless the device does, the process sends a packet again that gets lost or is refused. */
	while (strcmp(rdm_transport(), "rc") && !s->done && now_ms() < end)
		poll_once(s);
}

static bool is_told(const struct child *parent)
{
	char word;

	return recv(parent->sock, &word, 1, MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

static void finish(struct scene *s)
{
	uint64_t end = deadline();

	while (s->done < s->point->count) {
		poll_once(s);
		pause_until(end, "the last message");
	}
}

static void victim(struct child *parent, void *arg)
{
	static struct scene s;
	struct node_name name;
	struct fid_mr *mr;
	unsigned int i;
	char byte;

	s.point = arg;
	child_hear(parent, &name, sizeof(name));
	node_open(&s.node, NULL);
	s.to = node_know(&s.node, &name);
	OK(fi_mr_reg(s.node.domain, in, s.point->len, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0,
		     &mr, NULL));
	s.card = (struct card){ s.node.name, (uintptr_t)in, fi_mr_key(mr) };
	if (!s.point->stranger)
		node_trecv(&s.node, &byte, 1, HELLO, NULL);
	child_say(parent, &s.card, sizeof(s.card));
	if (!s.point->stranger)
		node_wait(&s.node);
	fill(out, s.point->len, 1);
	if (s.point->victim)
		s.point->victim(&s);
	raise(SIGSTOP);
	for (i = 0; i < s.point->count && s.point->received; i++) {
		if (s.point->victim != until_half)
			receive_one(&s, i);
	}
	for (; !is_told(parent); sleep_ms(s.done < s.point->count ? 0 : 1))
		poll_once(&s);
	/* What the peer's device has acknowledged may not have been processed yet. */
	if (s.point->received || s.point->victim == announce)
		finish(&s);
	EQUAL(s.failed, 0);
	OK(fi_close(&mr->fid));
	node_close(&s.node);
}

/* The test. */

static const struct point points[] = {
	{ "connecting", 3, 3, 300, .stranger = true, .act = send_one, .received = true },
	{ "eager in flight", 40, 20, 300, .act = send_one, .received = true, .fit = 40 },
	{ "segmented half done", 10, 5, 15000, .act = send_one, .received = true },
	{ "rendezvous read half done", 1, 1, LARGE, .begin = send_one, .victim = until_half,
	  .received = true },
	{ "our own rendezvous read", 1, 0, LARGE, .begin = receive_one, .victim = announce,
	  .halfway = true },
	{ "FIN outstanding", 1, 0, 1 << 20, .begin = receive_one, .victim = announce },
	{ "RMA write", 4, 4, 1 << 20, .act = write_one, .late = true },
	{ "RMA read", 4, 0, 1 << 20, .act = read_one },
	{ "atomic", 5, 5, 8, .act = add_one },
	{ "waiting for credits", MOST, 200, 100, .act = send_one, .received = true, .fit = 160 },
};

/* With FI_VERBS_RDM_USE_WRITE. */
static const struct point write_points[] = {
	{ "rendezvous write half done", 1, 0, LARGE, .begin = send_one, .victim = until_half,
	  .received = true },
	{ "rendezvous write to come", 1, 1, LARGE, .act = send_one, .received = true },
};

static const struct point *table;
static size_t table_size;

/* Sends back what it receives until it is told to end. */
static void echo(struct child *parent, void *arg)
{
	struct node_name name;
	static struct node node;
	uint64_t word;
	fi_addr_t to;
	int err;

	(void)arg;
	child_hear(parent, &name, sizeof(name));
	node_open(&node, NULL);
	to = node_know(&node, &name);
	child_say(parent, &node.name, sizeof(node.name));
	node_trecv(&node, &word, sizeof(word), PING, NULL);
	while (!is_told(parent)) {
		struct fi_cq_tagged_entry entry;

		if (!node_poll(&node, &entry, &err)) {
			sleep_ms(1);
			continue;
		}
		EQUAL(err, 0);
		OK(fi_tinject(node.ep, &word, sizeof(word), to, PING));
		node_trecv(&node, &word, sizeof(word), PING, NULL);
	}
	node_close(&node);
}

/* The other peer answers, whatever the victim does. */
static void ping(struct scene *s)
{
	uint64_t end = deadline(), word = now_ms(), back = 0;

	s->pings = 1;
	OK(fi_trecv(s->node.ep, &back, sizeof(back), NULL, FI_ADDR_UNSPEC, PING, 0, &s->pings));
	OK(fi_tinject(s->node.ep, &word, sizeof(word), s->other, PING));
	while (s->pings) {
		poll_once(s);
		pause_until(end, "the other peer");
	}
	EQUAL(back, word);
}

static bool is_halfway(const struct scene *s)
{
	return s->point->halfway && *(volatile char *)&in[0];
}

static void wait_stopped(struct scene *s, const struct child *child)
{
	uint64_t end = deadline();
	int status = 0;

	while (waitpid(child->pid, &status, WUNTRACED | WNOHANG) != child->pid) {
		if (!killed || !is_halfway(s))
			poll_once(s);
		pause_until(end, "the peer to stop");
	}
	CHECK(WIFSTOPPED(status));
	while (killed && s->point->halfway && !is_halfway(s)) {
		poll_once(s);
		pause_until(end, "the first bytes");
	}
}

static void reap(struct scene *s)
{
	uint64_t end = deadline();

	while (s->done < s->point->count) {
		poll_once(s);
		pause_until(end, "every operation");
	}
}

static void meet(struct scene *s, struct child *child)
{
	unsigned int failed = 0;

	s->done = s->failed = 0;
	memset(s->seen, 0, sizeof(s->seen));
	in[0] = 0;
	child_say(child, &s->node.name, sizeof(s->node.name));
	child_hear(child, &s->card, sizeof(s->card));
	s->to = node_know(&s->node, &s->card.name);
	if (s->point->stranger)
		return;
	node_tsend(&s->node, out, 1, s->to, HELLO);
	node_reap(&s->node, 1, &failed);
	EQUAL(failed, 0);
}

static void go_on(struct scene *s, struct child *child)
{
	uint64_t end = now_ms() + STOP_MS;

	for (; now_ms() < end; sleep_ms(1))
		poll_once(s);
	EQUAL(s->failed, 0);
	CHECK(!kill(child->pid, SIGCONT));
	reap(s);
	EQUAL(s->failed, 0);
	ping(s);
	/* It may have to receive what was sent. */
	sleep_ms(20);
	child_say(child, "e", 1);
	child_end(child);
}

/* Returns true if as many operations failed as could not be done. */
static bool enough_failed(const struct scene *s)
{
	const char *shm = getenv("FI_VERBS_SHM");

	return s->failed + (shm && atoi(shm) ? s->point->fit : 0) >= s->point->fail;
}

/* Returns whether the victim stopped where it was to stop. */
static bool run_point(struct scene *s, struct child *child)
{
	const struct point *point = s->point;
	uint64_t start = now_ms();
	unsigned int i;

	*missed = false;
	meet(s, child);
	for (i = 0; i < point->count && point->begin; i++)
		point->begin(s, i);
	wait_stopped(s, child);
	if (killed && point->late)
		child_kill(child);
	for (i = 0; i < point->count && point->act; i++)
		point->act(s, i);
	if (killed) {
		if (!point->late)
			child_kill(child);
		ping(s);
		reap(s);
		/* The event thread may have finished it before the victim stopped. */
		*missed |= point->victim == until_half && !enough_failed(s);
		CHECK(*missed || enough_failed(s));
		ping(s);
	} else {
		ping(s);
		go_on(s, child);
	}
	OK(fi_av_remove(s->node.av, &s->to, 1, 0));
	node_silent(&s->node, 5);
	printf("%s: %u of %u failed, %llu ms\n", point->name, s->failed, point->count,
	       (unsigned long long)(now_ms() - start));
	CHECK(now_ms() - start < 10 * TIMEOUT_MS);
	return !killed || !*missed;
}

/* A victim that missed its step is replaced. */
static void run_tries(struct scene *s, struct child *child, struct child *spares)
{
	bool hit = run_point(s, child);
	size_t i;

	for (i = 0; i < SPARES && s->point->victim == until_half; i++) {
		if (hit)
			child_kill(&spares[i]);
		else
			hit = run_point(s, &spares[i]);
	}
	CHECK(hit);
}

static void start_victims(struct child *children, struct child *spares)
{
	size_t i, n;

	for (i = 0; i < table_size; i++) {
		children[i] = child_start(victim, (void *)&table[i]);
		for (n = 0; n < SPARES && table[i].victim == until_half; n++)
			spares[n] = child_start(victim, (void *)&table[i]);
	}
}

static void test(void)
{
	static struct scene s;
	struct child children[ARRAY_SIZE(points)], spares[SPARES], other;
	struct node_name name;
	size_t i;

	other = child_start(echo, NULL);
	start_victims(children, spares);
	memset(out, 1, LARGE);
	node_open(&s.node, NULL);
	child_say(&other, &s.node.name, sizeof(s.node.name));
	child_hear(&other, &name, sizeof(name));
	s.other = node_know(&s.node, &name);
	for (i = 0; i < table_size; i++) {
		s.point = &table[i];
		/* Nothing arrives from a peer that has stopped, unless its device does RDMA. */
		if (killed && table[i].halfway && strcmp(rdm_transport(), "rc"))
			child_kill(&children[i]);
		else
			run_tries(&s, &children[i], spares);
	}
	child_say(&other, "e", 1);
	child_end(&other);
	node_close(&s.node);
}

/* The queue pairs of killed processes are gone, too. */
static void none_left(unsigned int before)
{
	uint64_t end = deadline();

	while (count_qps() > before) {
		sleep_ms(20);
		pause_until(end, "no queue pairs");
	}
}

static int run_table(const struct point *which, size_t size, const char *use_write)
{
	unsigned int before;
	int ret;

	setenv("FI_VERBS_RDM_USE_WRITE", use_write, 1);
	table = which;
	table_size = size;
	before = count_qps();
	ret = run_test(test);
	if (!ret)
		none_left(before);
	return ret;
}

int points_run(bool kill)
{
	int ret;

	killed = kill;
	missed = mmap(NULL, sizeof(*missed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	CHECK(missed != MAP_FAILED);
	setenv("FAKE_EFA_ORDER", "1", 1);
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "2000", 1);
	setenv("FI_VERBS_RDM_RX_BUFFERS", "16", 1);
	setenv("FI_VERBS_RDM_BUFFER_SIZE", "4096", 1);
	setenv("FI_VERBS_RDM_SEGMENTED_SIZE", "16384", 1);
	need_env("WEFT_DEVICE");
	ret = run_table(points, ARRAY_SIZE(points), "0");
	return ret ? ret : run_table(write_points, ARRAY_SIZE(write_points), "1");
}
