/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two endpoints in a separate process that exchange data and check everything; newcomers. */
#include "hostile.h"

#include <errno.h>
#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "rdm.h"

#ifdef __SANITIZE_ADDRESS__
#define KEPT_KIB (64 << 10) /* freed memory is kept for some time */
#else
#define KEPT_KIB 0
#endif

enum {
	SIZES = 4,
	LARGEST = 60000,
	GUARD = 4096, /* bytes before and behind that nobody may access */
	RMA_LEN = 6000,
	GIFTS = 64,
	CALM_MS = 10000,
	SEED_WINDOW = 901,
	SEED_GUARD = 902,
	SEED_GIFT = 903,
};

static const size_t sizes[SIZES] = { 8, 700, 9000, LARGEST };

enum order_kind { ORDER_REPORT, ORDER_SEND, ORDER_END };

struct order {
	uint32_t kind, len, count;
	struct sockaddr_in to;
};

struct op {
	struct fi_context2 context; /* first */
	bool gift, done;
	size_t len;
};

struct side {
	uint8_t *area; /* guard, window, guard */
	uint8_t *out[SIZES], *in[SIZES], *local;
	struct fid_mr *mr;
	struct op sends[SIZES], recvs[SIZES], other, newcomer;
	uint64_t newcomer_name[2]; /* what a newcomer sends */
	struct sockaddr_in greeting;
};

static struct rdm_pair rdm;
static struct side sides[2];
static struct op gifts[GIFTS];
static uint8_t *gift_area;
static struct pair_report report;
static bool app_keys_wanted;

static void want(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV;
}

/* Sends to attackers may fail; any other failure fails the test. */
static void take(int i, ssize_t ret, const struct fi_cq_tagged_entry *entry)
{
	struct fi_cq_err_entry error = { 0 };
	struct op *op;

	if (ret == 1) {
		op = entry->op_context;
		op->len = entry->len;
	} else {
		RETURNS(ret, -FI_EAVAIL);
		RETURNS(fi_cq_readerr(rdm.side[i].cq, &error, 0), 1);
		op = error.op_context;
		if (!op || !op->gift)
			FAIL("victim %d: an operation failed in round %u: %s", i, report.rounds,
			     fi_strerror(error.err));
	}
	CHECK(op);
	op->done = true;
	if (!op->gift)
		return;
	report.gifts_open--;
	report.gifts_done += ret == 1;
	report.gifts_failed += ret != 1;
}

static void progress(void)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;
	int i;

	for (i = 0; i < 2; i++) {
		ret = fi_cq_read(rdm.side[i].cq, &entry, 1);
		if (ret != -FI_EAGAIN)
			take(i, ret, &entry);
	}
}

static void await(const struct op *op, const char *what)
{
	uint64_t end = deadline();

	for (; !op->done; pause_until(end, what))
		progress();
}

#define AGAIN(op, call)             \
	do {                        \
		(op)->done = false; \
		progress();         \
	} while (again_at(__FILE__, __LINE__, #call, (call)))

/* Returns true if the call must be repeated. */
static bool again_at(const char *file, int line, const char *what, ssize_t ret)
{
	if (ret != -FI_EAGAIN)
		returns_at(file, line, what, ret, 0);
	return ret;
}

static unsigned int seed(int from, int i)
{
	return report.rounds * 16 + (unsigned int)(from * 8 + i);
}

static void post_recvs(int to)
{
	struct side *side = &sides[to];
	int i;

	for (i = 0; i < SIZES; i++) {
		memset(side->in[i], 0xa5, LARGEST);
		AGAIN(&side->recvs[i], fi_trecv(rdm.side[to].ep, side->in[i], LARGEST, NULL,
						rdm.side[to].peer, PAIR_TAG, 0, &side->recvs[i]));
	}
}

static void post_sends(int from)
{
	struct side *side = &sides[from];
	int i, k;

	for (i = 0; i < SIZES; i++) {
		k = (i + (int)report.rounds) % SIZES;
		fill(side->out[i], sizes[k], seed(from, i));
		AGAIN(&side->sends[i], fi_tsend(rdm.side[from].ep, side->out[i], sizes[k], NULL,
						rdm.side[from].peer, PAIR_TAG, &side->sends[i]));
	}
}

static void check_messages(int to)
{
	struct side *side = &sides[to];
	int i, k;

	for (i = 0; i < SIZES; i++) {
		k = (i + (int)report.rounds) % SIZES;
		await(&sides[!to].sends[i], "a victim's send");
		await(&side->recvs[i], "a victim's receive");
		EQUAL(side->recvs[i].len, sizes[k]);
		CHECK_FILLED(side->in[i], sizes[k], seed(!to, i));
		CHECK_FILLED(sides[!to].out[i], sizes[k], seed(!to, i));
	}
}

static uint64_t remote(int of, size_t offset)
{
	return (rdm.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)sides[of].area + GUARD
								 : 0) +
	       offset;
}

/* Behind the first word of a window, which counts rounds. */
static void move_memory(int from)
{
	size_t offset = 64 + report.rounds % 64, len = 100 + report.rounds % RMA_LEN;
	uint64_t key = fi_mr_key(sides[!from].mr);
	struct side *side = &sides[from];
	struct rdm_side *r = &rdm.side[from];

	fill(side->local, len, seed(from, 7));
	AGAIN(&side->other, fi_write(r->ep, side->local, len, NULL, r->peer, remote(!from, offset),
				     key, &side->other));
	await(&side->other, "a victim's write");
	memset(side->local, 0, len);
	AGAIN(&side->other, fi_read(r->ep, side->local, len, NULL, r->peer, remote(!from, offset),
				    key, &side->other));
	await(&side->other, "a victim's read");
	CHECK_FILLED(side->local, len, seed(from, 7));
	CHECK_FILLED(sides[!from].area + GUARD + offset, len, seed(from, 7));
}

static void count_round(int from)
{
	struct side *side = &sides[from];
	struct rdm_side *r = &rdm.side[from];
	uint64_t one = 1, old = ~0ull;

	AGAIN(&side->other,
	      fi_fetch_atomic(r->ep, &one, 1, NULL, &old, NULL, r->peer, remote(!from, 0),
			      fi_mr_key(sides[!from].mr), FI_UINT64, FI_SUM, &side->other));
	await(&side->other, "a victim's atomic operation");
	EQUAL(old, report.rounds);
}

static void check_guards(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		CHECK_FILLED(sides[i].area, GUARD, SEED_GUARD);
		CHECK_FILLED(sides[i].area + GUARD + PAIR_WINDOW, GUARD, SEED_GUARD);
		CHECK_FILLED(sides[i].area + GUARD + PAIR_WINDOW / 2, PAIR_WINDOW / 2, SEED_WINDOW);
	}
	CHECK_FILLED(gift_area, 2 * GUARD + PAIR_GIFT, SEED_GIFT);
}

static void do_round(void)
{
	uint64_t start = now_ms(), took;
	int i;

	for (i = 0; i < 2; i++)
		post_recvs(i);
	for (i = 0; i < 2; i++)
		post_sends(i);
	for (i = 0; i < 2; i++)
		check_messages(i);
	for (i = 0; i < 2; i++) {
		move_memory(i);
		count_round(i);
	}
	check_guards();
	report.rounds++;
	took = now_ms() - start;
	if (took > report.slowest_ms)
		report.slowest_ms = (uint32_t)took;
}

/* A newcomer sends its name, and gets the same name back. */
static void expect_newcomer(int i)
{
	struct side *side = &sides[i];

	AGAIN(&side->newcomer, fi_trecv(rdm.side[i].ep, &side->greeting, sizeof(side->greeting),
					NULL, FI_ADDR_UNSPEC, PAIR_NEW_TAG, 0, &side->newcomer));
}

static void welcome(int i)
{
	struct side *side = &sides[i];
	fi_addr_t addr;
	static struct op op;

	if (!side->newcomer.done)
		return;
	report.strange++;
	if (side->newcomer.len == sizeof(side->greeting)) {
		op.gift = true;
		RETURNS(fi_av_insert(rdm.side[i].av, &side->greeting, 1, &addr, 0, NULL), 1);
		AGAIN(&op, fi_tsend(rdm.side[i].ep, &side->greeting, sizeof(side->greeting), NULL,
				    addr, PAIR_NEW_TAG, &op));
		report.gifts_open++;
	}
	expect_newcomer(i);
}

/* Sends to the attacker what it is supposed to get; whether this succeeds does not matter. */
static void send_gifts(const struct order *order)
{
	struct rdm_side *side = &rdm.side[0];
	fi_addr_t addr;
	uint32_t n;
	int i;

	RETURNS(fi_av_insert(side->av, &order->to, 1, &addr, 0, NULL), 1);
	for (n = i = 0; n < order->count && i < GIFTS; i++) {
		if (gifts[i].gift && !gifts[i].done)
			continue;
		gifts[i] = (struct op){ .gift = true };
		AGAIN(&gifts[i], fi_tsend(side->ep, gift_area + GUARD, order->len, NULL, addr,
					  PAIR_TAG, &gifts[i]));
		report.gifts_open++;
		n++;
	}
}

/*
 * Takes one order at most: a parent that asks again at once, on the same processor, must not keep
 * the victims from their rounds. Returns false at the end.
 */
static bool obey(const struct child *parent)
{
	struct pollfd fd = { .fd = parent->sock, .events = POLLIN };
	struct order order;

	if (poll(&fd, 1, 0) != 1)
		return true;
	child_hear(parent, &order, sizeof(order));
	if (order.kind == ORDER_END)
		return false;
	if (order.kind == ORDER_SEND)
		send_gifts(&order);
	child_say(parent, &report, sizeof(report));
	if (order.kind == ORDER_REPORT)
		report.slowest_ms = 0;
	return true;
}

static void open_side(int i)
{
	struct side *side = &sides[i];
	int k;

	CHECK(side->area = aligned_alloc(4096, 2 * GUARD + PAIR_WINDOW));
	fill(side->area, GUARD, SEED_GUARD);
	fill(side->area + GUARD + PAIR_WINDOW, GUARD, SEED_GUARD);
	memset(side->area + GUARD, 0, PAIR_WINDOW / 2);
	fill(side->area + GUARD + PAIR_WINDOW / 2, PAIR_WINDOW / 2, SEED_WINDOW);
	CHECK(side->local = malloc(LARGEST));
	for (k = 0; k < SIZES; k++) {
		CHECK(side->in[k] = malloc(LARGEST));
		CHECK(side->out[k] = malloc(LARGEST));
	}
	OK(fi_mr_reg(rdm.domain, side->area + GUARD, PAIR_WINDOW, FI_REMOTE_READ | FI_REMOTE_WRITE,
		     0, 0x1000 + (uint64_t)i * 0x777, 0, &side->mr, NULL));
	expect_newcomer(i);
}

static void open_victims(struct pair_facts *facts)
{
	size_t len = sizeof(facts->name[0]);
	int i;

	rdm_open_with(&rdm, app_keys_wanted ? 0 : RDM_PROV_KEYS,
		      &(struct rdm_change){ .hints = want, .wait = FI_WAIT_NONE });
	CHECK(gift_area = aligned_alloc(4096, 2 * GUARD + PAIR_GIFT / 4096 * 4096 + 4096));
	fill(gift_area, 2 * GUARD + PAIR_GIFT, SEED_GIFT);
	memset(facts, 0, sizeof(*facts));
	for (i = 0; i < 2; i++) {
		open_side(i);
		OK(fi_getname(&rdm.side[i].ep->fid, &facts->name[i], &len));
		facts->addr[i] = remote(i, 0);
		facts->key[i] = fi_mr_key(sides[i].mr);
	}
	facts->gift = (uintptr_t)gift_area + GUARD;
}

/* The endpoints are closed with all connections of attackers that are still open. */
static void close_victims(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		OK(fi_close(&rdm.side[i].ep->fid));
		rdm.side[i].ep = NULL;
	}
	for (i = 0; i < 2; i++)
		OK(fi_close(&sides[i].mr->fid));
	rdm_close(&rdm);
}

static void run_victims(struct child *parent, void *arg)
{
	struct pair_facts facts;

	(void)arg;
	open_victims(&facts);
	while (report.rounds < 4)
		do_round();
	report.slowest_ms = 0;
	child_say(parent, &facts, sizeof(facts));
	while (obey(parent)) {
		do_round();
		welcome(0);
		welcome(1);
	}
	check_guards();
	close_victims();
	check_guards();
}

size_t pair_status(const struct victims *victims, const char *name)
{
	unsigned long kib = 0;
	char line[128];
	FILE *file;

	snprintf(line, sizeof(line), "/proc/%d/status", victims->child.pid);
	CHECK(file = fopen(line, "r"));
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			EQUAL(sscanf(line + strlen(name), ": %lu", &kib), 1);
	fclose(file);
	return kib;
}

void pair_start(struct victims *victims, bool app_keys)
{
	memset(victims, 0, sizeof(*victims));
	need_env("WEFT_DEVICE");
	app_keys_wanted = app_keys;
	victims->child = child_start(run_victims, NULL);
	child_hear(&victims->child, &victims->facts, sizeof(victims->facts));
	pair_check(victims, 8);
	victims->rss = pair_status(victims, "RssAnon");
	victims->qps = count_qps();
}

static struct pair_report order(struct victims *victims, const struct order *order)
{
	struct pair_report got;

	child_say(&victims->child, order, sizeof(*order));
	child_hear(&victims->child, &got, sizeof(got));
	return got;
}

struct pair_report pair_check(struct victims *victims, unsigned int rounds)
{
	struct pair_report got = order(victims, &(struct order){ .kind = ORDER_REPORT });
	uint32_t slowest = got.slowest_ms, goal = got.rounds + rounds;

	while (got.rounds < goal) {
		got = order(victims, &(struct order){ .kind = ORDER_REPORT });
		slowest = got.slowest_ms > slowest ? got.slowest_ms : slowest;
	}
	got.slowest_ms = slowest;
	if (slowest > PAIR_ROUND_MS)
		FAIL("a round of the victims took %u ms", slowest);
	return got;
}

void pair_send(struct victims *victims, const struct sockaddr_in *to, uint32_t len, uint32_t count)
{
	order(victims,
	      &(struct order){ .kind = ORDER_SEND, .len = len, .count = count, .to = *to });
}

void pair_end(struct victims *victims, size_t kib)
{
	struct pair_report got;
	uint64_t end = now_ms() + CALM_MS;
	unsigned int qps;
	size_t rss;

	while ((qps = count_qps()) > victims->qps && now_ms() < end)
		sleep_ms(100);
	got = pair_check(victims, 2);
	rss = pair_status(victims, "RssAnon");
	printf("%u rounds, the slowest of late %u ms; %zu KiB, %zu at first; %u queue pairs, %u at first\n",
	       got.rounds, got.slowest_ms, rss, victims->rss, qps, victims->qps);
	kib += KEPT_KIB;
	if (rss > victims->rss + kib)
		FAIL("the victims grew by %zu KiB, more than %zu", rss - victims->rss, kib);
	if (qps > victims->qps)
		FAIL("%u queue pairs are left, there were %u", qps, victims->qps);
	child_say(&victims->child, &(struct order){ .kind = ORDER_END }, sizeof(struct order));
	child_end(&victims->child);
}

static void run_newcomer(struct child *parent, void *arg)
{
	struct sockaddr_in names[2], echo = { 0 };
	struct node node;
	int i;

	(void)arg;
	child_hear(parent, names, sizeof(names));
	node_open(&node, NULL);
	for (i = 0; i < 2; i++) {
		unsigned int failed = 0;

		node_trecv(&node, &echo, sizeof(echo), PAIR_NEW_TAG, NULL);
		node_tsend(&node, &node.name.in, sizeof(node.name.in), node_know(&node, &names[i]),
			   PAIR_NEW_TAG);
		node_reap(&node, 2, &failed);
		EQUAL(failed, 0);
		EQUAL(echo.sin_port, node.name.in.sin_port);
	}
	child_say(parent, "i", 1);
	node_close(&node);
}

struct child newcomer_start(void)
{
	return child_start(run_newcomer, NULL);
}

void newcomer_check(struct child *newcomer, const struct victims *victims, int ms)
{
	struct pollfd fd = { .fd = newcomer->sock, .events = POLLIN };
	uint64_t start = now_ms();
	char word;

	child_say(newcomer, victims->facts.name, sizeof(victims->facts.name));
	if (poll(&fd, 1, ms) != 1)
		FAIL("a genuine peer was not served within %d ms", ms);
	child_hear(newcomer, &word, 1);
	printf("a genuine peer was served after %llu ms\n", (unsigned long long)(now_ms() - start));
	child_end(newcomer);
}
