/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A sender whose messages nobody receives is held back when the endpoint reaches the limit that
 * fi_verbs(7), MEMORY OF RELIABLE DATAGRAMS, states: its memory stays within that, the sender gets
 * -FI_EAGAIN, a third endpoint and RMA are not affected, and nothing is lost. WEFT_MESSAGES is the
 * number of messages of 8 bytes.
 */
#include <poll.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "rdm_node.h"

enum {
	TAG = 3,
	OTHER_TAG = 4,
	MANY = 20000,
	BUDGET = 65536,
	/* From the manual page. */
	WINDOW = 128,
	NOTE = 640,
	SLACK = 1 << 19, /* connections, objects of receives, malloc */
#ifdef __SANITIZE_ADDRESS__
	TIMES = 4,
#else
	TIMES = 1,
#endif
	STILL_MS = 300,
	QUEUE = 256,
};

static unsigned int messages(void)
{
	const char *wanted = getenv("WEFT_MESSAGES");

	return wanted ? (unsigned int)strtoul(wanted, NULL, 0) : MANY;
}

static size_t resident(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long kib = 0;
	char line[128];

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "RssAnon:", 8))
			EQUAL(sscanf(line + 8, "%lu", &kib), 1);
	fclose(file);
	return (size_t)kib * 1024;
}

/* Sends as many as are accepted, until none was accepted for some time. */
static unsigned int send_what_goes(struct node *node, struct fid_ep *ep, fi_addr_t to,
				   uint64_t *out, unsigned int max)
{
	struct fi_cq_tagged_entry entry;
	unsigned int sent = 1;
	uint64_t end;
	ssize_t ret;
	int err;

	out[0] = 0;
	OK(fi_tsend(ep, out, sizeof(*out), NULL, to, TAG, NULL));
	node_wait(node); /* it is connected */
	end = now_ms() + STILL_MS;
	while (sent < max && now_ms() < end) {
		out[sent] = sent;
		ret = fi_tsend(ep, &out[sent], sizeof(*out), NULL, to, TAG, NULL);
		if (!ret) {
			sent++;
			end = now_ms() + STILL_MS;
		} else {
			RETURNS(ret, -FI_EAGAIN);
		}
		while (node_poll(node, &entry, &err))
			EQUAL(err, 0);
	}
	return sent;
}

/* An endpoint whose transmit queue is soon full. */
static struct fid_ep *open_short(struct node *node)
{
	struct fid_ep *ep;

	node->info->tx_attr->size = QUEUE;
	OK(fi_endpoint(node->domain, node->info, &ep, NULL));
	OK(fi_ep_bind(ep, &node->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(ep, &node->av->fid, 0));
	OK(fi_enable(ep));
	return ep;
}

/* Where the flooded endpoint lets others write. */
struct window {
	uint64_t addr, key;
};

/* Its messages are held back, and none of them completes. */
static void write_past(struct node *node, struct fid_ep *ep, fi_addr_t to,
		       const struct window *window)
{
	uint64_t value = 99, end = now_ms() + 5000;
	struct fi_cq_tagged_entry entry;
	ssize_t ret;
	int err;

	do {
		ret = fi_write(ep, &value, sizeof(value), NULL, to, window->addr, window->key,
			       &value);
		if (ret)
			RETURNS(ret, -FI_EAGAIN);
		if (now_ms() > end)
			FAIL("a peer that holds messages back takes no RMA either");
	} while (ret);
	while (!node_poll(node, &entry, &err))
		if (now_ms() > end)
			FAIL("RMA to a peer that holds messages back is not done");
	EQUAL(err, 0);
	CHECK(entry.op_context == &value);
}

static void flooder(struct child *parent, void *arg)
{
	unsigned int sent, failed = 0, max = messages();
	struct fi_cq_tagged_entry entry;
	uint64_t *out = calloc(max, sizeof(*out));
	struct node_name name;
	struct window window;
	struct fid_ep *ep;
	struct node node;
	fi_addr_t to;
	int err;

	(void)arg;
	CHECK(out);
	node_open(&node, NULL);
	ep = open_short(&node);
	child_hear(parent, &name, sizeof(name));
	child_hear(parent, &window, sizeof(window));
	to = node_know(&node, &name);
	sent = send_what_goes(&node, ep, to, out, max);
	if (sent < max)
		write_past(&node, ep, to, &window);
	child_say(parent, &sent, sizeof(sent));
	/* The message that asks for it is behind all others. */
	while (fi_tsend(ep, &sent, sizeof(sent), NULL, to, OTHER_TAG, &sent) == -FI_EAGAIN)
		node_poll(&node, &entry, &err);
	do {
		while (!node_poll(&node, &entry, &err))
			usleep(100);
		failed += err != 0;
	} while (entry.op_context != &sent);
	EQUAL(failed, 0);
	child_hear(parent, &failed, sizeof(failed));
	OK(fi_close(&ep->fid));
	node_close(&node);
	free(out);
}

static void other(struct child *parent, void *arg)
{
	struct node_name name;
	unsigned int failed = 0;
	uint64_t out = 77;
	struct node node;

	(void)arg;
	node_open(&node, NULL);
	child_hear(parent, &name, sizeof(name));
	node_tsend(&node, &out, sizeof(out), node_know(&node, &name), OTHER_TAG);
	node_reap(&node, 1, &failed);
	EQUAL(failed, 0);
	node_close(&node);
}

static size_t bound(void)
{
	size_t size = (size_t)atol(need_env("FI_VERBS_RDM_BUFFER_SIZE"));

	return TIMES * (3 * BUDGET + 2 * WINDOW * (size + NOTE) + SLACK);
}

/* The sender reports through a pipe; until it does, this side makes progress. */
static unsigned int hear(struct node *node, const struct child *child)
{
	struct pollfd said = { .fd = child->sock, .events = POLLIN };
	struct fi_cq_tagged_entry entry;
	unsigned int sent;
	int err;

	while (poll(&said, 1, 0) <= 0)
		CHECK(!node_poll(node, &entry, &err));
	child_hear(child, &sent, sizeof(sent));
	return sent;
}

static struct fid_mr *give(struct node *node, uint64_t *to, const struct child *child)
{
	struct window window = { .addr = (uintptr_t)to };
	struct fid_mr *mr;

	OK(fi_mr_reg(node->domain, to, sizeof(*to), FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
	window.key = fi_mr_key(mr);
	child_say(child, &node->name, sizeof(node->name));
	child_say(child, &window, sizeof(window));
	return mr;
}

static void flood(void *arg)
{
	struct child children[2] = { child_start(flooder, NULL), child_start(other, NULL) };
	unsigned int i, sent;
	size_t before, grown;
	struct node node;
	uint64_t in = 0, written = 0;
	struct fid_mr *mr;

	(void)arg;
	node_open(&node, NULL);
	mr = give(&node, &written, &children[0]);
	before = resident();
	sent = hear(&node, &children[0]);
	grown = resident() - before;
	printf("%u of %u messages accepted, %zu KiB of %zu\n", sent, messages(), grown / 1024,
	       bound() / 1024);
	CHECK(grown <= bound());
	CHECK(sent < messages());
	EQUAL(written, 99);
	/* Another peer is not held up. */
	node_trecv(&node, &in, sizeof(in), OTHER_TAG, NULL);
	child_say(&children[1], &node.name, sizeof(node.name));
	node_wait(&node);
	EQUAL(in, 77);
	child_end(&children[1]);
	for (i = 0; i < sent; i++) {
		node_trecv(&node, &in, sizeof(in), TAG, NULL);
		node_wait(&node);
		EQUAL(in, i);
	}
	in = 0;
	node_trecv(&node, &in, sizeof(in), OTHER_TAG, NULL);
	node_wait(&node);
	EQUAL(in, sent);
	child_say(&children[0], &sent, sizeof(sent));
	child_end(&children[0]);
	OK(fi_close(&mr->fid));
	node_close(&node);
}

int main(void)
{
	setenv("FI_VERBS_RDM_UNEXPECTED_SIZE", "65536", 1);
	setenv("FI_VERBS_RDM_BUFFER_SIZE", "16896", 1);
	return run_apart("flood", flood, NULL);
}
