/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections to each IPv6 address of the device's interface, global and link-local. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include "steps.h"

#define NODES 8

struct nodes {
	char node[NODES][INET6_ADDRSTRLEN + 20];
	size_t count;
};

static void find_nodes(struct nodes *nodes)
{
	struct ifaddrs *list, *at;
	const char *name = local_interface();

	CHECK(!getifaddrs(&list));
	for (at = list; at && nodes->count < NODES; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET6 ||
		    strcmp(at->ifa_name, name))
			continue;
		EQUAL(getnameinfo(at->ifa_addr, sizeof(struct sockaddr_in6),
				  nodes->node[nodes->count], sizeof(nodes->node[0]), NULL, 0,
				  NI_NUMERICHOST),
		      0);
		nodes->count++;
	}
	freeifaddrs(list);
	if (!nodes->count)
		skip("the device's interface has no IPv6 address");
}

struct listen {
	char node[INET6_ADDRSTRLEN + 20];
	struct place place;
};

static void step_listen(struct end *end, void *arg)
{
	struct listen *listen = arg;

	end_listen(end, listen->node, &listen->place);
}

static void step_accept(struct end *end, void *arg)
{
	struct part part = { .len = 3000, .context = 4 };
	struct fi_info *info = end_request(end, NULL, NULL);

	(void)arg;
	EQUAL(info->addr_format, FI_SOCKADDR_IN6);
	end->ep = end_ep(end, info);
	fi_freeinfo(info);
	post_recv(end, &part);
	OK(fi_accept(end->ep, NULL, 0));
	wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0);
}

static void one(struct pair *pair, const char *node)
{
	struct part part = { .len = 3000, .seed = 4, .context = 4 };
	struct end *client = &pair->client;
	struct listen listen = { { 0 }, { { 0 }, { 0 } } };
	struct sockaddr_in6 peer = { 0 };
	size_t len = sizeof(peer);

	puts(node);
	strcpy(listen.node, node);
	at(&pair->server, step_listen, &listen, sizeof(listen));
	end_aim(client, &listen.place);
	OK(fi_connect(client->ep, client->info->dest_addr, NULL, 0));
	at(&pair->server, step_accept, NULL, 0);
	wait_event(client->eq, FI_CONNECTED, &client->ep->fid, NULL, 0);
	OK(fi_getpeer(client->ep, &peer, &len));
	EQUAL(peer.sin6_family, AF_INET6);
	fill_part(client, &part);
	post_send(client, &part);
	wait_context(client->cq, (void *)4);
	at(&pair->server, reap_recv, &part, sizeof(part));
	end_close(client);
	at(&pair->server, step_end_close, NULL, 0);
}

static void test(struct pair *pair)
{
	struct nodes nodes = { .count = 0 };
	size_t i;

	find_nodes(&nodes);
	for (i = 0; i < nodes.count; i++)
		one(pair, nodes.node[i]);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_unconnected(argc, argv, &setup, test);
}
