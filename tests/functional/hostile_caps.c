/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An attacker sends endless requests, for invalid keys and for answers that it never takes. Both
 * end its connection at the limit, and the victims continue to work.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hostile.h"

/* Requests that arrive before the victim looks are accepted, too. */
enum { GUESSES = 5000, MANY = 40000, ASK_MS = 12000, GROWN_KIB = 6144 };

static struct victims victims;

/*
 * Asks for a key, and each time for the one that is `step` further. Returns the number of requests
 * accepted until the connection ended.
 */
static unsigned int ask(uint64_t key, unsigned int step, unsigned int most)
{
	struct ofi_rdm_wire_packet packet = { .type = OFI_RDM_WIRE_KEY_REQ };
	uint64_t end = now_ms() + ASK_MS;
	struct foe foe = { 0 };
	uint8_t bytes[64];
	unsigned int n = 0;
	size_t len;

	if (foe_join(&foe, &victims.facts.name[0]) != FOE_UP)
		FAIL("a stranger with an honest name is not let in");
	do {
		packet.id = n + 1;
		packet.key = key + (uint64_t)n * step;
		len = ofi_rdm_wire_build(bytes, &packet);
		if (n % 32 == 31 ? foe_say(&foe, bytes, len) != IBV_WC_SUCCESS
				 : !foe_throw(&foe, bytes, len))
			break;
	} while (++n < most && now_ms() < end);
	foe_close(&foe);
	pair_check(&victims, 1);
	return n;
}

static void test(void)
{
	unsigned int n;

	setenv("FI_VERBS_RDM_UNEXPECTED_SIZE", "65536", 1);
	setenv("FI_VERBS_RDM_BUFFER_SIZE", "1024", 1);
	pair_start(&victims, false);
	n = ask(0x123456789, 1, GUESSES);
	printf("the connection ended after %u keys that are none\n", n);
	CHECK(n < GUESSES);
	n = ask(victims.facts.key[0], 0, MANY);
	printf("and after %u requests whose answers are not taken\n", n);
	CHECK(n < MANY);
	pair_end(&victims, GROWN_KIB);
}

int main(void)
{
	return run_test(test);
}
