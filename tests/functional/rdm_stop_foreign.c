/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stopped peer at a link-local address is waited for. The scope id in its name is that of another
 * host, which numbers its interfaces differently.
 */
#include <ifaddrs.h>
#include <netdb.h>
#include <signal.h>
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

static void use_link_local(void)
{
	char node[NI_MAXHOST] = "";
	struct ifaddrs *list, *at;

	CHECK(!getifaddrs(&list));
	for (at = list; at && !node[0]; at = at->ifa_next)
		if (is_link_local(at))
			EQUAL(getnameinfo(at->ifa_addr, sizeof(struct sockaddr_in6), node,
					  sizeof(node), NULL, 0, NI_NUMERICHOST),
			      0);
	freeifaddrs(list);
	if (!node[0])
		skip("the device's interface has no link-local IPv6 address");
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
	raise(SIGSTOP);
	node_wait(&node);
	child_say(parent, "d", 1);
	child_hear(parent, &byte, 1);
	node_close(&node);
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
	node_silent(&node, STOP_MS);
	CHECK(!kill(child.pid, SIGCONT));
	node_wait(&node);
	child_hear(&child, &byte, 1);
	child_say(&child, "e", 1);
	child_end(&child);
	node_close(&node);
}

int main(void)
{
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "500", 1);
	return run_test(test);
}
