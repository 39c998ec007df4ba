/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Both ends of a connection agree on their names; an endpoint without a name returns an error. */
#include <arpa/inet.h>
#include <string.h>
#include "steps.h"

struct names {
	struct sockaddr_in own, peer;
};

static void step_names(struct end *end, void *arg)
{
	struct names *names = arg;
	size_t len = sizeof(names->own);

	OK(fi_getname(&end->ep->fid, &names->own, &len));
	EQUAL(len, sizeof(names->own));
	OK(fi_getpeer(end->ep, &names->peer, &len));
	EQUAL(len, sizeof(names->peer));
	len = 3;
	RETURNS(fi_getpeer(end->ep, &names->peer, &len), -FI_ETOOSMALL);
	EQUAL(len, sizeof(names->peer));
	CHECK(fi_getname(&end->ep->fid, NULL, NULL) < 0);
	CHECK(fi_getpeer(end->ep, NULL, NULL) < 0);
}

static void same(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
	EQUAL(a->sin_family, AF_INET);
	EQUAL(a->sin_family, b->sin_family);
	EQUAL(a->sin_port, b->sin_port);
	EQUAL(a->sin_addr.s_addr, b->sin_addr.s_addr);
}

static void unconnected(struct end *end)
{
	struct sockaddr_in name = { .sin_family = AF_INET }, out = { 0 };
	size_t len = sizeof(out);
	struct fid_ep *ep = end_ep(end, end->info);

	RETURNS(fi_getpeer(ep, &out, &len), -FI_ENOTCONN);
	EQUAL(inet_pton(AF_INET, local_addr(), &name.sin_addr), 1);
	OK(fi_setname(&ep->fid, &name, sizeof(name)));
	OK(fi_getname(&ep->fid, &out, &len));
	EQUAL(out.sin_addr.s_addr, name.sin_addr.s_addr);
	CHECK(out.sin_port);
	OK(fi_close(&ep->fid));
}

static void test(struct pair *pair)
{
	struct names client, server;
	struct sockaddr_in name = { .sin_family = AF_INET };

	step_names(&pair->client, &client);
	at(&pair->server, step_names, &server, sizeof(server));
	same(&client.own, &server.peer);
	same(&client.peer, &server.own);
	CHECK(client.own.sin_port != client.peer.sin_port);
	CHECK(fi_setname(&pair->client.ep->fid, &name, sizeof(name)) < 0);
	unconnected(&pair->client);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
