/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device has fewer queue pairs than an endpoint has peers: connections end to make room for
 * others, without FI_VERBS_MAX_CONN, and everything arrives, whether the endpoint connects to its
 * peers or they connect to it. Who waits for an endpoint that has no queue pair at all says so.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "rdm_node.h"

enum { QPS = 2, PEERS = 4, ROUNDS = 2, LEN = 1000, TAG = 4, TIMEOUT = 1000 };

/* This process may have so many queue pairs, has so many, and was refused one. */
static int most = INT32_MAX, count;
static bool refused;

static void *next_of(const char *name)
{
	return dlvsym(RTLD_NEXT, name, "IBVERBS_1.1");
}

/* The library calls these two instead of those of libibverbs. */
#pragma GCC visibility push(default)

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *(*real)(struct ibv_pd *, struct ibv_qp_init_attr *);
	struct ibv_qp *qp;

	*(void **)&real = next_of("ibv_create_qp");
	if (!attr->srq)
		return real(pd, attr);
	if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) > most) {
		__atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&refused, true, __ATOMIC_RELAXED);
		errno = ENOMEM;
		return NULL;
	}
	qp = real(pd, attr);
	CHECK(qp);
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*real)(struct ibv_qp *);
	bool counts = qp->srq;
	int ret;

	*(void **)&real = next_of("ibv_destroy_qp");
	ret = real(qp);
	if (counts && !ret)
		__atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
	return ret;
}

#pragma GCC visibility pop

static char out[LEN], in[PEERS * ROUNDS][LEN];

static void receive(struct node *node, unsigned int messages)
{
	unsigned int i;

	for (i = 0; i < messages; i++)
		node_trecv(node, in[i], LEN, TAG, NULL);
}

/* The other side ends a connection only when this side answers. */
static void progress_until_told(struct node *node, const struct child *parent)
{
	char word;

	while (recv(parent->sock, &word, 1, MSG_DONTWAIT) != 1) {
		fi_cq_read(node->cq, NULL, 0);
		sleep_ms(1);
	}
}

static void peer(struct child *parent, void *sends)
{
	unsigned int i, failed = 0;
	struct node_name name;
	struct node node;
	fi_addr_t to;

	node_open(&node, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	child_hear(parent, &name, sizeof(name));
	to = node_know(&node, &name);
	if (!sends)
		receive(&node, ROUNDS);
	for (i = 0; i < ROUNDS; i++) {
		if (sends)
			node_tsend(&node, out, LEN, to, TAG);
		node_reap(&node, 1, &failed);
		EQUAL(failed, 0);
	}
	child_say(parent, "d", 1);
	progress_until_told(&node, parent);
	node_close(&node);
}

static void send_to_all(struct node *node, const fi_addr_t *to)
{
	unsigned int i, n, failed = 0;

	for (n = 0; n < ROUNDS; n++) {
		for (i = 0; i < PEERS; i++)
			node_tsend(node, out, LEN, to[i], TAG);
		node_reap(node, PEERS, &failed);
		EQUAL(failed, 0);
	}
}

static void test(void *peers_send)
{
	struct child children[PEERS];
	unsigned int i, failed = 0;
	struct node_name name;
	fi_addr_t to[PEERS];
	struct node node;
	char word;

	for (i = 0; i < PEERS; i++)
		children[i] = child_start(peer, peers_send);
	most = QPS;
	node_open(&node, NULL);
	if (peers_send)
		receive(&node, PEERS * ROUNDS);
	for (i = 0; i < PEERS; i++) {
		child_hear(&children[i], &name, sizeof(name));
		to[i] = node_know(&node, &name);
		child_say(&children[i], &node.name, sizeof(node.name));
	}
	if (peers_send)
		node_reap(&node, PEERS * ROUNDS, &failed);
	else
		send_to_all(&node, to);
	EQUAL(failed, 0);
	CHECK(refused);
	for (i = 0; i < PEERS; i++)
		child_hear(&children[i], &word, 1);
	for (i = 0; i < PEERS; i++)
		child_say(&children[i], "e", 1);
	for (i = 0; i < PEERS; i++)
		child_end(&children[i]);
	node_close(&node);
	EQUAL(count, 0);
}

static void waiting_peer(struct child *parent, void *arg)
{
	int log = memfd_create("log", 0);
	char text[2000] = "";

	CHECK(dup2(log, STDERR_FILENO) == STDERR_FILENO);
	peer(parent, arg);
	CHECK(pread(log, text, sizeof(text) - 1, 0) > 0);
	CHECK(strstr(text, "out of memory, queue pairs"));
}

static void test_none(void *arg)
{
	struct child child = child_start(waiting_peer, out);
	unsigned int failed = 0;
	struct node_name name;
	struct node node;
	char word;

	(void)arg;
	most = 0;
	node_open(&node, NULL);
	receive(&node, ROUNDS);
	child_hear(&child, &name, sizeof(name));
	child_say(&child, &node.name, sizeof(node.name));
	node_silent(&node, 3 * TIMEOUT);
	most = QPS;
	node_reap(&node, ROUNDS, &failed);
	EQUAL(failed, 0);
	child_hear(&child, &word, 1);
	child_say(&child, "e", 1);
	child_end(&child);
	node_close(&node);
}

int main(void)
{
	int failed = run_apart("connects", test, NULL) | run_apart("accepts", test, out);

	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "1000", 1);
	setenv("FI_LOG_LEVEL", "warn", 1);
	return failed | run_apart("none", test_none, NULL);
}
