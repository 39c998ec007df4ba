/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A server may send as soon as it has accepted: a client's first message can arrive, and be
 * answered, before the server reads FI_CONNECTED.
 */
#include "steps.h"

#define LEN 64

static void step_listen(struct end *end, void *arg)
{
	end_listen(end, local_addr(), arg);
}

static void step_serve(struct end *end, void *arg)
{
	struct fi_info *info = end_request(end, NULL, NULL);
	struct fi_cq_tagged_entry entry;

	(void)arg;
	end->ep = end_ep(end, info);
	fi_freeinfo(info);
	fill(end->buf, LEN, 3);
	OK(fi_accept(end->ep, NULL, 0));
	OK(fi_send(end->ep, end->buf, LEN, end->desc, 0, NULL));
	wait_comp(end->cq, &entry);
	wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct fi_cq_tagged_entry entry;
	struct place place;

	at(&pair->server, step_listen, &place, sizeof(place));
	end_aim(client, &place);
	OK(fi_recv(client->ep, client->buf, LEN, client->desc, 0, NULL));
	OK(fi_connect(client->ep, client->info->dest_addr, NULL, 0));
	at(&pair->server, step_serve, NULL, 0);
	wait_event(client->eq, FI_CONNECTED, &client->ep->fid, NULL, 0);
	wait_comp(client->rxcq, &entry);
	EQUAL(entry.len, LEN);
	CHECK_FILLED(client->buf, LEN, 3);
	end_close(client);
	at(&pair->server, step_end_close, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_unconnected(argc, argv, &setup, test);
}
