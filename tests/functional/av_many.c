/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A million addresses take 45 bytes each (62 with sources) and are found again, including the one
 * that exists. They are removed and inserted again without more memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "steps.h"

enum {
	MILLION = 1000000,
	NAME = 32,
#ifdef __SANITIZE_ADDRESS__
	BYTES_EACH = 90, /* freed memory is kept for some time */
#else
	BYTES_EACH = 45,
#endif
	BYTES_SOURCE = 17, /* more if sources are looked up */
	PLACE = 765432,
};

static size_t resident(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	CHECK(file);
	EQUAL(fscanf(file, "%*u %lu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Queue pairs of the client's own host, except for one index. */
static uint8_t *make_names(struct end *client, const struct name *theirs)
{
	uint8_t *names = malloc((size_t)MILLION * NAME);
	struct name own;
	uint32_t i;

	CHECK(names);
	end_name(client, &own);
	EQUAL(own.len, NAME);
	for (i = 0; i < MILLION; i++) {
		memcpy(names + (size_t)i * NAME, own.bytes, NAME);
		names[(size_t)i * NAME + 17] = (uint8_t)(0x80 | i >> 16);
		names[(size_t)i * NAME + 18] = (uint8_t)(i >> 8);
		names[(size_t)i * NAME + 19] = (uint8_t)i;
	}
	memcpy(names + (size_t)PLACE * NAME, theirs->bytes, NAME);
	return names;
}

static void step_name(struct end *end, void *arg)
{
	end_name(end, arg);
}

static void ping(struct pair *pair, fi_addr_t addr)
{
	struct end *client = &pair->client;
	struct fi_cq_tagged_entry entry = { 0 };

	at_part(&pair->server, post_recv, 0, 200, 0);
	OK(fi_send(client->ep, client->buf, 100, client->desc, addr, NULL));
	wait_comp(client->cq, &entry);
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, 100);
}

static void empty(struct fid_av *av)
{
	fi_addr_t *all = malloc(MILLION * sizeof(*all));
	size_t i;

	CHECK(all);
	for (i = 0; i < MILLION; i++)
		all[i] = i;
	OK(fi_av_remove(av, all, MILLION, 0));
	free(all);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct name theirs = { 0 };
	size_t before, grown, most = BYTES_EACH;
	uint64_t start;
	uint8_t *names;

	OK(fi_av_remove(client->av, &client->to, 1, 0));
	at(&pair->server, step_name, &theirs, sizeof(theirs));
	names = make_names(client, &theirs);
	if (client->info->caps & FI_SOURCE)
		most += BYTES_SOURCE;
	before = resident();
	start = now_ms();
	EQUAL(fi_av_insert(client->av, names, MILLION, NULL, 0, NULL), MILLION);
	grown = resident() - before;
	printf("%d addresses in %llu ms, %.1f bytes each\n", MILLION,
	       (unsigned long long)(now_ms() - start), (double)grown / MILLION);
	CHECK(grown <= MILLION * most);
	ping(pair, PLACE);
	empty(client->av);
	EQUAL(fi_av_insert(client->av, names, MILLION, NULL, 0, NULL), MILLION);
	CHECK(resident() - before <= MILLION * most + (1 << 20));
	ping(pair, PLACE);
	free(names);
}

int main(int argc, char **argv)
{
	const struct setup setup = { .type = FI_EP_DGRAM, .caps = FI_MSG };

	return run_pair(argc, argv, &setup, test);
}
