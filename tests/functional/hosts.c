/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two hosts that coordinate a test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hosts.h"

int run_hosts(void (*server)(void), void (*client)(void))
{
	const char *guest = getenv("WEFT_GUEST"), *guests = getenv("WEFT_GUESTS");

	if (!guest || !guests || strcmp(guests, "2")) {
		puts("needs two hosts: run this with tests/vm/run -n 2");
		return 77;
	}
	return run_test(strcmp(guest, "0") ? client : server);
}

void hosts_accept(struct end *end, const char *service)
{
	struct target target;
	struct fi_info *info;

	end_open(end, info_for(end->setup, local_addr(), service, FI_SOURCE));
	OK(fi_passive_ep(end->fabric, end->info, &end->pep, end));
	OK(fi_pep_bind(end->pep, &end->eq->fid, 0));
	OK(fi_listen(end->pep));
	info = end_request(end, NULL, NULL);
	end->ep = end_ep(end, info);
	fi_freeinfo(info);
	target = (struct target){ (uintptr_t)end->buf, fi_mr_key(end->mr) };
	OK(fi_accept(end->ep, &target, sizeof(target)));
	wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0);
}

void hosts_connect(struct end *end, const char *service)
{
	uint64_t limit = deadline();
	struct fi_eq_err_entry error;
	struct fi_eq_cm_entry *entry;
	uint8_t data[256];
	uint32_t event;
	ssize_t ret;

	end_open(end, info_for(end->setup, need_env("WEFT_PEER_ADDRS"), service, 0));
	for (;;) {
		end->ep = end_ep(end, end->info);
		OK(fi_connect(end->ep, end->info->dest_addr, NULL, 0));
		ret = fi_eq_sread(end->eq, &event, data, sizeof(data), WAIT_MS, 0);
		if (ret >= 0)
			break;
		RETURNS(ret, -FI_EAVAIL);
		RETURNS(fi_eq_readerr(end->eq, &error, 0), sizeof(error));
		OK(fi_close(&end->ep->fid));
		sleep_ms(100);
		pause_until(limit, "a connection");
	}
	EQUAL(event, FI_CONNECTED);
	EQUAL(ret, sizeof(*entry) + sizeof(end->peer));
	entry = (struct fi_eq_cm_entry *)data;
	memcpy(&end->peer, entry->data, sizeof(end->peer));
}
