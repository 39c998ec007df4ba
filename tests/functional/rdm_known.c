/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_VERBS_PEERS=known: a peer that is not in the address vector is refused until it is inserted;
 * the endpoint still reaches its own peers. An unknown value of the parameter is refused. Names
 * that strangers use are forgotten when they leave.
 */
#include <malloc.h>
#include <stdlib.h>
#include "rdm_node.h"
#include "stranger.h"

enum { TAG = 1, NAMES = 60, ROOM = 40000 };

/* Sends its name, is connected to while it knows nobody, and then inserts the other. */
static void choosy(struct child *parent, void *arg)
{
	struct sockaddr_in name;
	struct node node;
	uint32_t word = 0;

	(void)arg;
	setenv("FI_VERBS_PEERS", "known", 1);
	node_open(&node, NULL);
	child_say(parent, &node.name.in, sizeof(node.name.in));
	child_hear(parent, &name, sizeof(name));
	node_know(&node, &name);
	child_say(parent, &word, 1);
	node_trecv(&node, &word, sizeof(word), TAG, NULL);
	node_wait(&node);
	EQUAL(word, 7);
	node_close(&node);
}

static void refused_until_known(struct child *child)
{
	unsigned int failed = 0;
	struct fi_cq_tagged_entry entry;
	struct sockaddr_in name;
	uint64_t end = deadline();
	uint32_t word = 7;
	struct node node;
	fi_addr_t to;
	int err;

	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "600", 1);
	node_open(&node, NULL);
	unsetenv("FI_VERBS_RDM_CONNECT_TIMEOUT");
	child_hear(child, &name, sizeof(name));
	to = node_know(&node, &name);
	node_tsend(&node, &word, sizeof(word), to, TAG);
	while (!node_poll(&node, &entry, &err))
		pause_until(end, "the refusal");
	EQUAL(err, FI_EACCES);
	child_say(child, &node.name.in, sizeof(node.name.in));
	child_hear(child, &name, 1);
	node_tsend(&node, &word, sizeof(word), to, TAG);
	node_reap(&node, 1, &failed);
	EQUAL(failed, 0);
	child_end(child);
	node_close(&node);
}

/* One connection after the other, each with another name. */
static void many_names(struct child *parent, void *arg)
{
	struct claim claim = { .incarnation = 5, .serial = 1 };
	struct stranger stranger;
	struct sockaddr_in name;
	unsigned int i;
	char part;

	(void)arg;
	child_hear(parent, &name, sizeof(name));
	claim.name = name;
	for (i = 0; i < 2 * NAMES; i++) {
		claim.name.sin_port = htons((uint16_t)(1 + i));
		CHECK(stranger_asks(&stranger, &name, &claim));
		stranger_leaves(&stranger);
		if (i != NAMES && i != 2 * NAMES - 1)
			continue;
		child_say(parent, "n", 1);
		child_hear(parent, &part, 1);
	}
}

static void names_are_forgotten(struct child *child)
{
	uint64_t end = deadline();
	struct node node;
	size_t before;
	char part;

	node_open(&node, NULL);
	child_say(child, &node.name.in, sizeof(node.name.in));
	child_hear(child, &part, 1);
	sleep_ms(200);
	before = mallinfo2().uordblks;
	child_say(child, "n", 1);
	child_hear(child, &part, 1);
	while (mallinfo2().uordblks >= before + ROOM)
		pause_until(end, "that names are forgotten");
	child_say(child, "n", 1);
	child_end(child);
	node_close(&node);
}

static void nonsense(struct child *parent, void *arg)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;

	(void)parent;
	(void)arg;
	hints->ep_attr->type = FI_EP_RDM;
	setenv("FI_VERBS_PEERS", "friends", 1);
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
	RETURNS(fi_endpoint(domain, info, &ep, NULL), -FI_EINVAL);
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void test(void)
{
	struct child children[] = { child_start(choosy, NULL), child_start(many_names, NULL),
				    child_start(nonsense, NULL) };

	refused_until_known(&children[0]);
	names_are_forgotten(&children[1]);
	child_end(&children[2]);
}

int main(void)
{
	return run_test(test);
}
