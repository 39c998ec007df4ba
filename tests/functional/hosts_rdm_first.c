/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * First messages on datagrams, which travel in the requests for connections: each arrives once and
 * before those that follow it, although requests and answers are lost, doubled and late, and the
 * endpoints of two hosts ask each other at once. The argument is another number of rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include "fixture.h"
#include "hosts.h"
#include "rdm_lossy.h"
#include "rdm_node.h"

#define SERVICE "7496"

enum { NODES = 10, EACH = 3, TAG = 100 };

static struct node node, nodes[NODES];
static struct node_name ours[NODES], theirs[NODES];
static unsigned int outs[NODES][NODES][EACH], ins[NODES][NODES][EACH];
static unsigned int rounds = 2, left;
static bool is_server;
static fi_addr_t to;

/* Some pairs talk in both directions, some in one. */
static bool talks(bool server, unsigned int from, unsigned int at)
{
	return (server ? from + at : at + from) % 3 != (server ? 0u : 1u);
}

static void open_one(struct node *one)
{
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .size = 1024 };
	size_t len = sizeof(one->name);

	*one = node;
	one->info = fi_dupinfo(node.info);
	CHECK(one->info);
	((struct sockaddr_in *)one->info->src_addr)->sin_port = 0;
	OK(fi_endpoint(one->domain, one->info, &one->ep, NULL));
	OK(fi_cq_open(one->domain, &cq, &one->cq, NULL));
	OK(fi_av_open(one->domain, &av, &one->av, NULL));
	OK(fi_ep_bind(one->ep, &one->cq->fid, FI_SEND | FI_RECV));
	OK(fi_ep_bind(one->ep, &one->av->fid, 0));
	OK(fi_enable(one->ep));
	OK(fi_getname(&one->ep->fid, &one->name, &len));
}

static void close_one(struct node *one)
{
	OK(fi_close(&one->ep->fid));
	OK(fi_close(&one->cq->fid));
	OK(fi_close(&one->av->fid));
	fi_freeinfo(one->info);
}

/* Both hosts are there. */
static void meet(const void *say, void *hear, size_t len, uint64_t tag)
{
	node_trecv(&node, hear, len, tag, NULL);
	node_tsend(&node, say, len, to, tag);
	node_wait(&node);
	node_wait(&node);
}

static void receive_all(unsigned int at)
{
	unsigned int from, i;

	for (from = 0; from < NODES; from++)
		for (i = 0; talks(!is_server, from, at) && i < EACH; i++, left++)
			node_trecv(&nodes[at], &ins[at][from][i], sizeof(int), TAG + from,
				   &ins[at][from][i]);
}

static void poll_all(void)
{
	struct fi_cq_tagged_entry entry;
	unsigned int at;
	int err;

	for (at = 0; at < NODES; at++)
		while (node_poll(&nodes[at], &entry, &err)) {
			EQUAL(err, 0);
			left--;
		}
}

static void send_all(unsigned int from)
{
	unsigned int at, i;
	fi_addr_t peer;

	for (at = 0; at < NODES; at++) {
		peer = node_know(&nodes[from], &theirs[at]);
		for (i = 0; talks(is_server, from, at) && i < EACH; i++, left++) {
			outs[from][at][i] = 1000000 + from * 10000 + at * 100 + i;
			node_tsend(&nodes[from], &outs[from][at][i], sizeof(int), peer, TAG + from);
		}
	}
}

static void check_all(void)
{
	unsigned int at, from, i;

	for (at = 0; at < NODES; at++)
		for (from = 0; from < NODES; from++)
			for (i = 0; talks(!is_server, from, at) && i < EACH; i++)
				EQUAL(ins[at][from][i], 1000000 + from * 10000 + at * 100 + i);
}

static void run_round(void)
{
	uint64_t start = now_ms();
	unsigned int i;
	char word;

	for (i = 0; i < NODES; i++) {
		open_one(&nodes[i]);
		ours[i] = nodes[i].name;
	}
	meet(ours, theirs, sizeof(ours), 1);
	for (i = 0; i < NODES; i++)
		receive_all(i);
	lossy_shape("delay 2ms reorder 30% loss 15% duplicate 15%");
	for (i = 0; i < NODES; i++)
		send_all(i);
	while (left)
		poll_all();
	check_all();
	lossy_shape(NULL);
	for (i = 0; i < 2; i++)
		meet("a", &word, 1, 2 + i);
	for (i = 0; i < NODES; i++)
		close_one(&nodes[i]);
	printf("%llu ms\n", (unsigned long long)(now_ms() - start));
}

static void run(void)
{
	unsigned int i;

	to = node_open_host(&node, SERVICE);
	for (i = 0; i < rounds; i++)
		run_round();
	node_close(&node);
}

static void serve(void)
{
	is_server = true;
	run();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		rounds = (unsigned int)atoi(argv[1]);
	need_vm();
	setenv("FI_VERBS_RDM_TRANSPORT", "ud", 1);
	return run_hosts(serve, run);
}
