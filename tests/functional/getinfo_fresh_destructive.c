/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_getinfo reports the state of the machine at the moment of the call: an address that is added
 * and removed, an interface that goes down and up, a device that is removed and returns; before,
 * after and during changes.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include "steps.h"

#define SPARE "10.77.0.200"

static const struct setup setup;

/* Returns the number of entries of fi_getinfo, and how many of them have the spare address. */
static int look(int *spare)
{
	struct fi_info *hints = hints_for(&setup), *info = NULL, *at;
	char text[INET_ADDRSTRLEN];
	int ret, count = 0;

	*spare = 0;
	ret = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);
	if (ret)
		RETURNS(ret, -FI_ENODATA);
	for (at = info; at; at = at->next) {
		const struct sockaddr_in *in = at->src_addr;

		count++;
		if (at->addr_format == FI_SOCKADDR_IN &&
		    inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text)))
			*spare += !strcmp(text, SPARE);
	}
	fi_freeinfo(info);
	fi_freeinfo(hints);
	return count;
}

static bool offers(void)
{
	int spare;

	return look(&spare) > 0;
}

static bool offers_spare(void)
{
	int spare;

	look(&spare);
	return spare > 0;
}

/*
 * So that the following is tested in both states of the library: with a settled snapshot, and
 * without.
 */
static void let_settle(void)
{
	uint64_t end = now_ms() + 1500;

	while (now_ms() < end)
		CHECK(offers());
}

/* A format of one string. */
static void command(const char *format, const char *arg)
{
	char text[128];

	snprintf(text, sizeof(text), format, arg);
	shell(text);
}

static void test_address(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		if (i % 2)
			let_settle();
		CHECK(!offers_spare());
		command("ip addr add " SPARE "/24 dev %s", local_interface());
		CHECK(offers_spare());
		if (i % 2)
			let_settle();
		CHECK(offers_spare());
		command("ip addr del " SPARE "/24 dev %s", local_interface());
		CHECK(!offers_spare());
	}
}

static void test_link(void)
{
	uint64_t limit;
	int i;

	for (i = 0; i < 2; i++) {
		let_settle();
		command("ip link set %s down", local_interface());
		CHECK(!offers());
		CHECK(!offers());
		command("ip link set %s up", local_interface());
		for (limit = deadline(); !offers();)
			pause_until(limit, "the port");
	}
}

static void test_device(void)
{
	const char *device = need_env("WEFT_DEVICE");
	char add[64];
	uint64_t limit;
	int i;

	snprintf(add, sizeof(add), "rdma link add %%s type rxe netdev %s", local_interface());
	for (i = 0; i < 2; i++) {
		let_settle();
		command("rdma link del %s", device);
		CHECK(!offers());
		CHECK(!offers());
		command(add, device);
		for (limit = deadline(); !offers();)
			pause_until(limit, "the device");
	}
}

static void test(void)
{
	test_address();
	test_link();
	test_device();
}

int main(void)
{
	need_vm();
	return run_test(test);
}
