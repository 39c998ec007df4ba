/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of an endpoint, of an address, of a peer and of unexpected messages is what
 * fi_verbs(7), MEMORY OF RELIABLE DATAGRAMS, states: registered bytes and resident memory of the
 * process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "rdm_node.h"

enum {
	EPS = 8,
	CHUNK = 32, /* buffers that are registered at once */
	/* From the manual page. */
	SENDS = 4, /* buffers for sending that an endpoint always has */
	ENDPOINT = 180224,
	NOTE = 704, /* of a receive buffer */
	PEER = 8192,
	RING = 128,
	ADDRS = 100000,
	ADDR = 64,
	LEN = 300,
	TAG = 9,
	SLACK = 1 << 17, /* of malloc, once */
#ifdef __SANITIZE_ADDRESS__
	TIMES = 3, /* and freed memory, guards and shadows are not measured exactly */
#else
	TIMES = 1,
#endif
};

/* Returns the bytes in a line of a file of /proc/self, which has KiB. */
static size_t line_of(const char *path, const char *name)
{
	FILE *file = fopen(path, "r");
	unsigned long kib = 0;
	char line[128];

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			EQUAL(sscanf(line + strlen(name), ": %lu", &kib), 1);
	fclose(file);
	return (size_t)kib * 1024;
}

static size_t pinned_now(void)
{
	return line_of("/proc/self/status", "VmPin");
}

/* RssAnon in the file status leaves out up to 64 pages that each thread has not yet reported. */
static size_t own_now(void)
{
	return line_of("/proc/self/smaps_rollup", "Anonymous");
}

static size_t number(const char *name)
{
	return (size_t)atol(need_env(name));
}

/* Receive buffers, which are registered in chunks, and the first buffers for sending. */
static size_t registered(void)
{
	size_t buffers = number("FI_VERBS_RDM_RX_BUFFERS");

	buffers = (buffers + CHUNK - 1) / CHUNK * CHUNK + SENDS;
	return buffers * number("FI_VERBS_RDM_BUFFER_SIZE");
}

/* Only the pages that were touched, which may not include the last one of a buffer. */
static size_t endpoint_bytes(void)
{
	return registered() + ENDPOINT + number("FI_VERBS_RDM_BUFFER_SIZE") +
	       NOTE * (number("FI_VERBS_RDM_RX_BUFFERS") + CHUNK);
}

static void at_most(const char *what, size_t before, size_t now, size_t most)
{
	size_t grown = now > before ? now - before : 0;

	printf("%s: %zu of %zu KiB\n", what, grown / 1024, most / 1024);
	if (grown > most)
		FAIL("%s: %zu bytes more, at most %zu", what, grown, most);
}

static void open_more(struct node *node, struct fid_ep **eps)
{
	size_t pinned = pinned_now(), own = own_now();
	unsigned int i;

	for (i = 0; i < EPS; i++) {
		OK(fi_endpoint(node->domain, node->info, &eps[i], NULL));
		OK(fi_ep_bind(eps[i], &node->cq->fid, FI_TRANSMIT | FI_RECV));
		OK(fi_ep_bind(eps[i], &node->av->fid, 0));
		OK(fi_enable(eps[i]));
	}
	at_most("registered by endpoints", pinned, pinned_now(), EPS * registered());
	CHECK(pinned_now() >= pinned + EPS * registered() / 2); /* the test measures it */
	at_most("endpoints", own, own_now(), TIMES * (EPS * endpoint_bytes() + SLACK));
}

/* A peer for each end of a connection. */
static void connect_all(struct node *node, struct fid_ep **eps, fi_addr_t to)
{
	size_t pinned = pinned_now(), own = own_now();
	unsigned int i, failed = 0;
	char byte = 0;

	for (i = 0; i < EPS; i++) {
		node_trecv(node, NULL, 0, TAG, NULL);
		OK(fi_tsend(eps[i], &byte, 0, NULL, to, TAG, NULL));
	}
	node_reap(node, 2 * EPS, &failed);
	EQUAL(failed, 0);
	at_most("registered by peers", pinned, pinned_now(), 0);
	/* Objects of operations are allocated in chunks, by endpoints that had none. */
	at_most("peers", own, own_now(), TIMES * (2 * EPS * PEER + EPS * 24576 + SLACK));
}

/*
 * Messages of a few hundred bytes, each in a receive buffer. Above a limit they are only announced,
 * and complete when they are received.
 */
static void unexpected(struct node *node, struct fid_ep *ep, fi_addr_t to)
{
	size_t limit = number("FI_VERBS_RDM_UNEXPECTED_SIZE"), pinned = pinned_now();
	size_t i, k, count = limit / LEN, done = 0, size = number("FI_VERBS_RDM_BUFFER_SIZE");
	char bytes[LEN] = { 0 };
	struct fi_cq_tagged_entry entry;
	unsigned int failed = 0;
	int err;

	for (i = 0; i < count; i++) {
		OK(fi_tsend(ep, bytes, sizeof(bytes), NULL, to, TAG, NULL));
		for (k = 0; k < 200 && done <= i; k++)
			done += node_poll(node, &entry, &err);
	}
	CHECK(done < count);
	at_most("registered by unexpected messages", pinned, pinned_now(),
		limit + (RING + CHUNK) * size);
	for (i = 0; i < count; i++)
		node_trecv(node, bytes, sizeof(bytes), TAG, NULL);
	node_reap(node, (unsigned int)(2 * count - done), &failed);
	EQUAL(failed, 0);
}

/* Addresses that nobody is sent to. */
static void insert_many(struct node *node)
{
	struct sockaddr_in *addrs = calloc(ADDRS, sizeof(*addrs));
	size_t own;
	uint32_t i;

	CHECK(addrs);
	for (i = 0; i < ADDRS; i++) {
		addrs[i].sin_family = AF_INET;
		addrs[i].sin_port = htons((uint16_t)(1000 + i % 50000));
		addrs[i].sin_addr.s_addr = htonl(0x0a000001 + i / 50000);
	}
	own = own_now();
	EQUAL(fi_av_insert(node->av, addrs, ADDRS, NULL, 0, NULL), ADDRS);
	at_most("inserted addresses", own, own_now(), TIMES * (size_t)ADDRS * ADDR);
	free(addrs);
}

static void test(void)
{
	struct fid_ep *eps[EPS];
	struct node node;
	fi_addr_t to;
	int i;

	node_open(&node, NULL);
	to = node_know(&node, &node.name);
	insert_many(&node);
	open_more(&node, eps);
	connect_all(&node, eps, to);
	if (number("FI_VERBS_RDM_UNEXPECTED_SIZE") <= 1 << 20)
		unexpected(&node, eps[0], to);
	for (i = 0; i < EPS; i++)
		OK(fi_close(&eps[i]->fid));
	node_close(&node);
}

static int with(const char *buffers, const char *size, const char *budget)
{
	setenv("FI_VERBS_RDM_RX_BUFFERS", buffers, 1);
	setenv("FI_VERBS_RDM_BUFFER_SIZE", size, 1);
	setenv("FI_VERBS_RDM_UNEXPECTED_SIZE", budget, 1);
	printf("%s buffers of %s bytes\n", buffers, size);
	fflush(stdout);
	return run_test(test);
}

int main(void)
{
	int ret;

	/* A huge page of 2 MiB would take the place of the pages that were touched. */
	CHECK(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	ret = with("96", "16384", "67108864");
	return ret ? ret : with("32", "4096", "262144");
}
