/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Three processes share an address vector by its name: the others send to, receive from and see as
 * the source what one of them inserts. One of them may only read it. A removed address gets its
 * index back when it is inserted again.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "rdm_node.h"

enum { LEN = 64, PARENT = 0, WRITER = 1, READER = 2 };

static char name[40];
static char out[LEN], in[LEN];

static void open_named(struct node *node, uint64_t flags)
{
	struct fi_av_attr av = { .name = name, .flags = flags };

	node_open_av(node, &av);
	CHECK(node->info->caps & FI_SHARED_AV && node->info->domain_attr->caps & FI_SHARED_AV);
	CHECK(av.map_addr);
	EQUAL(av.type, FI_AV_TABLE);
}

/* Receives a message with a tag, whose source is the one that it states. */
static void take_from(struct node *node, fi_addr_t want)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	fi_addr_t src = 0;
	ssize_t ret;

	while ((ret = fi_cq_readfrom(node->cq, &entry, 1, &src)) == -FI_EAGAIN)
		pause_until(end, "a message");
	RETURNS(ret, 1);
	CHECK(entry.flags & FI_RECV);
	EQUAL(src, want);
}

static void receive_from(struct node *node, fi_addr_t from, fi_addr_t want)
{
	OK(fi_trecv(node->ep, in, LEN, NULL, from, 1, 0, NULL));
	take_from(node, want);
}

static void send_to(struct node *node, fi_addr_t to)
{
	node_tsend(node, out, LEN, to, 1);
	node_wait(node);
}

static void at_index(struct node *node, fi_addr_t addr, const struct sockaddr_in *want)
{
	struct sockaddr_in found;
	size_t len = sizeof(found);

	OK(fi_av_lookup(node->av, addr, &found, &len));
	EQUAL(len, sizeof(found));
	CHECK(!memcmp(&found, want, len));
}

static void step(struct child *other)
{
	char byte;

	child_hear(other, &byte, 1);
}

static void next(struct child *other)
{
	child_say(other, "n", 1);
}

/* Inserts itself, and later the reader. */
static void writer(struct child *parent, void *arg)
{
	struct sockaddr_in reader;
	struct node node;

	(void)arg;
	step(parent);
	open_named(&node, 0);
	EQUAL(node_know(&node, &node.name.in), WRITER);
	child_say(parent, &node.name.in, sizeof(node.name.in));
	receive_from(&node, PARENT, PARENT);
	send_to(&node, PARENT);
	child_hear(parent, &reader, sizeof(reader));
	EQUAL(node_know(&node, &reader), READER);
	next(parent);
	receive_from(&node, READER, READER);
	next(parent);
	step(parent);
	node_close(&node);
}

static void reader(struct child *parent, void *arg)
{
	fi_addr_t addr = PARENT;
	struct node node;

	(void)arg;
	step(parent);
	open_named(&node, FI_READ);
	RETURNS(fi_av_insert(node.av, &node.name.in, 1, NULL, 0, NULL), -FI_EPERM);
	RETURNS(fi_av_remove(node.av, &addr, 1, 0), -FI_EPERM);
	child_say(parent, &node.name.in, sizeof(node.name.in));
	send_to(&node, PARENT);
	step(parent);
	send_to(&node, PARENT);
	send_to(&node, WRITER);
	step(parent);
	node_close(&node);
}

static void removed(struct node *node, struct child *other, const struct sockaddr_in *theirs)
{
	fi_addr_t addr = WRITER;
	size_t len = 0;

	OK(fi_av_remove(node->av, &addr, 1, 0));
	RETURNS(fi_av_remove(node->av, &addr, 1, 0), -FI_EINVAL);
	RETURNS(fi_av_lookup(node->av, WRITER, NULL, &len), -FI_EINVAL);
	RETURNS(fi_tsend(node->ep, out, LEN, NULL, WRITER, 1, NULL), -FI_EINVAL);
	EQUAL(node_know(node, theirs), WRITER);
	at_index(node, WRITER, theirs);
	addr = 7;
	RETURNS(fi_av_insert(node->av, theirs, 1, &addr, FI_AV_USER_ID, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_av_set_user_id(node->av, WRITER, 7, 0), -FI_EOPNOTSUPP);
	next(other);
}

static void test(void)
{
	struct sockaddr_in theirs[2];
	struct child child[2];
	struct node node;

	snprintf(name, sizeof(name), "test/%d", (int)getpid());
	child[0] = child_start(writer, NULL);
	child[1] = child_start(reader, NULL);
	open_named(&node, 0);
	EQUAL(node_know(&node, &node.name.in), PARENT);
	RETURNS(fi_tsend(node.ep, out, LEN, NULL, WRITER, 1, NULL), -FI_EINVAL);
	next(&child[0]);
	child_hear(&child[0], &theirs[0], sizeof(theirs[0]));
	at_index(&node, WRITER, &theirs[0]);
	send_to(&node, WRITER);
	receive_from(&node, WRITER, WRITER);
	/* Nobody has inserted the reader yet. */
	next(&child[1]);
	child_hear(&child[1], &theirs[1], sizeof(theirs[1]));
	receive_from(&node, FI_ADDR_UNSPEC, FI_ADDR_NOTAVAIL);
	child_say(&child[0], &theirs[1], sizeof(theirs[1]));
	step(&child[0]);
	next(&child[1]);
	receive_from(&node, READER, READER);
	step(&child[0]);
	removed(&node, &child[0], &theirs[0]);
	next(&child[1]);
	child_end(&child[0]);
	child_end(&child[1]);
	node_close(&node);
}

int main(void)
{
	return run_test(test);
}
