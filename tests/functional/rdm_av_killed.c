/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process that created a shared address vector is killed, and the others continue to use it.
 * When nobody has it open, what remains is not read, and the next process to open the name starts
 * with an empty vector.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "rdm_node.h"

enum { LEN = 64 };

static char name[40];
static char out[LEN], in[LEN];

static void maker(struct child *parent, void *arg)
{
	struct fi_av_attr av = { .name = name, .type = FI_AV_MAP };
	struct node node;
	char byte;

	(void)arg;
	node_open_av(&node, &av);
	EQUAL(node_know(&node, &node.name), 0);
	child_say(parent, "m", 1);
	child_hear(parent, &byte, 1);
	FAIL("it should have been killed");
}

static void echo(struct node *node, fi_addr_t self)
{
	node_trecv(node, in, LEN, 1, NULL);
	node_tsend(node, out, LEN, self, 1);
	node_wait(node);
	node_wait(node);
}

static void test(void)
{
	struct fi_av_attr read = { .name = name, .flags = FI_READ }, write = { .name = name };
	struct fid_av *av;
	struct child child;
	struct node node;
	size_t len = 0;
	char byte;

	child = child_start(maker, NULL);
	child_hear(&child, &byte, 1);
	node_open_av(&node, &write);
	EQUAL(write.type, FI_AV_MAP);
	child_kill(&child);
	OK(fi_av_open(node.domain, &read, &av, NULL));
	OK(fi_av_lookup(av, 0, NULL, &len));
	EQUAL(node_know(&node, &node.name), 1);
	echo(&node, 1);
	RETURNS(fi_close(&node.av->fid), -FI_EBUSY);
	OK(fi_close(&av->fid));
	node_close(&node);
}

static void test_all_killed(void)
{
	struct fi_av_attr read = { .name = name, .flags = FI_READ }, write = { .name = name };
	struct fid_av *av;
	struct child child;
	struct node node;
	size_t len = 0;
	char byte;

	child = child_start(maker, NULL);
	child_hear(&child, &byte, 1);
	child_kill(&child);
	node_open_av(&node, &write);
	EQUAL(write.type, FI_AV_TABLE);
	RETURNS(fi_av_lookup(node.av, 0, NULL, &len), -FI_EINVAL);
	EQUAL(node_know(&node, &node.name), 0);
	echo(&node, 0);
	OK(fi_av_open(node.domain, &read, &av, NULL));
	OK(fi_close(&av->fid));
	OK(fi_close(&node.ep->fid));
	OK(fi_close(&node.av->fid));
	RETURNS(fi_av_open(node.domain, &read, &av, NULL), -FI_ENOENT);
	OK(fi_close(&node.cq->fid));
	OK(fi_close(&node.domain->fid));
	OK(fi_close(&node.fabric->fid));
	fi_freeinfo(node.info);
}

int main(void)
{
	int ret;

	snprintf(name, sizeof(name), "killed %d", (int)getpid());
	ret = run_test(test);
	return ret ? ret : run_test(test_all_killed);
}
