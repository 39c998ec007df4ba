/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An address that nobody has gives one error within the time limit for resolving it. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "steps.h"

static struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };

/* The device's own address with another last byte. */
static void neighbour(char *node, size_t len)
{
	const char *own = local_addr(), *dot = strrchr(own, '.');

	if (!dot)
		skip("WEFT_ADDR is no IPv4 address");
	snprintf(node, len, "%.*s.%s", (int)(dot - own), own,
		 strcmp(dot + 1, "250") ? "250" : "251");
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct fi_eq_err_entry error;
	char node[INET_ADDRSTRLEN];
	uint64_t start;

	neighbour(node, sizeof(node));
	end_open(&end, info_for(&setup, node, "7471", 0));
	end.ep = end_ep(&end, end.info);
	start = now_ms();
	OK(fi_connect(end.ep, end.info->dest_addr, NULL, 0));
	RETURNS(fi_connect(end.ep, end.info->dest_addr, NULL, 0), -FI_EALREADY);
	wait_event_error(end.eq, &error);
	CHECK(error.fid == &end.ep->fid);
	CHECK(error.err == FI_EHOSTUNREACH || error.err == FI_ETIMEDOUT ||
	      error.err == FI_EADDRNOTAVAIL || error.err == FI_ENETUNREACH);
	CHECK(now_ms() - start < 8000);
	no_event(end.eq, 20);
	end_close(&end);
}

/* Closing during the attempt gives no event. */
static void test_close(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	char node[INET_ADDRSTRLEN];

	neighbour(node, sizeof(node));
	end_open(&end, info_for(&setup, node, "7471", 0));
	end.ep = end_ep(&end, end.info);
	OK(fi_connect(end.ep, end.info->dest_addr, NULL, 0));
	OK(fi_close(&end.ep->fid));
	end.ep = NULL;
	no_event(end.eq, 100);
	end_close(&end);
}

static void both(void)
{
	setenv("FI_VERBS_RESOLVE_TIMEOUT", "300", 1);
	test_close();
	test();
}

int main(void)
{
	return run_test(both);
}
