/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_NOTIFY on the domain's event queue reports a port that goes down and comes up; the connection
 * survives.
 */
#include <stdio.h>
#include "steps.h"

#define PORT_ACTIVE 9 /* as in enum ibv_event_type */
#define PORT_ERR    10

static void set_link(const char *interface, const char *state)
{
	char command[128];

	snprintf(command, sizeof(command), "ip link set %s %s", interface, state);
	shell(command);
}

/* Other events may precede it, for example of GIDs. */
static void wait_notify(struct end *end, uint64_t event_type)
{
	struct fi_eq_entry entry;
	uint64_t limit = deadline();
	uint32_t event;

	for (;;) {
		pause_until(limit, "the port event");
		if (fi_eq_sread(end->eq, &event, &entry, sizeof(entry), 500, 0) < 0)
			continue;
		EQUAL(event, FI_NOTIFY);
		CHECK(entry.fid == &end->domain->fid);
		printf("event %llu of port %u\n", (unsigned long long)(entry.data >> 32),
		       (unsigned int)entry.data);
		if (entry.data >> 32 != event_type)
			continue;
		EQUAL((uint32_t)entry.data, 1);
		return;
	}
}

static void test(struct pair *pair)
{
	struct part part = { .len = 100, .seed = 2, .context = 2 };
	const char *interface = local_interface();
	struct end *client = &pair->client;
	char command[128];

	snprintf(command, sizeof(command), "echo 1 >/proc/sys/net/ipv6/conf/%s/keep_addr_on_down",
		 interface);
	shell(command);
	set_link(interface, "down");
	wait_notify(client, PORT_ERR);
	set_link(interface, "up");
	wait_notify(client, PORT_ACTIVE);
	sleep_ms(200);

	at(&pair->server, post_recv, &part, sizeof(part));
	fill_part(client, &part);
	post_send(client, &part);
	wait_context(client->cq, (void *)2);
	at(&pair->server, reap_recv, &part, sizeof(part));
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .domain_eq = true };

	need_vm();
	return run_pair(argc, argv, &setup, test);
}
