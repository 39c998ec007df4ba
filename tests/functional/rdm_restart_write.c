/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Writes to a process that died fail with FI_ECONNRESET, and so do the messages behind them, even
 * if another process has opened its address by then and has given its memory the same key. The
 * memory of that process does not change before somebody writes to that process. A message alone
 * reaches whoever is there.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "rdm_node.h"

#define SERVICE "7490"

enum { KEY = 5, LEN = 64, LONG = 300000, TAG = 4, FORMER = 3, LATTER = 4 };
/* A connection that ended is freed, and a stranger forgotten. */
enum { FREE_MS = 1200 };

static uint8_t mem[LEN], out[LEN];
static struct fid_mr *mr; /* mem in a process */
static char long_out[LONG], long_in[LONG];

/* Makes progress until the parent says something. */
static void await_parent(struct node *node, struct child *parent)
{
	uint64_t end = deadline();
	char word;

	while (recv(parent->sock, &word, 1, MSG_DONTWAIT) != 1) {
		fi_cq_read(node->cq, NULL, 0);
		pause_until(end, "the parent");
	}
}

/* Opens a node when the parent says its name, which is returned. */
static struct node_name open_told(struct node *node, struct child *parent)
{
	struct node_name name;

	child_hear(parent, &name, sizeof(name));
	node_open(node, SERVICE);
	OK(fi_mr_reg(node->domain, mem, LEN, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	child_say(parent, &node->name, sizeof(node->name));
	return name;
}

static void close_told(struct node *node, struct child *parent)
{
	await_parent(node, parent);
	OK(fi_close(&mr->fid));
	node_close(node);
}

static void first(struct child *parent, void *arg)
{
	struct node_name name;
	struct node node;

	(void)arg;
	name = open_told(&node, parent);
	node_tsend(&node, out, 1, node_know(&node, &name), TAG);
	await_parent(&node, parent); /* who kills this process */
}

/* Does not send anything. */
static void second(struct child *parent, void *arg)
{
	static const uint8_t nothing[LEN];
	struct node node;

	(void)arg;
	open_told(&node, parent);
	await_parent(&node, parent);
	CHECK(!memcmp(mem, nothing, LEN));
	child_say(parent, "c", 1);
	close_told(&node, parent);
	CHECK_FILLED(mem, LEN, LATTER);
}

static void receiver(struct child *parent, void *arg)
{
	struct node node;

	(void)arg;
	open_told(&node, parent);
	node_trecv(&node, mem, LEN, TAG, NULL);
	node_wait(&node);
	CHECK_FILLED(mem, LEN, FORMER);
	close_told(&node, parent);
}

/* Lets a process open its endpoint, whose name is that of all of them. */
static struct node_name let_open(const struct node *node, const struct child *child)
{
	struct node_name name;

	child_say(child, &node->name, sizeof(node->name));
	child_hear(child, &name, sizeof(name));
	return name;
}

/* Occupies the only connection that there may be, until the other node receives the message. */
static void send_long(struct node *node, struct node *other)
{
	const struct iovec iov = { long_out, LONG };
	const struct fi_msg_tagged msg = { .msg_iov = &iov,
					   .iov_count = 1,
					   .addr = node_know(node, &other->name),
					   .tag = TAG,
					   .context = long_out };
	struct fi_msg_tagged look = { .addr = FI_ADDR_UNSPEC, .tag = TAG };
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	int err = FI_ENOMSG;

	OK(fi_tsendmsg(node->ep, &msg, FI_DELIVERY_COMPLETE));
	while (err) {
		EQUAL(err, FI_ENOMSG);
		OK(fi_trecvmsg(other->ep, &look, FI_PEEK));
		while (!node_poll(other, &entry, &err)) {
			fi_cq_read(node->cq, NULL, 0);
			pause_until(end, "the announcement of a message");
		}
	}
}

/* Waits for the next completion, but for that of the long message, and returns its error. */
static int next_error(struct node *node, struct node *other)
{
	struct fi_cq_tagged_entry entry = { 0 };
	uint64_t end = deadline();
	int err;

	while (!node_poll(node, &entry, &err) || entry.op_context == long_out) {
		fi_cq_read(other->cq, NULL, 0);
		pause_until(end, "the end of an operation");
	}
	return err;
}

static void post_all(struct node *node, fi_addr_t to)
{
	OK(fi_write(node->ep, out, LEN, NULL, to, 0, KEY, out));
	OK(fi_atomic(node->ep, out, LEN, NULL, to, 0, KEY, FI_UINT8, FI_BOR, out));
	node_tsend(node, out, 1, to, TAG);
}

static void all_end_with(struct node *node, struct node *other, int err)
{
	int i;

	for (i = 0; i < 3; i++)
		EQUAL(next_error(node, other), err);
}

/*
 * Starts both processes and lets the first one send its message. Returns the address of
 * both.
 */
static fi_addr_t begin(struct node *node, struct child *children,
		       void (*latter)(struct child *parent, void *arg))
{
	struct node_name name;
	fi_addr_t to;

	children[0] = child_start(first, NULL);
	children[1] = child_start(latter, NULL);
	node_open(node, NULL);
	node_trecv(node, long_in, 1, TAG, NULL);
	name = let_open(node, &children[0]);
	to = node_know(node, &name);
	node_wait(node);
	fill(out, LEN, FORMER);
	return to;
}

static void end(struct node *node, struct child *child)
{
	child_say(child, "e", 1);
	child_end(child);
	node_close(node);
}

static void run(bool waits_for_room)
{
	struct child children[2];
	struct node node, other;
	fi_addr_t to = begin(&node, children, second);

	node_open(&other, NULL);
	if (waits_for_room) {
		send_long(&node, &other);
		node_silent(&node, FREE_MS);
		post_all(&node, to);
		node_silent(&node, 50);
	}
	child_kill(&children[0]);
	if (!waits_for_room) {
		node_silent(&node, FREE_MS);
		post_all(&node, to);
	}
	let_open(&node, &children[1]);
	if (waits_for_room)
		node_trecv(&other, long_in, LONG, TAG, NULL);
	all_end_with(&node, &other, FI_ECONNRESET);
	child_say(&children[1], "c", 1);
	child_hear(&children[1], long_in, 1);
	fill(out, LEN, LATTER);
	post_all(&node, to);
	all_end_with(&node, &other, 0);
	end(&node, &children[1]);
	node_close(&other);
}

static void posted_after_its_death(void)
{
	run(false);
}

static void posted_during_its_life(void)
{
	run(true);
}

static void message_alone(void)
{
	struct child children[2];
	struct node node;
	fi_addr_t to = begin(&node, children, receiver);

	child_kill(&children[0]);
	node_silent(&node, FREE_MS);
	node_tsend(&node, out, LEN, to, TAG);
	let_open(&node, &children[1]);
	node_wait(&node);
	end(&node, &children[1]);
}

int main(void)
{
	int ret;

	node_mr_mode = 0;
	ret = run_test(posted_after_its_death) || run_test(message_alone);
	setenv("FI_VERBS_MAX_CONN", "1", 1);
	return ret || run_test(posted_during_its_life);
}
