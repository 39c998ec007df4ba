/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tests hellos with schedules driven by a seed: two endpoints that restart, a network that loses,
 * duplicates, delays and reorders packets, and an attacker that sends recorded and invented
 * packets. An incarnation begins once with each incarnation of the other endpoint, never after a
 * later one, and in the end both know each other. WEFT_SEEDS=N runs N schedules, whose codes are no
 * HMAC; those of the job secret are tested apart.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>
#include "prov/rdm/hello.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/rdm/secret.h"

enum { WIRE = 32, RECORDS = 8, STEPS = 30, LIVES = 32 };

struct packet {
	int dst;
	uint64_t from, to; /* incarnations */
	uint64_t acks;	   /* the incarnation of the receiver that the sender has accepted, or 0 */
	size_t len;	   /* 0: no hello */
	uint8_t bytes[OFI_RDM_HELLO_MAX];
};

struct node {
	struct ofi_rdm_hello_self self;
	struct ofi_rdm_hello_peer peer;
	uint64_t lives[LIVES]; /* its incarnations in order */
	int life;
	int begun; /* the life of the other node that it accepted last, or -1 */
};

static struct {
	uint64_t random;
	bool lossy;
	struct node nodes[2];
	struct packet wire[WIRE], records[RECORDS];
	uint32_t used; /* bit i: wire[i] is */
	int recorded;
	uint64_t met, same, answers, foreign, replaced;
} w;

static const uint64_t keys[] = { 11, 22, 33 };

static uint32_t any_of(uint32_t n)
{
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return (uint32_t)((w.random >> 32) * n >> 32);
}

static void quick_mac(const void *key, const char *label, const void *bytes, size_t len,
		      uint8_t *mac)
{
	uint64_t sum = *(const uint64_t *)key ^ (uint64_t)(uint8_t)label[10] << 56, word;
	size_t i;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, (const char *)bytes + i, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
		sum ^= sum >> 29;
	}
	for (i = 0; i < OFI_RDM_HELLO_MAC; i += sizeof(sum))
		memcpy(mac + i, &sum, sizeof(sum));
}

static struct ofi_rdm_hello_path path_to(int dst)
{
	struct ofi_rdm_hello_path path = { .from = { (uint8_t)!dst }, .to = { (uint8_t)dst } };

	return path;
}

static void start_node(int n)
{
	struct node *node = &w.nodes[n], *other = &w.nodes[!n];

	node->life++;
	node->begun = -1;
	node->lives[node->life] = (uint64_t)any_of(UINT32_MAX) << 32 | any_of(UINT32_MAX) | 1;
	node->self.incarnation = node->lives[node->life];
	/* It knows a current or outdated incarnation of the other node, or none. */
	memset(&node->peer, 0, sizeof(node->peer));
	if (other->life >= 0 && any_of(4))
		node->peer.known = other->lives[any_of(3) ? (uint32_t)other->life
							  : any_of((uint32_t)other->life + 1)];
}

static void put_on_wire(const struct packet *p)
{
	uint32_t i = any_of(WIRE);

	if (w.used >> i & 1 || (w.lossy && !any_of(5)))
		return;
	w.wire[i] = *p;
	w.used |= 1u << i;
	if (!any_of(4))
		w.records[w.recorded++ % RECORDS] = *p;
}

static struct packet new_packet(int n)
{
	const struct node *node = &w.nodes[n];
	struct packet p = {
		.dst = !n,
		.from = node->self.incarnation,
		.to = node->peer.known,
		.acks = node->peer.met ? node->peer.known : 0,
	};

	return p;
}

static void send_data(int n)
{
	struct ofi_rdm_hello_path path = path_to(!n);
	struct packet p = new_packet(n);

	if (ofi_rdm_hello_is_due(&w.nodes[n].peer))
		p.len = ofi_rdm_hello_build(&w.nodes[n].self, &w.nodes[n].peer, 7, &path, p.bytes);
	put_on_wire(&p);
	if (!any_of(6))
		put_on_wire(&p);
}

static void answer(int n, const struct ofi_rdm_hello *came, size_t len)
{
	struct ofi_rdm_hello_path path = path_to(!n);
	struct packet p = new_packet(n);

	w.answers++;
	p.to = came->from;
	p.len = ofi_rdm_hello_answer(&w.nodes[n].self, &w.nodes[n].peer, 7, came, &path, p.bytes);
	assert_true(p.len <= len);
	put_on_wire(&p);
}

static int life_of(const struct node *node, uint64_t incarnation)
{
	int life = node->life;

	while (life >= 0 && node->lives[life] != incarnation)
		life--;
	assert_true(life >= 0);
	return life;
}

/* Notes that the peer has accepted a hello of this incarnation. */
static void hear(int n, const struct packet *p)
{
	struct node *node = &w.nodes[n];

	if (node->peer.met && p->from == node->peer.known && p->acks == node->self.incarnation)
		node->peer.acked = true;
}

static void arrive_plain(int n, const struct packet *p)
{
	struct node *node = &w.nodes[n];
	struct ofi_rdm_hello_path path = path_to(!n);
	struct packet ours;

	if (node->peer.met && p->from == node->peer.known && p->to == node->self.incarnation) {
		hear(n, p);
		return;
	}
	/* The sender knows another incarnation of this node, which introduces itself. */
	ours = new_packet(n);
	ours.len = ofi_rdm_hello_build(&node->self, &node->peer, 7, &path, ours.bytes);
	put_on_wire(&ours);
}

static void begin(int n, const struct ofi_rdm_hello *hello)
{
	int life = life_of(&w.nodes[!n], hello->from);

	assert_true(life > w.nodes[n].begun);
	w.replaced += w.nodes[n].begun >= 0;
	w.nodes[n].begun = life;
	w.met++;
}

static void arrive(const struct packet *p)
{
	struct ofi_rdm_hello_path path = path_to(p->dst);
	struct node *node = &w.nodes[p->dst];
	enum ofi_rdm_hello_verdict verdict;
	struct ofi_rdm_hello hello;
	size_t used = 0;

	if (!p->len) {
		arrive_plain(p->dst, p);
		return;
	}
	verdict = ofi_rdm_hello_take(&node->self, &node->peer, &path, p->bytes, p->len, &hello,
				     &used);
	switch (verdict) {
	case OFI_RDM_HELLO_NEW:
		begin(p->dst, &hello);
		break;
	case OFI_RDM_HELLO_SAME:
		w.same++;
		assert_int_equal(life_of(&w.nodes[!p->dst], hello.from), node->begun);
		break;
	case OFI_RDM_HELLO_ANSWER:
		answer(p->dst, &hello, p->len);
		return;
	default:
		assert_int_equal(verdict, OFI_RDM_HELLO_FOREIGN);
		w.foreign++;
		return;
	}
	assert_int_equal(used, p->len);
	assert_true(hello.to == node->self.incarnation && hello.first == 7);
	if (hello.cookie)
		answer(p->dst, &hello, p->len);
	hear(p->dst, p);
}

static bool arrive_any(void)
{
	uint32_t at = any_of(WIRE), from = w.used >> at << at;
	struct packet p;

	if (!w.used)
		return false;
	at = (uint32_t)__builtin_ctz(from ? from : w.used);
	p = w.wire[at];
	w.used &= ~(1u << at);
	arrive(&p);
	return true;
}

/* Replays a recorded packet, or sends a hello made with another secret. */
static void attack(void)
{
	int n = (int)any_of(2);
	struct ofi_rdm_hello_self foe = w.nodes[!n].self;
	struct ofi_rdm_hello_peer peer = { .known = w.nodes[n].self.incarnation };
	struct ofi_rdm_hello_path path = path_to(n);
	struct packet p = { .dst = n };

	if (any_of(3)) {
		if (w.recorded)
			arrive(&w.records[any_of(
				(uint32_t)(w.recorded < RECORDS ? w.recorded : RECORDS))]);
		return;
	}
	foe.secret = &keys[2];
	foe.incarnation += any_of(2);
	p.len = ofi_rdm_hello_build(&foe, &peer, 7, &path, p.bytes);
	arrive(&p);
}

static bool all_know(void)
{
	int n;

	for (n = 0; n < 2; n++) {
		if (!w.nodes[n].peer.met || !w.nodes[n].peer.acked ||
		    w.nodes[n].peer.known != w.nodes[!n].self.incarnation)
			return false;
	}
	return true;
}

static void settle(void)
{
	int rounds;

	w.lossy = false;
	for (rounds = 0; !all_know(); rounds++) {
		assert_true(rounds < 64);
		send_data(0);
		send_data(1);
		arrive_any();
		while (arrive_any())
			;
	}
}

static void start_world(uint64_t seed)
{
	int n;

	w.random = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	w.used = 0;
	w.recorded = 0;
	w.lossy = true;
	for (n = 0; n < 2; n++) {
		w.nodes[n].life = -1;
		w.nodes[n].self = (struct ofi_rdm_hello_self){
			.mac = quick_mac, .secret = &keys[0], .cookies = &keys[1], .eager = 100
		};
	}
	start_node(0);
	start_node(1);
}

static void run(uint64_t seed)
{
	int i;

	start_world(seed);
	for (i = 0; i < STEPS; i++) {
		if (any_of(2))
			arrive_any();
		else
			send_data((int)any_of(2));
		if (!any_of(8))
			attack();
		if (!any_of(12))
			start_node((int)any_of(2));
	}
	settle();
	for (i = 0; i < 4; i++)
		attack();
	assert_true(all_know());
}

static void test_schedules(void **state)
{
	const char *seeds = getenv("WEFT_SEEDS");
	uint64_t seed, count = seeds ? strtoull(seeds, NULL, 0) : 500000;

	(void)state;
	for (seed = 0; seed < count; seed++)
		run(seed);
	print_message(
		"met %llu, in place of another %llu, again %llu, answers %llu, foreign %llu\n",
		(unsigned long long)w.met, (unsigned long long)w.replaced,
		(unsigned long long)w.same, (unsigned long long)w.answers,
		(unsigned long long)w.foreign);
	assert_true(count < 100 || (w.met && w.replaced && w.same && w.answers && w.foreign));
}

/* Two endpoints that know each other's names and use HMAC. */
struct pair {
	struct vrb_rdm_secret *secret, *cookies;
	struct ofi_rdm_hello_self a, b;
	struct ofi_rdm_hello_peer at_a, at_b;
	struct ofi_rdm_hello_path path;
	struct ofi_rdm_hello hello;
	uint8_t bytes[OFI_RDM_HELLO_MAX];
	size_t len, used;
};

static struct vrb_rdm_secret *new_secret(const char *key)
{
	struct fi_ep_attr ep = { .auth_key = (uint8_t *)(uintptr_t)key,
				 .auth_key_size = strlen(key) };
	struct fi_domain_attr domain = { .auth_key_size = 0 };
	struct fi_info info = { .ep_attr = &ep, .domain_attr = &domain };
	struct vrb_rdm_secret *secret;

	assert_int_equal(vrb_rdm_secret_open(&info, &info, &secret), 0);
	return secret;
}

static void secret_mac(const void *key, const char *label, const void *bytes, size_t len,
		       uint8_t *mac)
{
	vrb_rdm_secret_mac(key, label, bytes, len, mac);
}

static int open_pair(void **state)
{
	static struct pair p;

	memset(&p, 0, sizeof(p));
	p.secret = new_secret("a key");
	p.cookies = new_secret("random bytes");
	p.a = (struct ofi_rdm_hello_self){ .incarnation = 1000,
					   .mac = secret_mac,
					   .secret = p.secret,
					   .cookies = p.cookies,
					   .eager = 4000,
					   .caps = OFI_RDM_HELLO_RMA_EVENTS };
	p.b = p.a;
	p.b.incarnation = 2000;
	p.at_a.known = 2000;
	p.at_b.known = 1000;
	*state = &p;
	return 0;
}

static int close_pair(void **state)
{
	struct pair *p = *state;

	vrb_rdm_secret_close(p->secret);
	vrb_rdm_secret_close(p->cookies);
	return 0;
}

static void build(struct pair *p)
{
	p->len = ofi_rdm_hello_build(&p->a, &p->at_a, 77, &p->path, p->bytes);
}

static enum ofi_rdm_hello_verdict take(struct pair *p)
{
	return ofi_rdm_hello_take(&p->b, &p->at_b, &p->path, p->bytes, p->len, &p->hello, &p->used);
}

/* The first packet is accepted at once, and so are the following ones. */
static void test_first(void **state)
{
	struct pair *p = *state;
	size_t hello;

	build(p);
	assert_int_equal(p->len, OFI_RDM_HELLO_MAX);
	assert_int_equal(take(p), OFI_RDM_HELLO_NEW);
	assert_int_equal(p->used, p->len);
	assert_true(p->at_b.met && p->at_b.known == 1000 && p->at_b.eager == 4000);
	assert_int_equal(p->hello.first, 77);
	assert_int_equal(p->at_b.caps, OFI_RDM_HELLO_SECRET | OFI_RDM_HELLO_RMA_EVENTS);
	assert_int_equal(take(p), OFI_RDM_HELLO_SAME);
	/* Without a secret the hello is shorter. Data follows it. */
	p->a.secret = p->b.secret = NULL;
	memset(&p->at_b, 0, sizeof(p->at_b));
	build(p);
	hello = p->len;
	p->len = sizeof(p->bytes);
	assert_int_equal(take(p), OFI_RDM_HELLO_NEW);
	assert_true(p->used == hello && hello == OFI_RDM_HELLO_LEN);
}

/* Any change of the hello or of the addresses is detected, and leaves no state. */
static void test_forged(void **state)
{
	struct pair *p = *state;
	enum ofi_rdm_hello_verdict verdict;
	size_t i, len;

	build(p);
	for (len = p->len, p->len = 0; p->len < len; p->len++)
		assert_int_equal(take(p), OFI_RDM_HELLO_MALFORMED);
	for (i = 0; i < 8 * len; i++) {
		p->bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		verdict = take(p);
		assert_true(verdict >= OFI_RDM_HELLO_REFUSE);
		p->bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
	for (i = 0; i < sizeof(p->path); i++) {
		((uint8_t *)&p->path)[i] ^= 1;
		assert_int_equal(take(p), OFI_RDM_HELLO_FOREIGN);
		((uint8_t *)&p->path)[i] ^= 1;
	}
	p->b.secret = p->cookies;
	assert_int_equal(take(p), OFI_RDM_HELLO_FOREIGN);
	assert_true(!p->at_b.met && p->at_b.known == 1000 && !p->at_b.eager);
	p->b.secret = p->secret;
	assert_int_equal(take(p), OFI_RDM_HELLO_NEW);
}

static void test_refused(void **state)
{
	struct pair *p = *state;
	uint8_t bytes[OFI_RDM_HELLO_MAX];

	/* Only one of the two has a secret. */
	p->a.secret = NULL;
	build(p);
	assert_int_equal(take(p), OFI_RDM_HELLO_REFUSE);
	assert_int_equal(p->hello.reason, OFI_RDM_HELLO_LONELY);
	assert_true(ofi_rdm_hello_refuse(&p->b, &p->hello, bytes) <= p->len);
	memcpy(p->bytes, bytes, sizeof(bytes));
	p->len = OFI_RDM_HELLO_LEN;
	assert_int_equal(take(p), OFI_RDM_HELLO_REFUSED);
	assert_int_equal(p->hello.reason, OFI_RDM_HELLO_LONELY);
	p->a.secret = p->secret;
	/* A later version that has nothing in common with ours. */
	build(p);
	p->bytes[4] = p->bytes[5] = OFI_RDM_HELLO_VERSION + 1;
	p->bytes[41] = 0xff;
	assert_int_equal(take(p), OFI_RDM_HELLO_REFUSE);
	assert_int_equal(p->hello.reason, OFI_RDM_HELLO_NO_VERSION);
	assert_false(p->at_b.met);
}

/* An incarnation that replaces another one must echo the cookie. */
static void test_restart(void **state)
{
	struct pair *p = *state;
	struct ofi_rdm_hello_path back = { .to = { 0 } };
	struct ofi_rdm_hello came;
	uint8_t bytes[OFI_RDM_HELLO_MAX], old[OFI_RDM_HELLO_MAX];
	size_t len;

	build(p);
	memcpy(old, p->bytes, sizeof(old));
	assert_int_equal(take(p), OFI_RDM_HELLO_NEW);
	p->a.incarnation = 1001;
	build(p);
	assert_int_equal(take(p), OFI_RDM_HELLO_ANSWER);
	assert_int_equal(p->at_b.known, 1000);
	len = ofi_rdm_hello_answer(&p->b, &p->at_b, 5, &p->hello, &back, bytes);
	assert_int_equal(ofi_rdm_hello_take(&p->a, &p->at_a, &back, bytes, len, &came, &p->used),
			 OFI_RDM_HELLO_NEW);
	assert_true(came.cookie && p->at_a.echo == came.cookie);
	build(p);
	assert_int_equal(take(p), OFI_RDM_HELLO_NEW);
	assert_int_equal(p->at_b.known, 1001);
	/* A delayed hello of the first incarnation has no valid cookie. */
	memcpy(p->bytes, old, sizeof(old));
	assert_int_equal(take(p), OFI_RDM_HELLO_ANSWER);
	assert_int_equal(p->at_b.known, 1001);
	/* A hello to an earlier incarnation of the receiver is not accepted either. */
	p->b.incarnation = 2001;
	build(p);
	assert_int_equal(take(p), OFI_RDM_HELLO_ANSWER);
}

static void test_size(void **state)
{
	(void)state;
	assert_true(sizeof(struct ofi_rdm_hello_peer) <= 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedules),
		cmocka_unit_test_setup_teardown(test_first, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_forged, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_refused, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(test_restart, open_pair, close_pair),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests_name("rdm_hello", tests, NULL, NULL);
}
