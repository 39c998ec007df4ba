/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A foe that asks and asks: for keys that there are not, and for answers that it never takes.
 * Either ends its connection at the bound, and the victims go on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hostile.h"

/* What is asked before the victim looks is taken, too. */
enum { GUESSES = 5000, MANY = 40000, ASK_MS = 12000, GROWN_KIB = 6144 };

static struct victims victims;

/* How many were taken until the connection ended. */
static unsigned int ask(uint64_t key, unsigned int most)
{
	struct ofi_rdm_wire_packet packet = { .type = OFI_RDM_WIRE_KEY_REQ, .key = key };
	uint64_t end = now_ms() + ASK_MS;
	struct foe foe = { 0 };
	uint8_t bytes[64];
	unsigned int n = 0;
	size_t len;

	if (foe_join(&foe, &victims.facts.name[0]) != FOE_UP)
		FAIL("a stranger with an honest name is not let in");
	do {
		packet.id = n + 1;
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
	n = ask(0x123456789, GUESSES);
	printf("the connection ended after %u keys that are none\n", n);
	CHECK(n < GUESSES);
	n = ask(victims.facts.key[0], MANY);
	printf("and after %u requests whose answers are not taken\n", n);
	CHECK(n < MANY);
	pair_end(&victims, GROWN_KIB);
}

int main(void)
{
	return run_test(test);
}
