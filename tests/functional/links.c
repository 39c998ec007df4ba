/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections of an end with itself. */
#include "links.h"

static void wait_both(struct end *end)
{
	uint64_t limit = deadline();
	struct fi_eq_cm_entry entry;
	uint32_t event;
	int up = 0;

	while (up < 2) {
		pause_until(limit, "the connection");
		if (fi_eq_sread(end->eq, &event, &entry, sizeof(entry), 100, 0) < 0)
			continue;
		EQUAL(event, FI_CONNECTED);
		up++;
	}
}

void link_open(struct end *end, const struct place *place, struct link *link, open_fn *open,
	       void *arg)
{
	struct fi_info *info = info_for(end->setup, place->node, place->service, 0), *request;

	link->from = end_ep(end, info);
	OK(fi_connect(link->from, info->dest_addr, NULL, 0));
	request = end_request(end, NULL, NULL);
	link->to = open ? open(end, request, arg) : end_ep(end, request);
	OK(fi_accept(link->to, NULL, 0));
	wait_both(end);
	fi_freeinfo(request);
	fi_freeinfo(info);
}

void link_close(struct link *link)
{
	if (link->from)
		OK(fi_close(&link->from->fid));
	if (link->to)
		OK(fi_close(&link->to->fid));
	link->from = link->to = NULL;
}
