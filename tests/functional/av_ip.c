/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An IP address and port resolve to the datagram endpoint that has them: as an address, as text, as
 * node and service, and as a range; a loopback address stands for this host. Addresses without an
 * endpoint are accepted, because one may open later; if there is no route, the error says so.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include "steps.h"

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

static void by_service(struct pair *pair, const char *node, uint16_t port)
{
	struct fid_av *av = pair->client.av;
	char service[8], text[64];
	fi_addr_t addr[2];
	int errs[2];

	snprintf(service, sizeof(service), "%u", port);
	EQUAL(fi_av_insertsvc(av, node, service, addr, 0, NULL), 1);
	ping(pair, addr[0]);
	snprintf(text, sizeof(text), "fi_sockaddr_in://%s:%s", node, service);
	EQUAL(fi_av_insertsvc(av, text, NULL, addr, 0, NULL), 1);
	ping(pair, addr[0]);
	EQUAL(fi_av_insertsym(av, node, 1, service, 2, addr, FI_SYNC_ERR, errs), 2);
	EQUAL(errs[0], 0);
	EQUAL(errs[1], 0);
	CHECK(addr[1] != FI_ADDR_NOTAVAIL);
	ping(pair, addr[0]);
}

static void nobody(struct fid_av *av, const char *node)
{
	fi_addr_t addr;
	int err;

	EQUAL(fi_av_insertsvc(av, node, "9", &addr, FI_SYNC_ERR, &err), 1);
	EQUAL(err, 0);
	EQUAL(fi_av_insertsvc(av, node, NULL, &addr, FI_SYNC_ERR, &err), 0);
	EQUAL(err, FI_EINVAL);
	/*
	 * A test address (RFC 5737) has no host: there is no route, or no answer within a bounded
	 * time, and the host may start later.
	 */
	if (fi_av_insertsvc(av, "192.0.2.1", "9", &addr, FI_SYNC_ERR, &err) == 0)
		CHECK(err == FI_ENETUNREACH || err == FI_EHOSTUNREACH || err == FI_ENODEV ||
		      err == FI_EADDRNOTAVAIL);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct name name = { 0 };
	struct sockaddr_in in[3];
	char node[INET_ADDRSTRLEN];
	fi_addr_t addr[3];
	int errs[3];

	at(&pair->server, step_name, &name, sizeof(name));
	EQUAL(name.len, sizeof(in[0]));
	memcpy(&in[0], name.bytes, sizeof(in[0]));
	CHECK(in[0].sin_port);
	inet_ntop(AF_INET, &in[0].sin_addr, node, sizeof(node));
	ping(pair, client->to);
	in[1] = in[2] = in[0];
	in[1].sin_port = htons(9);
	EQUAL(fi_av_insert(client->av, in, 3, addr, FI_SYNC_ERR, errs), 3);
	EQUAL(errs[1], 0);
	ping(pair, addr[0]);
	ping(pair, addr[2]);
	by_service(pair, node, ntohs(in[0].sin_port));
	by_service(pair, "127.0.0.1", ntohs(in[0].sin_port));
	nobody(client->av, node);
}

int main(int argc, char **argv)
{
	const struct setup setup = { .type = FI_EP_DGRAM, .addr_format = FI_SOCKADDR_IN };

	return run_pair(argc, argv, &setup, test);
}
