/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_THREAD_DOMAIN and FI_THREAD_COMPLETION: messages, RMA and atomics by threads that take turns,
 * one of which sometimes sleeps in fi_cq_sread, while other endpoints connect to theirs and leave,
 * which the library's thread handles.
 */
#include "rdm.h"

#include <pthread.h>
#include <string.h>

enum { WORKERS = 2, VISITS = 5, LARGE = 100000, KINDS = 8, LEAST = 3 * KINDS };
enum { VISIT = 1000, WORK };

static enum fi_threading level;
static struct rdm_pair pair;
static struct fid_mr *mr;
static uint64_t cell, expected;
static uint8_t out[LARGE], in[LARGE];

/* A visitor's endpoint is in another domain if a thread needs a domain of its own. */
static struct fid_domain *visited_from;
static uint64_t visitor, welcomed;
static bool away; /* atomic: no more visits */

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static unsigned int exchanges;	       /* guarded by turn */
static unsigned int seen[2], taken[2]; /* completions of a side */

static void ask(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	hints->domain_attr->threading = level;
}

static void welcome(void)
{
	OK(fi_trecv(pair.side[1].ep, &visitor, 8, NULL, FI_ADDR_UNSPEC, VISIT, 0, &visitor));
}

static void note(int side, const struct fi_cq_tagged_entry *entry)
{
	if (entry->op_context != &visitor) {
		seen[side]++;
		return;
	}
	EQUAL(visitor, welcomed);
	welcomed++;
	welcome();
}

static void look(int side)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(pair.side[side].cq, &entry, 1);

	if (ret == -FI_EAGAIN)
		return;
	RETURNS(ret, 1);
	note(side, &entry);
}

static void take(int side)
{
	uint64_t end = deadline();

	taken[side]++;
	while (seen[side] < taken[side]) {
		look(!side);
		look(side);
		pause_until(end, "a completion");
	}
}

/* Nobody else makes progress, and the other side has nothing to do. */
static void sleep_for(int side)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	taken[side]++;
	while (seen[side] < taken[side]) {
		ret = fi_cq_sread(pair.side[side].cq, &entry, 1, NULL, 100);
		if (ret == 1)
			note(side, &entry);
		else
			RETURNS(ret, -FI_EAGAIN);
		pause_until(end, "what to wake for");
	}
}

static void post_recv(size_t len)
{
	OK(fi_trecv(pair.side[1].ep, in, len, NULL, FI_ADDR_UNSPEC, WORK, 0, in));
}

static void post_send(size_t len)
{
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_tsend(pair.side[0].ep, out, len, NULL, pair.side[0].peer, WORK, out)) ==
	       -FI_EAGAIN) {
		look(0);
		look(1);
		pause_until(end, "room for a message");
	}
	OK(ret);
}

static void message(size_t len, bool late, bool asleep)
{
	if (!late)
		post_recv(len);
	post_send(len);
	if (late) {
		take(0);
		look(1);
		post_recv(len);
	}
	if (asleep)
		sleep_for(1);
	else
		take(1);
	if (!late)
		take(0);
}

static void untagged(void)
{
	OK(fi_recv(pair.side[1].ep, in, 8, NULL, FI_ADDR_UNSPEC, in));
	OK(fi_send(pair.side[0].ep, out, 8, NULL, pair.side[0].peer, out));
	take(0);
	take(1);
}

static void inject(void)
{
	post_recv(8);
	OK(fi_tinject(pair.side[0].ep, out, 8, pair.side[0].peer, WORK));
	take(1);
}

static void write_and_add(void)
{
	uint64_t value = ++expected, one = 1, old = 0;
	struct rdm_side *side = &pair.side[0];

	OK(fi_write(side->ep, &value, 8, NULL, side->peer, (uintptr_t)&cell, fi_mr_key(mr), out));
	take(0);
	OK(fi_fetch_atomic(side->ep, &one, 1, NULL, &old, NULL, side->peer, (uintptr_t)&cell,
			   fi_mr_key(mr), FI_UINT64, FI_SUM, out));
	take(0);
	EQUAL(old, expected);
	expected++;
}

static void exchange(unsigned int number)
{
	size_t len = number % KINDS == 3 ? LARGE : 8;

	fill(out, len, (int)number);
	memset(in, 0, len);
	switch (number % KINDS) {
	case 0:
		inject();
		break;
	case 1:
		untagged();
		break;
	case 2:
		write_and_add();
		return;
	case 4:
		message(len, true, false);
		break;
	case 5:
		message(len, false, true);
		break;
	default:
		message(len, false, false);
		break;
	}
	CHECK_FILLED(in, len, (int)number);
}

static void *work(void *arg)
{
	bool done = false;

	while (!done) {
		OK(pthread_mutex_lock(&turn));
		exchange(exchanges++);
		done = exchanges >= LEAST && __atomic_load_n(&away, __ATOMIC_ACQUIRE);
		OK(pthread_mutex_unlock(&turn));
	}
	return arg;
}

static void visit(uint64_t number, const void *host)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	struct rdm_side side;
	fi_addr_t addr;
	ssize_t ret;

	OK(fi_endpoint(visited_from, pair.info, &side.ep, NULL));
	OK(fi_cq_open(visited_from, &cq_attr, &side.cq, NULL));
	OK(fi_av_open(visited_from, &av_attr, &side.av, NULL));
	OK(fi_ep_bind(side.ep, &side.cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(side.ep, &side.av->fid, 0));
	OK(fi_enable(side.ep));
	RETURNS(fi_av_insert(side.av, host, 1, &addr, 0, NULL), 1);
	while ((ret = fi_tsend(side.ep, &number, 8, NULL, addr, VISIT, &side)) == -FI_EAGAIN)
		pause_until(end, "room for a visitor's message");
	OK(ret);
	while ((ret = fi_cq_read(side.cq, &entry, 1)) == -FI_EAGAIN)
		pause_until(end, "a visitor's completion");
	RETURNS(ret, 1);
	OK(fi_close(&side.ep->fid));
	OK(fi_close(&side.cq->fid));
	OK(fi_close(&side.av->fid));
}

/* With FI_THREAD_COMPLETION the application need not serialize calls of an address vector. */
static void come_and_go(const void *host)
{
	fi_addr_t addr;

	RETURNS(fi_av_insert(pair.side[0].av, host, 1, &addr, 0, NULL), 1);
	OK(fi_av_remove(pair.side[0].av, &addr, 1, 0));
}

static void *travel(void *host)
{
	uint64_t i;

	for (i = 0; i < VISITS; i++) {
		visit(i, host);
		if (level == FI_THREAD_COMPLETION)
			come_and_go(host);
	}
	__atomic_store_n(&away, true, __ATOMIC_RELEASE);
	return NULL;
}

static void run(void)
{
	pthread_t thread[WORKERS + 1];
	uint8_t host[64];
	uint64_t end = deadline();
	size_t len = sizeof(host);
	int i;

	OK(fi_getname(&pair.side[1].ep->fid, host, &len));
	welcome();
	OK(pthread_create(&thread[WORKERS], NULL, travel, host));
	for (i = 0; i < WORKERS; i++)
		OK(pthread_create(&thread[i], NULL, work, NULL));
	for (i = 0; i <= WORKERS; i++)
		OK(pthread_join(thread[i], NULL));
	while (welcomed < VISITS) {
		look(1);
		pause_until(end, "the last visitor's message");
	}
	EQUAL(cell, expected);
}

static void with_level(enum fi_threading threading)
{
	struct rdm_change change = { .hints = ask, .wait = FI_WAIT_FD };
	bool apart = threading == FI_THREAD_DOMAIN;

	level = threading;
	welcomed = cell = expected = exchanges = 0;
	memset(seen, 0, sizeof(seen));
	memset(taken, 0, sizeof(taken));
	away = false;
	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	EQUAL(pair.info->domain_attr->threading, threading);
	visited_from = pair.domain;
	if (apart)
		OK(fi_domain(pair.fabric, pair.info, &visited_from, NULL));
	OK(fi_mr_reg(pair.domain, &cell, 8, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
	run();
	OK(fi_close(&mr->fid));
	if (apart)
		OK(fi_close(&visited_from->fid));
	rdm_close(&pair);
}

static void test(void)
{
	with_level(FI_THREAD_DOMAIN);
	with_level(FI_THREAD_COMPLETION);
}

int main(void)
{
	return run_test(test);
}
