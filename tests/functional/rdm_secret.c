/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The job secret: endpoints with the same one reach each other; with different ones, or if only one
 * of two has one, operations fail at once. A stranger that claims to have it learns nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rdma/fi_rma.h>
#include "rdm_node.h"
#include "stranger.h"

enum { TAG = 1, SOON_MS = 4000, PROVE_MS = 12000, STRANGER_LONELY = 11, STRANGER_FLAG = 2 };

struct keys {
	const char *env, *file, *attr; /* NULL: none */
};

struct side {
	struct keys keys;
	bool asks;
	int err;
};

static const char *write_key(const char *key, mode_t mode)
{
	static char path[] = "/tmp/weft-key-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0 && write(fd, key, strlen(key)) == (ssize_t)strlen(key));
	CHECK(!fchmod(fd, mode));
	close(fd);
	return path;
}

static void take_keys(const struct keys *keys)
{
	if (keys->env)
		setenv("FI_VERBS_AUTH_KEY", keys->env, 1);
	if (keys->file)
		setenv("FI_VERBS_AUTH_KEY_FILE", write_key(keys->file, 0600), 1);
	node_auth_key = keys->attr;
}

static void say_and_hear(struct node *node, fi_addr_t to, bool asks)
{
	uint64_t out = asks ? 5 : 6, in = 0;

	node_trecv(node, &in, sizeof(in), TAG, NULL);
	if (!asks) {
		node_wait(node);
		EQUAL(in, 5);
	}
	node_tsend(node, &out, sizeof(out), to, TAG);
	node_wait(node);
	if (asks) {
		node_wait(node);
		EQUAL(in, 6);
	}
}

/* How the operation fails, within this many ms. */
static int failure(struct node *node, fi_addr_t to, uint64_t ms)
{
	uint64_t start = now_ms(), end = deadline(), word = 1;
	struct fi_cq_tagged_entry entry;
	int err;

	node_tsend(node, &word, sizeof(word), to, TAG);
	while (!node_poll(node, &entry, &err))
		pause_until(end, "the refusal");
	CHECK(now_ms() - start < ms);
	return err;
}

static void one_side(struct child *parent, void *arg)
{
	const struct side *side = arg;
	struct sockaddr_in name;
	struct node node;
	fi_addr_t to;
	char end;

	take_keys(&side->keys);
	node_open(&node, NULL);
	child_say(parent, &node.name.in, sizeof(node.name.in));
	child_hear(parent, &name, sizeof(name));
	to = node_know(&node, &name);
	if (!side->err)
		say_and_hear(&node, to, side->asks);
	else if (side->asks)
		EQUAL(failure(&node, to, SOON_MS), side->err);
	child_say(parent, "e", 1);
	child_hear(parent, &end, 1);
	node_close(&node);
}

static void both(struct keys asks, struct keys is_asked, int err)
{
	struct side sides[2] = { { is_asked, false, err }, { asks, true, err } };
	struct sockaddr_in names[2];
	struct child children[2];
	char end;
	int i;

	for (i = 0; i < 2; i++) {
		children[i] = child_start(one_side, &sides[i]);
		child_hear(&children[i], &names[i], sizeof(names[i]));
	}
	for (i = 0; i < 2; i++)
		child_say(&children[i], &names[!i], sizeof(names[i]));
	for (i = 0; i < 2; i++)
		child_hear(&children[i], &end, 1);
	for (i = 0; i < 2; i++) {
		child_say(&children[i], "e", 1);
		child_end(&children[i]);
	}
}

/* A file that others may read is refused as a secret. */
static void open_file(struct child *parent, void *arg)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;

	(void)parent;
	(void)arg;
	hints->ep_attr->type = FI_EP_RDM;
	setenv("FI_VERBS_AUTH_KEY_FILE", write_key("key", 0644), 1);
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
	RETURNS(fi_endpoint(domain, info, &ep, NULL), -FI_EACCES);
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void guarded(struct child *parent, void *arg)
{
	struct sockaddr_in name;
	struct node node;

	(void)arg;
	setenv("FI_VERBS_AUTH_KEY", "abc", 1);
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "1500", 1);
	node_open(&node, NULL);
	child_say(parent, &node.name.in, sizeof(node.name.in));
	/* The endpoint sends to the stranger's name, once the stranger has connected. */
	child_hear(parent, &name, sizeof(name));
	CHECK(failure(&node, node_know(&node, &name), PROVE_MS));
	child_say(parent, "e", 1);
	node_close(&node);
}

static void stranger_is_told_nothing(void)
{
	struct child child = child_start(guarded, NULL);
	struct claim claim = { .incarnation = 5, .serial = 1 };
	struct stranger stranger;
	struct sockaddr_in name;
	char end;

	child_hear(&child, &name, sizeof(name));
	claim.name = name;
	claim.name.sin_port = htons(9);
	CHECK(!stranger_asks(&stranger, &name, &claim));
	EQUAL(stranger.reason, STRANGER_LONELY);
	claim.flags = STRANGER_FLAG;
	CHECK(stranger_asks(&stranger, &name, &claim));
	child_say(&child, &claim.name, sizeof(name));
	child_hear(&child, &end, 1);
	CHECK(!stranger_got(&stranger));
	child_end(&child);
	stranger_leaves(&stranger);
}

static void test(void)
{
	const struct keys none = { NULL, NULL, NULL }, abc = { "abc", NULL, NULL },
			  abd = { "abd", NULL, NULL }, file = { NULL, "abc\n", NULL },
			  attr = { "wrong", NULL, "abc" };
	struct child child;

	both(abc, abc, 0);
	both(attr, file, 0);
	both(abc, abd, FI_EKEYREJECTED);
	both(abc, none, FI_EKEYREJECTED);
	both(none, abc, FI_EKEYREJECTED);
	child = child_start(open_file, NULL);
	child_end(&child);
	stranger_is_told_nothing();
}

int main(void)
{
	return run_test(test);
}
