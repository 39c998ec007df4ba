/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Strangers attack a passive endpoint while a connected pair works: private data of every length
 * with wrong length fields, requests that are abandoned before they are answered, that are never
 * completed afterward, and more requests than anybody reads. A connected stranger then sends too
 * much and accesses memory without permission. The pair is not affected.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "hostile.h"
#include "steps.h"

enum { DATA_MAX = 56, BACKLOG = 16, FLOOD = 40, GIVEN_UP = 10, MESSAGES = 8, LEN = 3000 };

static struct sockaddr_in door;

static void step_listen(struct end *end, void *arg)
{
	struct sockaddr_in *name = arg;
	size_t len = sizeof(*name);
	int backlog = BACKLOG;

	end_open(end, info_for(end->setup, local_addr(), NULL, FI_SOURCE));
	OK(fi_passive_ep(end->fabric, end->info, &end->pep, end));
	OK(fi_control(&end->pep->fid, FI_BACKLOG, &backlog));
	OK(fi_pep_bind(end->pep, &end->eq->fid, 0));
	OK(fi_listen(end->pep));
	OK(fi_getname(&end->pep->fid, name, &len));
}

static void step_serve(struct end *end, void *arg)
{
	struct fi_info *info = end_request(end, NULL, NULL);

	(void)arg;
	end->ep = end_ep(end, info);
	fi_freeinfo(info);
	OK(fi_accept(end->ep, NULL, 0));
	EQUAL(wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0), 0);
}

struct request {
	size_t len;
	uint8_t data[256];
	int ms;	      /* time to wait for it; 0: without a limit */
	bool came;    /* and was rejected */
	bool accepts; /* so an error may tell that a peer has gone */
};

static bool next_request(struct end *end, struct request *request, struct fi_info **info)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + 256];
	} event;
	uint64_t end_ms = now_ms() + (uint64_t)request->ms;
	struct fi_eq_err_entry error = { 0 };
	uint32_t type = 0;
	ssize_t len;

	for (;;) {
		len = fi_eq_read(end->eq, &type, &event, sizeof(event), 0);
		if (len == -FI_EAVAIL && request->accepts)
			RETURNS(fi_eq_readerr(end->eq, &error, 0), sizeof(error));
		else if (len != -FI_EAGAIN)
			break;
		else if (now_ms() > end_ms)
			return false;
	}
	CHECK(len >= (ssize_t)sizeof(event.entry));
	EQUAL(type, FI_CONNREQ);
	request->len = (size_t)len - sizeof(event.entry);
	memcpy(request->data, event.entry.data, request->len);
	*info = event.entry.info;
	return true;
}

static void step_reject(struct end *end, void *arg)
{
	struct request *request = arg;
	struct fi_info *info;

	request->came = next_request(end, request, &info);
	if (!request->came)
		return;
	/* Rejecting a peer that has gone fails, which does no harm. */
	(void)fi_reject(end->pep, info->handle, "no", 2);
	fi_freeinfo(info);
}

/* Reads all requests; arg gets their number. */
static void step_reject_all(struct end *end, void *arg)
{
	struct request request = { .ms = 300 };
	int *count = arg;

	for (*count = 0; step_reject(end, &request), request.came;)
		++*count;
}

/* Accepts peers that never answer, or have gone: at most this gives an error. */
static void step_accept_all(struct end *end, void *arg)
{
	struct request request = { .ms = 200, .accepts = true };
	struct fid_ep *eps[BACKLOG];
	struct fi_info *info;
	int *count = arg, i;

	for (*count = 0; *count < BACKLOG && next_request(end, &request, &info); ++*count) {
		OK(fi_endpoint(end->domain, info, &eps[*count], NULL));
		OK(fi_ep_bind(eps[*count], &end->eq->fid, 0));
		OK(fi_ep_bind(eps[*count], &end->cq->fid, FI_TRANSMIT | FI_RECV));
		OK(fi_enable(eps[*count]));
		(void)fi_accept(eps[*count], "yes", 3);
		fi_freeinfo(info);
	}
	for (i = 0; i < *count; i++)
		OK(fi_close(&eps[i]->fid));
}

/* The pair exchanges messages both ways, and RMA. */
static void exchange(struct pair *pair)
{
	struct end *client = &pair->client;
	unsigned int i;

	for (i = 0; i < MESSAGES; i++)
		at_part(&pair->server, post_recv, i * LEN, LEN, i + 1);
	for (i = 0; i < MESSAGES; i++) {
		fill(client->buf, LEN, i + 1);
		OK(fi_send(client->ep, client->buf, LEN, client->desc, 0, client));
		wait_context(client->cq, client);
	}
	for (i = 0; i < MESSAGES; i++)
		at_part(&pair->server, reap_recv, i * LEN, LEN, i + 1);
}

static void ask_as_is(struct foe *foe, const void *data, size_t len)
{
	foe_open(foe, NULL);
	CHECK(foe_ask(foe, &door, data, len, false));
}

/*
 * Each length, correct and wrong: the data arrives up to the smaller of the real and the stated
 * length.
 */
static void all_lengths(struct pair *pair)
{
	static const uint8_t claims[] = { 0, 1, 55, 56, 57, 255 };
	struct request request;
	uint8_t data[DATA_MAX];
	size_t len, most;
	struct foe foe;

	for (len = 0; len <= DATA_MAX; len += len < 3 || len > 50 ? 1 : 7) {
		fill(data, sizeof(data), (unsigned int)len);
		if (len)
			data[0] = claims[len % ARRAY_SIZE(claims)];
		ask_as_is(&foe, data, len);
		request = (struct request){ .ms = 5000 };
		at(&pair->server, step_reject, &request, sizeof(request));
		if (!request.came)
			FAIL("a request with %zu bytes of private data did not come", len);
		most = len ? data[0] : 0;
		CHECK(request.len <= most && request.len <= DATA_MAX);
		if (len > 1)
			CHECK(!memcmp(request.data, data + 1,
				      request.len < len - 1 ? request.len : len - 1));
		EQUAL(foe_await(&foe, FOE_MS), FOE_REJECTED);
		foe_close(&foe);
	}
	exchange(pair);
}

static void given_up(struct pair *pair)
{
	struct foe foes[GIVEN_UP];
	int i, count;

	for (i = 0; i < GIVEN_UP; i++)
		ask_as_is(&foes[i], "\1x", 2);
	exchange(pair);
	for (i = 0; i < GIVEN_UP; i++)
		foe_close(&foes[i]);
	at(&pair->server, step_accept_all, &count, sizeof(count));
	printf("%d requests were accepted of peers that had gone\n", count);
	for (i = 0; i < GIVEN_UP; i++)
		ask_as_is(&foes[i], "\1x", 2);
	at(&pair->server, step_accept_all, &count, sizeof(count));
	EQUAL(count, GIVEN_UP);
	exchange(pair);
	for (i = 0; i < GIVEN_UP; i++)
		foe_close(&foes[i]);
}

/* Nobody reads: the library keeps no more requests than the backlog. */
static void flood(struct pair *pair)
{
	struct foe foes[FLOOD];
	uint64_t limit = deadline();
	int i, count, refused = 0;

	for (i = 0; i < FLOOD; i++)
		ask_as_is(&foes[i], "\1x", 2);
	exchange(pair);
	for (i = 0; refused < FLOOD - BACKLOG; i = (i + 1) % FLOOD) {
		refused += foe_await(&foes[i], 0) == FOE_REJECTED;
		pause_until(limit, "the refusal of requests that nobody reads");
	}
	at(&pair->server, step_reject_all, &count, sizeof(count));
	printf("%d of %d requests waited for an application that does not read\n", count, FLOOD);
	CHECK(count > 0 && count <= BACKLOG);
	for (i = 0; i < FLOOD; i++)
		foe_close(&foes[i]);
}

static void step_endpoint(struct end *end, void *arg)
{
	static struct fid_ep *guest;
	struct request request = { .ms = 5000 };
	struct fi_cq_tagged_entry entry;
	struct fi_info *info;

	if (*(int *)arg) {
		struct fi_cq_err_entry error = { 0 };
		uint64_t limit = deadline();

		/* Its receive was too short for the message. */
		while (fi_cq_read(end->rxcq, &entry, 1) != -FI_EAVAIL)
			pause_until(limit, "the error of a stranger's endpoint");
		RETURNS(fi_cq_readerr(end->rxcq, &error, 0), 1);
		CHECK(error.err);
		OK(fi_close(&guest->fid));
		while (fi_cq_read(end->rxcq, &entry, 1) != -FI_EAGAIN)
			pause_until(limit, "an empty queue");
		return;
	}
	CHECK(next_request(end, &request, &info));
	guest = end_ep(end, info);
	OK(fi_recv(guest, end->buf + 60000, 8, end->desc, 0, NULL));
	OK(fi_accept(guest, NULL, 0));
	fi_freeinfo(info);
}

/* A stranger whose connection is accepted sends more than fits. */
static void guest(struct pair *pair)
{
	uint8_t bytes[512] = { 0 };
	struct foe foe;
	int end = 0;

	foe_open(&foe, NULL);
	CHECK(foe_ask(&foe, &door, "", 0, true));
	at(&pair->server, step_endpoint, &end, sizeof(end));
	EQUAL(foe_await(&foe, FOE_MS), FOE_UP);
	exchange(pair);
	CHECK(foe_say(&foe, bytes, sizeof(bytes)) != IBV_WC_SUCCESS);
	end = 1;
	at(&pair->server, step_endpoint, &end, sizeof(end));
	foe_close(&foe);
	exchange(pair);
}

/* One event of the stranger remains: its disconnection. */
static void step_drain(struct end *end, void *arg)
{
	struct fi_eq_err_entry error;
	uint8_t event[512];
	uint32_t type;
	ssize_t ret;

	(void)arg;
	while ((ret = fi_eq_read(end->eq, &type, event, sizeof(event), 0)) != -FI_EAGAIN)
		if (ret == -FI_EAVAIL)
			fi_eq_readerr(end->eq, &error, 0);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct place place = { 0 };

	at(&pair->server, step_listen, &door, sizeof(door));
	CHECK(inet_ntop(AF_INET, &door.sin_addr, place.node, sizeof(place.node)));
	snprintf(place.service, sizeof(place.service), "%u", ntohs(door.sin_port));
	end_aim(client, &place);
	OK(fi_connect(client->ep, client->info->dest_addr, NULL, 0));
	at(&pair->server, step_serve, NULL, 0);
	wait_event(client->eq, FI_CONNECTED, &client->ep->fid, NULL, 0);
	exchange(pair);
	all_lengths(pair);
	given_up(pair);
	at(&pair->server, step_drain, NULL, 0);
	flood(pair);
	at(&pair->server, step_drain, NULL, 0);
	guest(pair);
	end_close(client);
	at(&pair->server, step_end_close, NULL, 0);
}

int main(void)
{
	static const struct setup setup = { .rx_size = 64 };

	return run_two_processes(&setup, test);
}
