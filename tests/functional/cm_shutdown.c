/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A shutdown from either side, by fi_shutdown, by fi_close or from both: each open endpoint gets
 * exactly one FI_SHUTDOWN, every outstanding operation completes exactly once with FI_ECANCELED,
 * and posting then reports that there is no connection.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <rdma/fi_rma.h>
#include "steps.h"

#define RECVS 30
#define SENDS 12

enum who { CLIENT, SERVER, BOTH, CLIENT_CLOSES, SERVER_CLOSES, CASES };

static void step_post(struct end *end, void *arg)
{
	uint64_t i;

	(void)arg;
	for (i = 0; i < RECVS; i++)
		OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, (void *)(uintptr_t)i));
}

static void step_shutdown(struct end *end, void *arg)
{
	if (*(bool *)arg) {
		OK(fi_close(&end->ep->fid));
		end->ep = NULL;
	} else {
		OK(fi_shutdown(end->ep, 0));
	}
}

/* Each context completes once, canceled and in order; then there is nothing to read. */
static void flushed(struct fid_cq *cq, uint64_t count, uint64_t kind)
{
	struct fi_cq_err_entry error;
	uint64_t i;

	for (i = 0; i < count; i++) {
		wait_error(cq, &error);
		EQUAL(error.op_context, i);
		EQUAL(error.err, FI_ECANCELED);
		EQUAL(error.flags & kind, kind);
	}
	no_comp(cq, 20);
}

/* The results of posting after the end; FI_MORE might hold back the last call. */
static void refused(struct end *end)
{
	const struct sockaddr_in somewhere = { .sin_family = AF_INET,
					       .sin_port = htons(7471),
					       .sin_addr.s_addr = inet_addr(local_addr()) };
	struct iovec iov = { end->buf, 8 };
	struct fi_msg msg = { .msg_iov = &iov, .desc = &end->desc, .iov_count = 1 };

	RETURNS(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL), -FI_ENOTCONN);
	RETURNS(fi_inject(end->ep, end->buf, 8, 0), -FI_ENOTCONN);
	RETURNS(fi_recv(end->ep, end->buf, 8, end->desc, 0, NULL), -FI_ENOTCONN);
	RETURNS(fi_write(end->ep, end->buf, 8, end->desc, 0, end->peer.addr, end->peer.key, NULL),
		-FI_ENOTCONN);
	RETURNS(fi_sendmsg(end->ep, &msg, FI_MORE), -FI_ENOTCONN);
	RETURNS(fi_connect(end->ep, &somewhere, NULL, 0), -FI_EOPBADSTATE);
}

/* With *arg outstanding sends, none of which is ever received. */
static void step_down(struct end *end, void *arg)
{
	uint64_t sends = *(uint64_t *)arg;

	if (!end->ep)
		return;
	wait_event(end->eq, FI_SHUTDOWN, &end->ep->fid, NULL, 0);
	no_event(end->eq, 50);
	flushed(end->rxcq, RECVS, FI_MSG | FI_RECV);
	flushed(end->cq, sends, FI_MSG | FI_SEND);
	refused(end);
	CHECK(fi_shutdown(end->ep, 0) <= 0);
	no_event(end->eq, 20);
}

/*
 * The client's sends find no receive: the device retries them for ever, so they are outstanding
 * when the connection ends.
 */
static void one(struct pair *pair, enum who who)
{
	bool close = who == CLIENT_CLOSES || who == SERVER_CLOSES;
	uint64_t i, sends = who == SERVER || who == SERVER_CLOSES ? SENDS : 0, none = 0;
	struct end *client = &pair->client;

	printf("case %d\n", (int)who);
	step_post(client, NULL);
	if (!sends)
		at(&pair->server, step_post, NULL, 0);
	for (i = 0; i < sends; i++)
		OK(fi_send(client->ep, client->buf, 8, client->desc, 0, (void *)(uintptr_t)i));
	if (who == CLIENT || who == BOTH || who == CLIENT_CLOSES)
		step_shutdown(client, &close);
	if (who == SERVER || who == BOTH || who == SERVER_CLOSES)
		at(&pair->server, step_shutdown, &close, sizeof(close));
	step_down(client, &sends);
	if (!sends)
		at(&pair->server, step_down, &none, sizeof(none));
}

static void test(struct pair *pair)
{
	int who;

	for (who = CLIENT; who < CASES; who++) {
		pair_open(pair);
		one(pair, who);
		pair_close(pair);
	}
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_unconnected(argc, argv, &setup, test);
}
