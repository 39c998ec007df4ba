/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two devices of a host in one subnet: endpoints on the second one, which no route prefers, reach
 * those of the other host.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"
#include "hosts.h"
#include "rdm_node.h"

#define SERVICE "7494"
#define SECOND	"weft9"
#define DEVICE	"rxe9"

static uint32_t word;

/*
 * A separate wire between the two hosts. An interface stacked on the first one does not suffice,
 * because the first device takes over such an address.
 */
static void second_device(void)
{
	char command[600], addr[32];
	int guest = atoi(need_env("WEFT_GUEST"));

	snprintf(addr, sizeof(addr), "10.77.0.%d", 100 + guest);
	snprintf(command, sizeof(command),
		 "ip link add " SECOND
		 " type vxlan id 9 dstport 4790 local %s remote %s && ip addr add %s/24 dev " SECOND
		 " && ip link set " SECOND " up && "
		 "rdma link add " DEVICE " type rxe netdev " SECOND,
		 need_env("WEFT_ADDR"), need_env("WEFT_PEER_ADDRS"), addr);
	shell(command);
	setenv("WEFT_DEVICE", DEVICE, 1);
	setenv("WEFT_ADDR", addr, 1);
}

static fi_addr_t begin(struct node *node)
{
	struct sockaddr_in peer = { .sin_family = AF_INET };
	char addr[32];

	second_device();
	node_open(node, SERVICE);
	CHECK(!strcmp(node->info->domain_attr->name, DEVICE));
	snprintf(addr, sizeof(addr), "10.77.0.%d", 101 - atoi(need_env("WEFT_GUEST")));
	peer.sin_port = node->name.in.sin_port;
	EQUAL(inet_pton(AF_INET, addr, &peer.sin_addr), 1);
	return node_know(node, &peer);
}

static void answer(void)
{
	struct node node;
	fi_addr_t to = begin(&node);

	node_trecv(&node, &word, sizeof(word), 1, NULL);
	node_wait(&node);
	word++;
	node_tsend(&node, &word, sizeof(word), to, 2);
	node_wait(&node);
	node_close(&node);
}

static void ask(void)
{
	struct node node;
	fi_addr_t to = begin(&node);

	node_trecv(&node, &word, sizeof(word), 2, NULL);
	node_tsend(&node, &word, sizeof(word), to, 1);
	node_wait(&node);
	node_wait(&node);
	EQUAL(word, 1);
	node_close(&node);
}

int main(void)
{
	need_vm();
	return run_hosts(answer, ask);
}
