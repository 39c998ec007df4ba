/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* 64 connections made at the same time are all established, each with its own peer, and all end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "steps.h"

#define EPS 64

union wide_entry {
	struct fi_eq_cm_entry entry;
	uint8_t room[sizeof(struct fi_eq_cm_entry) + 256];
};

static struct fid_ep *eps[EPS]; /* of this process' end */

static size_t index_of(const struct fid *fid)
{
	size_t i;

	for (i = 0; i < EPS; i++)
		if (eps[i] && &eps[i]->fid == fid)
			return i;
	FAIL("an event of an unknown endpoint");
}

static void step_listen(struct end *end, void *arg)
{
	int backlog = EPS;

	end_open(end, info_for(end->setup, local_addr(), NULL, FI_SOURCE));
	OK(fi_passive_ep(end->fabric, end->info, &end->pep, NULL));
	OK(fi_control(&end->pep->fid, FI_BACKLOG, &backlog));
	OK(fi_close(&end->pep->fid));
	end_listen(end, local_addr(), arg);
}

/* The request's data is the client's number, which the reply returns. */
static void accept_one(struct end *end, const union wide_entry *wide)
{
	static int count;
	int number;

	CHECK(count < EPS);
	memcpy(&number, wide->entry.data, sizeof(number));
	eps[count] = end_ep(end, wide->entry.info);
	OK(fi_recv(eps[count], end->buf + number * 64, 64, end->desc, 0,
		   (void *)(uintptr_t)number));
	OK(fi_accept(eps[count], &number, sizeof(number)));
	fi_freeinfo(wide->entry.info);
	count++;
}

static void read_event(struct end *end, uint32_t *event, union wide_entry *wide)
{
	uint64_t limit = deadline();
	ssize_t ret;

	while ((ret = fi_eq_sread(end->eq, event, wide, sizeof(*wide), 1000, 0)) == -FI_EAGAIN)
		pause_until(limit, "an event");
	CHECK(ret >= (ssize_t)sizeof(wide->entry));
}

static void step_serve(struct end *end, void *arg)
{
	union wide_entry wide;
	int connected = 0;
	uint32_t event;

	(void)arg;
	while (connected < EPS) {
		read_event(end, &event, &wide);
		if (event == FI_CONNREQ) {
			accept_one(end, &wide);
			continue;
		}
		EQUAL(event, FI_CONNECTED);
		index_of(wide.entry.fid);
		connected++;
	}
}

static void step_check(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	size_t i, number;

	(void)arg;
	for (i = 0; i < EPS; i++) {
		wait_comp(end->rxcq, &entry);
		number = (size_t)entry.op_context;
		CHECK_FILLED(end->buf + number * 64, 64, (unsigned int)number);
	}
}

static void step_close(struct end *end, void *arg)
{
	size_t i;

	(void)arg;
	for (i = 0; i < EPS; i++)
		OK(fi_close(&eps[i]->fid));
	end_close(end);
}

/* All fi_connect calls are made before the first request is accepted. */
static void start_all(struct end *end, const struct place *place)
{
	int i;

	end_open(end, info_for(end->setup, place->node, place->service, 0));
	for (i = 0; i < EPS; i++)
		eps[i] = end_ep(end, end->info);
	for (i = 0; i < EPS; i++)
		OK(fi_connect(eps[i], end->info->dest_addr, &i, sizeof(i)));
}

static void wait_all(struct end *end)
{
	bool seen[EPS] = { false };
	union wide_entry wide;
	uint32_t event;
	int number;
	size_t i, n;

	for (i = 0; i < EPS; i++) {
		read_event(end, &event, &wide);
		EQUAL(event, FI_CONNECTED);
		n = index_of(wide.entry.fid);
		memcpy(&number, wide.entry.data, sizeof(number));
		EQUAL(number, n);
		CHECK(!seen[n]);
		seen[n] = true;
	}
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct place place;
	uint8_t buf[64];
	int i;

	at(&pair->server, step_listen, &place, sizeof(place));
	start_all(client, &place);
	at(&pair->server, step_serve, NULL, 0);
	wait_all(client);
	for (i = 0; i < EPS; i++) {
		fill(buf, sizeof(buf), (unsigned int)i);
		OK(fi_inject(eps[i], buf, sizeof(buf), 0));
	}
	at(&pair->server, step_check, NULL, 0);
	step_close(client, NULL);
	at(&pair->server, step_close, NULL, 0);
}

int main(void)
{
	static const struct setup setup = { 0 };

	return run_two_processes(&setup, test);
}
