/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * On datagrams, the name of an endpoint says which queue pair takes requests, so the first message
 * needs no connection manager. A program that knows only the address and the port, a name with
 * other bytes there, and the name of an endpoint that was closed since reach the endpoint, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rdm_node.h"

#define SERVICE	 "7494"
#define REQUESTS "/sys/class/infiniband/%s/ports/1/cm_tx_msgs/sidr_req"

enum { TAG = 3 };

/* Returns how many service ID resolutions the device has requested. */
static unsigned int requests(const struct node *node)
{
	unsigned int count = 0;
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), REQUESTS, node->info->domain_attr->name);
	file = fopen(path, "r");
	CHECK(file);
	EQUAL(fscanf(file, "%u", &count), 1);
	fclose(file);
	return count;
}

static void exchange(struct node *from, struct node *to, fi_addr_t addr)
{
	static unsigned int number;
	unsigned int sent = ++number, got = 0;
	struct fi_cq_tagged_entry entry;
	int err, left = 2;

	node_trecv(to, &got, sizeof(got), TAG, NULL);
	OK(fi_tsend(from->ep, &sent, sizeof(sent), NULL, addr, TAG, NULL));
	while (left) {
		left -= node_poll(from, &entry, &err);
		left -= node_poll(to, &entry, &err);
		EQUAL(err, 0);
	}
	EQUAL(got, sent);
}

/*
 * Sends a message to an endpoint with that name, and one back, from an endpoint that has met
 * another one on the host. Returns how often it asked the connection manager.
 */
static unsigned int meet(struct node *to, const struct sockaddr_in *name)
{
	struct node from, other;
	unsigned int before;

	node_open(&from, NULL);
	node_open(&other, NULL);
	before = requests(&from);
	exchange(&from, &other, node_know(&from, &other.name));
	EQUAL(requests(&from) - before, 1);
	node_close(&other);
	before = requests(&from);
	exchange(&from, to, node_know(&from, name));
	exchange(to, &from, node_know(to, &from.name));
	before = requests(&from) - before;
	node_close(&from);
	return before;
}

static bool has_hint(const struct sockaddr_in *in)
{
	static const uint8_t zero[sizeof(in->sin_zero)];

	return memcmp(in->sin_zero, zero, sizeof(zero));
}

static void test(void)
{
	struct sockaddr_in name, bare, garbage;
	struct node node;

	node_open(&node, SERVICE);
	name = bare = garbage = node.name.in;
	CHECK(has_hint(&name));
	memset(bare.sin_zero, 0, sizeof(bare.sin_zero));
	memset(garbage.sin_zero, 0xa5, sizeof(garbage.sin_zero));
	EQUAL(meet(&node, &name), 0);
	EQUAL(meet(&node, &bare), 1);
	EQUAL(meet(&node, &garbage), 1);
	/* Another endpoint has the address then. */
	node_close(&node);
	node_open(&node, SERVICE);
	CHECK(memcmp(&name, &node.name.in, sizeof(name)));
	EQUAL(meet(&node, &name), 1);
	EQUAL(meet(&node, &node.name.in), 0);
	node_close(&node);
}

/* Connections have no such queue pair. */
static void test_rc(void)
{
	struct node node;

	setenv("FI_VERBS_RDM_TRANSPORT", "rc", 1);
	node_open(&node, NULL);
	CHECK(!has_hint(&node.name.in));
	node_close(&node);
}

int main(void)
{
	setenv("FI_VERBS_RDM_TRANSPORT", "ud", 1);
	return run_test(test) || run_test(test_rc);
}
