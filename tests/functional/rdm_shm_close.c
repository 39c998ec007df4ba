/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer without shared memory sends messages and closes its endpoint, while the receiver does not
 * look and other peers have filled their rings. Everything that was complete for the senders
 * arrives.
 */
#include <stdio.h>
#include <stdlib.h>
#include "rdm_node.h"

enum { FILLERS = 4, MESSAGES = 100, FILL_TAG = 1, TAG = 2, WINDOW = 64, FILL = 4000 };

static struct node_name to_name;
static char byte;

/* Empty messages fill the ring until nothing else is taken, or FILL are. */
static void filler(struct child *parent, void *arg)
{
	struct fi_cq_tagged_entry entry;
	unsigned int sent = 0, done = 0, failed = 0;
	uint64_t last = 0;
	struct node node;
	fi_addr_t to;
	ssize_t ret;
	int err;
	char go;

	(void)arg;
	child_hear(parent, &to_name, sizeof(to_name));
	node_open(&node, NULL);
	to = node_know(&node, &to_name);
	node_tsend(&node, NULL, 0, to, FILL_TAG);
	node_wait(&node);
	child_say(parent, "c", 1);
	child_hear(parent, &go, 1);
	while (sent < FILL && (!last || now_ms() - last < 300)) {
		ret = fi_tsend(node.ep, NULL, 0, NULL, to, FILL_TAG, NULL);
		if (!ret) {
			sent++;
			last = now_ms();
		}
		done += node_poll(&node, &entry, &err);
	}
	child_say(parent, &sent, sizeof(sent));
	node_reap(&node, sent - done, &failed);
	EQUAL(failed, 0);
	child_hear(parent, &go, 1);
	node_close(&node);
}

static void leaver(struct child *parent, void *arg)
{
	unsigned int failed = 0;
	struct node node;
	fi_addr_t to;
	char go;
	int i;

	(void)arg;
	setenv("FI_VERBS_SHM", "0", 1);
	child_hear(parent, &to_name, sizeof(to_name));
	node_open(&node, NULL);
	to = node_know(&node, &to_name);
	child_hear(parent, &go, 1);
	for (i = 0; i < MESSAGES; i++)
		node_tsend(&node, &byte, 1, to, TAG);
	node_reap(&node, MESSAGES, &failed);
	EQUAL(failed, 0);
	node_close(&node);
	child_say(parent, "d", 1);
}

/* Returns how many messages with the tag arrive. */
static uint32_t receive(struct node *node, uint64_t tag, uint32_t count)
{
	uint64_t end = deadline();
	struct fi_cq_tagged_entry entry;
	uint32_t posted = 0, done = 0;
	int err;

	while (done < count) {
		for (; posted < count && posted - done < WINDOW; posted++)
			node_trecv(node, &byte, 1, tag, NULL);
		if (node_poll(node, &entry, &err)) {
			EQUAL(err, 0);
			done++;
		} else {
			pause_until(end, "a message");
		}
	}
	return done;
}

static void test(void)
{
	struct child fillers[FILLERS], last = child_start(leaver, NULL);
	uint32_t sent[FILLERS], all = 0;
	struct node node;
	char word;
	int i;

	for (i = 0; i < FILLERS; i++)
		fillers[i] = child_start(filler, NULL);
	node_open(&node, NULL);
	child_say(&last, &node.name, sizeof(node.name));
	for (i = 0; i < FILLERS; i++) {
		child_say(&fillers[i], &node.name, sizeof(node.name));
		receive(&node, FILL_TAG, 1);
		child_hear(&fillers[i], &word, 1);
	}
	for (i = 0; i < FILLERS; i++)
		child_say(&fillers[i], "f", 1);
	for (i = 0; i < FILLERS; i++) {
		child_hear(&fillers[i], &sent[i], sizeof(sent[i]));
		all += sent[i];
	}
	child_say(&last, "g", 1);
	child_hear(&last, &word, 1);
	sleep_ms(500); /* the event thread learns of the end */
	EQUAL(receive(&node, TAG, MESSAGES), MESSAGES);
	EQUAL(receive(&node, FILL_TAG, all), all);
	printf("%u messages in rings\n", all);
	for (i = 0; i < FILLERS; i++) {
		child_say(&fillers[i], "e", 1);
		child_end(&fillers[i]);
	}
	child_end(&last);
	node_close(&node);
}

int main(void)
{
	return run_test(test);
}
