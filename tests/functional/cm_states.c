/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls that do not fit the state of a connection are refused, the log names the state, and nothing
 * changes.
 */
#include <arpa/inet.h>
#include "steps.h"

static void step_request(struct end *end, void *arg)
{
	const struct sockaddr_in somewhere = { .sin_family = AF_INET,
					       .sin_port = htons(7471),
					       .sin_addr.s_addr = inet_addr(local_addr()) };
	struct fi_info *info = end_request(end, NULL, NULL);
	struct fid_ep *twice = NULL;

	(void)arg;
	end->ep = end_ep(end, info);
	/* A request can be accepted only once. */
	CHECK(fi_endpoint(end->domain, info, &twice, NULL) < 0);
	CHECK(!twice);
	CHECK(fi_reject(end->pep, info->handle, NULL, 0) < 0);
	fi_freeinfo(info);
	RETURNS(fi_shutdown(end->ep, 0), -FI_ENOTCONN);
	RETURNS(fi_connect(end->ep, &somewhere, NULL, 0), -FI_EOPBADSTATE);
	OK(fi_accept(end->ep, NULL, 0));
	wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0);
	RETURNS(fi_accept(end->ep, NULL, 0), -FI_EISCONN);
}

static void step_listen(struct end *end, void *arg)
{
	end_listen(end, local_addr(), arg);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct place place;
	void *dest;

	at(&pair->server, step_listen, &place, sizeof(place));
	end_aim(client, &place);
	dest = client->info->dest_addr;
	RETURNS(fi_accept(client->ep, NULL, 0), -FI_EOPBADSTATE);
	RETURNS(fi_shutdown(client->ep, 0), -FI_ENOTCONN);
	RETURNS(fi_connect(client->ep, NULL, NULL, 0), -FI_EINVAL);
	OK(fi_connect(client->ep, dest, NULL, 0));
	RETURNS(fi_connect(client->ep, dest, NULL, 0), -FI_EALREADY);
	RETURNS(fi_shutdown(client->ep, 0), -FI_ENOTCONN);

	at(&pair->server, step_request, NULL, 0);
	wait_event(client->eq, FI_CONNECTED, &client->ep->fid, NULL, 0);
	RETURNS(fi_connect(client->ep, dest, NULL, 0), -FI_EISCONN);
	RETURNS(fi_accept(client->ep, NULL, 0), -FI_EISCONN);
	CHECK(fi_shutdown(client->ep, 1) < 0); /* no flags are supported */
	no_event(client->eq, 20);
	end_close(client);
	at(&pair->server, step_end_close, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_unconnected(argc, argv, &setup, test);
}
