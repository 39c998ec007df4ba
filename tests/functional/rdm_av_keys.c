/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Authorization keys of an address vector (FI_AV_AUTH_KEY): an endpoint reaches peers of several
 * jobs, each with the key of its address, and is reached by them; a peer with another key, or
 * without an address here, is not.
 */
#include "rdm_node.h"

#include <string.h>

enum { TAG = 1, MOST_KEYS = 64 };

static struct node hub, red, blue, green;
static fi_addr_t red_key, blue_key;

static fi_addr_t know_with(const struct node *peer, fi_addr_t key)
{
	fi_addr_t addr = key;

	RETURNS(fi_av_insert(hub.av, &peer->name, 1, &addr, FI_AUTH_KEY, NULL), 1);
	CHECK(addr != key);
	return addr;
}

static void open_job(struct node *node, const char *key)
{
	node_auth_key = key;
	node_open(node, NULL);
	node_auth_key = NULL;
}

static void open_hub(void)
{
	node_av_keys = true;
	node_open(&hub, NULL);
	node_av_keys = false;
	EQUAL(hub.info->domain_attr->auth_key_size, FI_AV_AUTH_KEY);
	EQUAL(hub.info->domain_attr->max_ep_auth_key, MOST_KEYS);
	OK(fi_av_insert_auth_key(hub.av, "red", 3, &red_key, 0));
	OK(fi_av_insert_auth_key(hub.av, "blue", 4, &blue_key, 0));
}

static void poll_all(void)
{
	struct node *const nodes[] = { &hub, &red, &blue, &green };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nodes); i++)
		fi_cq_read(nodes[i]->cq, NULL, 0);
}

static int result(struct node *node)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	int err;

	while (!node_poll(node, &entry, &err)) {
		poll_all();
		pause_until(end, "a completion");
	}
	return err;
}

/* A message from one to the other, and its fate at the sender. */
static void message(struct node *from, struct node *to, fi_addr_t addr, int err)
{
	static uint64_t word, got;

	word++;
	if (!err)
		node_trecv(to, &got, sizeof(got), TAG, NULL);
	node_tsend(from, &word, sizeof(word), addr, TAG);
	EQUAL(result(from), err);
	if (err)
		return;
	EQUAL(result(to), 0);
	EQUAL(got, word);
}

static void keys_are_found(fi_addr_t at_red)
{
	char text[8] = "";
	size_t len = 2;

	RETURNS(fi_av_lookup_auth_key(hub.av, at_red, text, &len), -FI_ETOOSMALL);
	EQUAL(len, 3);
	OK(fi_av_lookup_auth_key(hub.av, at_red, text, &len));
	CHECK(len == 3 && !memcmp(text, "red", 3));
	len = sizeof(text);
	OK(fi_av_lookup_auth_key(hub.av, blue_key, text, &len));
	CHECK(len == 4 && !memcmp(text, "blue", 4));
	RETURNS(fi_av_lookup_auth_key(hub.av, 1000, text, &len), -FI_EINVAL);
	RETURNS(fi_av_lookup_auth_key(hub.av, at_red, NULL, &len), -FI_EINVAL);
}

static void bad(void)
{
	fi_addr_t key, addr = red_key + 2, user[1] = { red_key };
	int i;

	RETURNS(fi_av_insert(hub.av, &red.name, 1, &addr, FI_AUTH_KEY, NULL), -FI_EINVAL);
	RETURNS(fi_av_insert(hub.av, &red.name, 1, NULL, FI_AUTH_KEY, NULL), -FI_EINVAL);
	RETURNS(fi_av_insert(hub.av, &red.name, 1, user, FI_AUTH_KEY | FI_AV_USER_ID, NULL),
		-FI_EINVAL);
	RETURNS(fi_av_insert_auth_key(hub.av, "x", 0, &key, 0), -FI_EINVAL);
	RETURNS(fi_av_insert_auth_key(hub.av, NULL, 1, &key, 0), -FI_EINVAL);
	RETURNS(fi_av_insert_auth_key(hub.av, "x", 1, NULL, 0), -FI_EINVAL);
	RETURNS(fi_av_insert_auth_key(hub.av, "x", 1, &key, FI_MORE), -FI_EBADFLAGS);
	RETURNS(fi_av_insert_auth_key(red.av, "x", 1, &key, 0), -FI_ENOSYS);
	RETURNS(fi_av_insert(red.av, &hub.name, 1, &addr, FI_AUTH_KEY, NULL), -FI_EBADFLAGS);
	for (i = 2; i < MOST_KEYS; i++)
		OK(fi_av_insert_auth_key(hub.av, "x", 1, &key, 0));
	RETURNS(fi_av_insert_auth_key(hub.av, "x", 1, &key, 0), -FI_ENOSPC);
}

static void test(void)
{
	fi_addr_t at_red, at_blue, at_green;

	open_hub();
	open_job(&red, "red");
	open_job(&blue, "blue");
	open_job(&green, "green");
	at_red = know_with(&red, red_key);
	at_blue = know_with(&blue, blue_key);
	keys_are_found(at_red);
	/* The hub begins, and is asked. */
	message(&hub, &red, at_red, 0);
	message(&red, &hub, node_know(&red, &hub.name), 0);
	message(&blue, &hub, node_know(&blue, &hub.name), 0);
	message(&hub, &blue, at_blue, 0);
	/* Not in the address vector, and then with a wrong key. */
	message(&green, &hub, node_know(&green, &hub.name), FI_EKEYREJECTED);
	at_green = know_with(&green, red_key);
	message(&hub, &green, at_green, FI_EKEYREJECTED);
	bad();
	message(&hub, &red, at_red, 0);
	node_close(&green);
	node_close(&blue);
	node_close(&red);
	node_close(&hub);
}

int main(void)
{
	return run_test(test);
}
