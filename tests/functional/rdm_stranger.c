/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stranger on this host requests connections of an endpoint under names that are not its own:
 * those of another host and of a connected peer. It is refused, and nothing between the two is
 * lost. With its own name it is a peer.
 */
#include <signal.h>
#include <string.h>
#include <arpa/inet.h>
#include "rdm_node.h"
#include "stranger.h"

enum { PING = 1, PONG = 2, TRIES = 10 };

/* Answers until the question is 0. */
static void peer(struct child *parent, void *arg)
{
	struct sockaddr_in name;
	struct node node;
	uint32_t word = 1;
	fi_addr_t to;

	(void)arg;
	node_open(&node, NULL);
	child_say(parent, &node.name.in, sizeof(node.name.in));
	child_hear(parent, &name, sizeof(name));
	to = node_know(&node, &name);
	while (word) {
		node_trecv(&node, &word, sizeof(word), PING, NULL);
		node_wait(&node);
		node_tsend(&node, &word, sizeof(word), to, PONG);
		node_wait(&node);
	}
	node_close(&node);
}

static void exchange(struct node *node, fi_addr_t to, uint32_t word)
{
	uint32_t answer = ~word;

	node_trecv(node, &answer, sizeof(answer), PONG, NULL);
	node_tsend(node, &word, sizeof(word), to, PING);
	node_wait(node);
	node_wait(node);
	EQUAL(answer, word);
}

static void claims_another_host(struct node *node, fi_addr_t to)
{
	struct claim claim = { .incarnation = 99, .serial = 1 };
	struct stranger stranger;

	claim.name = node->name.in;
	claim.name.sin_addr.s_addr = inet_addr("10.99.0.9");
	CHECK(!stranger_asks(&stranger, &node->name.in, &claim));
	EQUAL(stranger.reason, STRANGER_SOURCE);
	exchange(node, to, 1);
}

/* With a new incarnation; running, or stopped, which counts as alive, too. */
static void claims_the_peer(struct node *node, struct child *child, const struct sockaddr_in *name,
			    bool stopped)
{
	struct claim claim = { .name = *name, .incarnation = 100 + stopped };
	struct stranger stranger;
	bool told = false;

	if (stopped)
		kill(child->pid, SIGSTOP);
	while (claim.serial++ < TRIES) {
		CHECK(!stranger_asks(&stranger, &node->name.in, &claim));
		CHECK(stranger.reason == STRANGER_BUSY || stranger.reason == STRANGER_IN_USE);
		told |= stranger.reason == STRANGER_IN_USE;
	}
	CHECK(told);
	if (stopped)
		kill(child->pid, SIGCONT);
}

/* Its own name is only good for connecting itself. */
static void claims_to_be_the_endpoint(struct node *node)
{
	struct claim claim = { .name = node->name.in, .incarnation = 103, .serial = 1 };
	struct stranger stranger;

	CHECK(!stranger_asks(&stranger, &node->name.in, &claim));
	EQUAL(stranger.reason, STRANGER_IN_USE);
}

static void has_its_own_name(struct node *node)
{
	struct claim claim = { .incarnation = 101, .serial = 1 };
	struct stranger stranger;

	claim.name = node->name.in;
	claim.name.sin_port = htons(1);
	CHECK(stranger_asks(&stranger, &node->name.in, &claim));
	stranger_leaves(&stranger);
}

static void test(void)
{
	struct child child = child_start(peer, NULL);
	struct sockaddr_in name;
	struct node node;
	fi_addr_t to;

	node_open(&node, NULL);
	child_hear(&child, &name, sizeof(name));
	child_say(&child, &node.name.in, sizeof(node.name.in));
	to = node_know(&node, &name);
	exchange(&node, to, 77);
	claims_another_host(&node, to);
	claims_the_peer(&node, &child, &name, false);
	exchange(&node, to, 2);
	claims_the_peer(&node, &child, &name, true);
	exchange(&node, to, 3);
	claims_to_be_the_endpoint(&node);
	has_its_own_name(&node);
	exchange(&node, to, 0);
	child_end(&child);
	node_close(&node);
}

int main(void)
{
	return run_test(test);
}
