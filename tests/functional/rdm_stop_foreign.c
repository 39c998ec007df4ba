/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stopped peer at a link-local address is waited for. The scope id in its name is that of another
 * host, which numbers its interfaces differently.
 */
#include <ifaddrs.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include "fixture.h"
#include "rdm_node.h"

enum { TIMEOUT_MS = 500, STOP_MS = 4 * TIMEOUT_MS, FOREIGN = 77 };

static bool is_link_local(const struct ifaddrs *at)
{
	return at->ifa_addr && at->ifa_addr->sa_family == AF_INET6 &&
	       !strcmp(at->ifa_name, local_interface()) &&
	       IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)at->ifa_addr)->sin6_addr);
}

static bool find_link_local(char *node, socklen_t len)
{
	struct ifaddrs *list, *at;
	bool found;

	CHECK(!getifaddrs(&list));
	for (at = list; at && !is_link_local(at); at = at->ifa_next)
		;
	found = at;
	if (found)
		EQUAL(getnameinfo(at->ifa_addr, sizeof(struct sockaddr_in6), node, len, NULL, 0,
				  NI_NUMERICHOST),
		      0);
	freeifaddrs(list);
	return found;
}

/* The kernel gives the address to an interface some time after it is up. */
static void use_link_local(void)
{
	uint64_t limit = now_ms() + 5000;
	char node[NI_MAXHOST];

	while (!find_link_local(node, sizeof(node))) {
		if (now_ms() > limit)
			skip("the device's interface has no link-local IPv6 address");
		sleep_ms(50);
	}
	setenv("WEFT_ADDR", node, 1);
}

static void peer(struct child *parent, void *arg)
{
	struct node node;
	char byte;

	(void)arg;
	node_open(&node, "7495");
	node_trecv(&node, &byte, 1, 1, NULL);
	child_say(parent, &node.name, sizeof(node.name));
	node_stop(&node, parent);
}

static void test(void)
{
	struct node_name name;
	struct child child;
	struct node node;
	fi_addr_t to;
	char byte = 0;

	use_link_local();
	child = child_start(peer, NULL);
	node_open(&node, "7496");
	child_hear(&child, &name, sizeof(name));
	((struct sockaddr_in6 *)&name)->sin6_scope_id = FOREIGN;
	to = node_know(&node, &name);
	sleep_ms(50);
	node_tsend(&node, &byte, 1, to, 1);
	node_outwait(&node, &child, STOP_MS);
}

int main(void)
{
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "500", 1);
	return run_test(test);
}
