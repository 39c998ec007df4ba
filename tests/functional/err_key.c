/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Remote memory is protected: a wrong key, a range outside the region and missing access rights
 * give FI_EKEYREJECTED.
 */
#include <stdio.h>
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "steps.h"

#define LEN 64

enum what { WRONG_KEY, BEHIND, BEFORE, WRAPPED, READ_ONLY, WRITE_ONLY, NO_ATOMIC, GONE, CASES };

struct region {
	uint64_t access;
	struct target target;
};

/* The region stays registered until its end is closed. */
static struct fid_mr *region_mr;

static void step_reg(struct end *end, void *arg)
{
	struct region *region = arg;

	end_reg(end, end->buf, 4096, region->access, &region_mr);
	region->target = (struct target){ (uintptr_t)end->buf, fi_mr_key(region_mr) };
}

static void step_unreg(struct end *end, void *arg)
{
	(void)end;
	(void)arg;
	OK(fi_close(&region_mr->fid));
}

static ssize_t post(struct end *end, enum what what, const struct target *target)
{
	void *local = end->buf;

	switch (what) {
	case WRONG_KEY:
		return fi_write(end->ep, local, LEN, end->desc, 0, target->addr,
				target->key ^ 0x5500, local);
	case BEHIND:
		return fi_write(end->ep, local, LEN, end->desc, 0, target->addr + 4096 - LEN + 1,
				target->key, local);
	case BEFORE:
		return fi_read(end->ep, local, LEN, end->desc, 0, target->addr - 1, target->key,
			       local);
	case WRAPPED:
		return fi_read(end->ep, local, LEN, end->desc, 0, UINT64_MAX - 3, target->key,
			       local);
	case WRITE_ONLY:
		return fi_read(end->ep, local, LEN, end->desc, 0, target->addr, target->key, local);
	case NO_ATOMIC:
		return fi_fetch_atomic(end->ep, local, 1, end->desc, local, end->desc, 0,
				       target->addr, target->key, FI_UINT64, FI_SUM, local);
	default:
		return fi_write(end->ep, local, LEN, end->desc, 0, target->addr, target->key,
				local);
	}
}

static void one(struct pair *pair, enum what current)
{
	uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct end *client = &pair->client;
	struct fi_cq_err_entry error;
	struct region region;
	char text[512];

	if (current == READ_ONLY || current == NO_ATOMIC)
		access = FI_REMOTE_READ;
	else if (current == WRITE_ONLY)
		access = FI_REMOTE_WRITE;
	region.access = access;
	at_part(&pair->server, clear_part, 0, 8192, 0);
	memset(client->buf, 0x77, 4096);
	at(&pair->server, step_reg, &region, sizeof(region));
	if (current == GONE)
		at(&pair->server, step_unreg, NULL, 0);

	OK(post(client, current, &region.target));
	wait_error(client->cq, &error);
	EQUAL(error.err, FI_EKEYREJECTED);
	EQUAL(error.op_context, client->buf);
	fi_cq_strerror(client->cq, error.prov_errno, error.err_data, text, sizeof(text));
	CHECK(strstr(text, "access"));
	at_part(&pair->server, check_zero, 0, 8192, 0);
	if (current != GONE)
		at(&pair->server, step_unreg, NULL, 0);
}

static void test(struct pair *pair)
{
	enum what what;

	for (what = 0; what < CASES; what++) {
		printf("case %d\n", (int)what);
		pair_open(pair);
		one(pair, what);
		pair_close(pair);
	}
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_unconnected(argc, argv, &setup, test);
}
