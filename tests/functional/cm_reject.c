/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A rejected connection gives FI_ECONNREFUSED with the data of fi_reject; so does a request that is
 * only discarded.
 */
#include <stdio.h>
#include <string.h>
#include "steps.h"

enum how { REJECT, REJECT_NO_DATA, CLOSE_EP, UNREAD, HOWS };

#define TEXT "not today"

static void step_listen(struct end *end, void *arg)
{
	end_listen(end, local_addr(), arg);
}

static void step_refuse(struct end *end, void *arg)
{
	enum how how = *(int *)arg;
	struct fi_info *info;

	if (how == UNREAD) {
		sleep_ms(300); /* the request is in the queue */
		OK(fi_close(&end->pep->fid));
		end->pep = NULL;
		return;
	}
	info = end_request(end, NULL, NULL);
	if (how == CLOSE_EP) {
		end->ep = end_ep(end, info);
		OK(fi_close(&end->ep->fid));
		end->ep = NULL;
	} else if (how == REJECT) {
		OK(fi_reject(end->pep, info->handle, TEXT, sizeof(TEXT)));
	} else {
		OK(fi_reject(end->pep, info->handle, NULL, 0));
	}
	fi_freeinfo(info);
}

static void one(struct pair *pair, int how)
{
	struct end *client = &pair->client;
	struct fi_eq_err_entry error;
	struct place place;

	printf("way %d\n", how);
	at(&pair->server, step_listen, &place, sizeof(place));
	end_aim(client, &place);
	OK(fi_connect(client->ep, client->info->dest_addr, "x", 1));
	at(&pair->server, step_refuse, &how, sizeof(how));
	wait_event_error(client->eq, &error);
	EQUAL(error.err, FI_ECONNREFUSED);
	CHECK(error.fid == &client->ep->fid);
	if (how == REJECT) {
		EQUAL(error.err_data_size, sizeof(TEXT));
		CHECK(!memcmp(error.err_data, TEXT, sizeof(TEXT)));
	} else {
		EQUAL(error.err_data_size, 0);
	}
	no_event(client->eq, 20);
	RETURNS(fi_connect(client->ep, client->info->dest_addr, NULL, 0), -FI_EOPBADSTATE);
	CHECK(fi_send(client->ep, client->buf, 8, client->desc, 0, NULL) < 0);
	end_close(client);
	at(&pair->server, step_end_close, NULL, 0);
}

static void test(struct pair *pair)
{
	int how;

	for (how = REJECT; how < HOWS; how++)
		one(pair, how);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_unconnected(argc, argv, &setup, test);
}
