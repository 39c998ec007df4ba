/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One host keeps open all connections that an endpoint has for unknown peers, and sends nothing. A
 * genuine unknown peer soon gets a connection from the same host, and from another one.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include "hostile.h"

enum { TAG = 1, PLACES = 12, FOES = PLACES + 1, SOON_MS = 4000, SILENT_MS = 1200 };

static struct foe foes[FOES];

/* Takes what arrives until the parent ends the test. */
static void serve(struct child *parent, void *arg)
{
	struct node node;
	uint32_t words[2];
	int i;

	(void)arg;
	setenv("FI_VERBS_MAX_CONN", "16", 1);
	node_open(&node, NULL);
	child_say(parent, &node.name.in, sizeof(node.name.in));
	for (i = 0; i < 2; i++) {
		node_trecv(&node, &words[i], sizeof(words[i]), TAG, NULL);
		node_wait(&node);
		EQUAL(words[i], 77);
	}
	child_hear(parent, &i, sizeof(i));
	node_close(&node);
}

static void come(struct child *parent, void *arg)
{
	struct sockaddr_in name;
	uint32_t word = 77;
	struct node node;
	uint64_t start;
	int ms;

	(void)arg;
	node_open(&node, NULL);
	child_hear(parent, &name, sizeof(name));
	start = now_ms();
	node_tsend(&node, &word, sizeof(word), node_know(&node, &name), TAG);
	node_wait(&node);
	ms = (int)(now_ms() - start);
	node_close(&node);
	child_say(parent, &ms, sizeof(ms));
}

static bool join(struct foe *foe, const struct sockaddr_in *to, const char *from)
{
	struct sockaddr_in name = *to;
	uint8_t data[256];
	struct ofi_rdm_cmwire cm;

	if (from)
		EQUAL(inet_pton(AF_INET, from, &name.sin_addr), 1);
	name.sin_port = htons((uint16_t)(2000 + foe_random(20000)));
	cm = foe_claim(&name, 1 + foe_random(1 << 30), 1);
	foe_open(foe, from);
	CHECK(foe_ask(foe, to, data, foe_pack(data, &cm), true));
	return foe_await(foe, FOE_MS) == FOE_UP;
}

/* Opens all connections that it can get, from one host; then the newcomer needs one. */
static void crowd_out(const struct sockaddr_in *to, const char *from, int silent_ms,
		      struct child *newcomer)
{
	int i, ms;

	for (i = 0; i < PLACES; i++)
		CHECK(join(&foes[i], to, from));
	CHECK(!join(&foes[i], to, from));
	sleep_ms(silent_ms);
	child_say(newcomer, to, sizeof(*to));
	child_hear(newcomer, &ms, sizeof(ms));
	printf("from %s: the newcomer was served after %d ms\n", from ? "elsewhere" : "here", ms);
	CHECK(ms < SOON_MS);
	child_end(newcomer);
	for (i = 0; i < FOES; i++)
		foe_close(&foes[i]);
}

static void test(void)
{
	struct child server = child_start(serve, NULL);
	struct child newcomers[2] = { child_start(come, NULL), child_start(come, NULL) };
	struct sockaddr_in name;

	child_hear(&server, &name, sizeof(name));
	crowd_out(&name, NULL, SILENT_MS, &newcomers[0]);
	/* They end when the endpoint processes the newcomer's request. */
	sleep_ms(500);
	crowd_out(&name, foe_other_host(), 0, &newcomers[1]);
	child_say(&server, &name, sizeof(int));
	child_end(&server);
}

int main(void)
{
	return run_test(test);
}
