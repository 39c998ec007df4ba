/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A table in the memory of the server, which the client fills and reads by RMA. The server's
 * program is not involved. A slot is claimed by comparing and swapping its key, so that several
 * clients could use the table.
 */
#include <inttypes.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "example.h"

enum { SLOTS = 64, VALUE = 48, WORDS = 5 };

struct slot {
	uint64_t key; /* 0 while the slot is free */
	char value[VALUE];
};

struct place {
	uint64_t addr, key;
};

static struct slot table[SLOTS];
static struct place remote; /* the table of the server */

static uint64_t slot_addr(uint64_t slot)
{
	return remote.addr + slot * sizeof(struct slot);
}

/* FNV-1a. The key 0 means a free slot, so it is never returned. */
static uint64_t hash(const char *word)
{
	uint64_t key = 0xcbf29ce484222325;

	while (*word)
		key = (key ^ (uint8_t)*word++) * 0x100000001b3;
	return key ? key : 1;
}

/* guide: claim */
/* Returns the key that the slot had: 0 if it is the caller's now. */
static uint64_t claim(struct node *n, uint64_t slot, uint64_t key)
{
	uint64_t nobody = 0, before;
	struct op done = { 0 };

	while (full(n,
		    fi_compare_atomic(n->ep, &key, 1, NULL, &nobody, NULL, &before, NULL, n->peer,
				      slot_addr(slot), remote.key, FI_UINT64, FI_CSWAP, &done),
		    "fi_compare_atomic"))
		;
	wait_for(n, &done);
	return before;
}
/* guide: end */

/* guide: put */
static bool put(struct node *n, const char *word, const char *value)
{
	uint64_t key = hash(word), before, i, slot;
	struct op done = { 0 };
	char copy[VALUE] = { 0 };

	snprintf(copy, sizeof(copy), "%s", value);
	for (i = 0; i < SLOTS; i++) {
		slot = (key + i) % SLOTS;
		before = claim(n, slot, key);
		if (before && before != key)
			continue; /* taken by another key */
		while (full(n,
			    fi_write(n->ep, copy, sizeof(copy), NULL, n->peer,
				     slot_addr(slot) + offsetof(struct slot, value), remote.key,
				     &done),
			    "fi_write"))
			;
		wait_for(n, &done);
		return true;
	}
	return false;
}
/* guide: end */

/* guide: get */
static bool get(struct node *n, const char *word, struct slot *slot)
{
	uint64_t key = hash(word), i;
	struct op done = { 0 };

	for (i = 0; i < SLOTS; i++) {
		while (full(n,
			    fi_read(n->ep, slot, sizeof(*slot), NULL, n->peer,
				    slot_addr((key + i) % SLOTS), remote.key, &done),
			    "fi_read"))
			;
		wait_for(n, &done);
		if (!slot->key || slot->key == key)
			return slot->key;
	}
	return false;
}
/* guide: end */

static void use(struct node *n)
{
	static const char *const words[WORDS][2] = { { "weft", "the threads across" },
						     { "warp", "the threads along" },
						     { "shuttle", "carries the weft" },
						     { "loom", "holds the warp" },
						     { "weft", "what crosses the warp" } };
	static const char *const asked[] = { "weft", "loom", "spindle" };
	struct slot slot;

	for (int i = 0; i < WORDS; i++)
		if (!put(n, words[i][0], words[i][1]))
			fprintf(stderr, "no room for %s\n", words[i][0]);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		printf("%s: %s\n", asked[i], get(n, asked[i], &slot) ? slot.value : "not there");
}

int main(int argc, char **argv)
{
	struct place mine = { 0 };
	struct fid_mr *mr;
	int used = 0;
	struct node n;

	node_open(&n,
		  new_hints(FI_MSG | FI_RMA | FI_ATOMIC,
			    FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY),
		  argc, argv, "The client keeps words in the server's memory.");
	node_meet(&n);
	must(fi_mr_reg(n.domain, table, sizeof(table), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0,
		       &mr, NULL),
	     "fi_mr_reg");
	mine.key = fi_mr_key(mr);
	if (n.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR)
		mine.addr = (uintptr_t)table;
	exchange(&n, &mine, &remote, sizeof(mine));
	if (n.client)
		use(&n);
	exchange(&n, &mine, &remote, sizeof(mine)); /* the client is done */
	for (int i = 0; i < SLOTS; i++)
		used += table[i].key != 0;
	if (!n.client)
		printf("%d of %d slots are used\n", used, SLOTS);
	must(fi_close(&mr->fid), "fi_close");
	node_close(&n);
	return 0;
}
