/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An attacker uses up resources: connections that are half open, silent, unresponsive or never end,
 * and messages that nobody receives. The victims continue to work, a genuine peer connects soon
 * afterward, and the memory is freed.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hostile.h"

enum {
	HALF = 120,
	SILENT = 60,
	DEAF = 6,
	MESSAGES = 16000,
	RTSES = 3000,
	GROWN_KIB = 6144,
	WINDOW = 128,
	VISITS = 12, /* whose messages exceed the victim's memory */
};

static struct victims victims;
static struct foe half[HALF], silent[SILENT];

/* Requests whose replies are never answered. */
static void half_open(void)
{
	struct sockaddr_in name = victims.facts.name[0];
	uint8_t data[256];
	struct ofi_rdm_cmwire cm;
	unsigned int i, answers[4] = { 0 };

	for (i = 0; i < HALF; i++) {
		foe_open(&half[i], NULL);
		name.sin_port = htons((uint16_t)(2000 + i));
		cm = foe_claim(&name, 1000 + i, 1);
		CHECK(foe_ask(&half[i], &victims.facts.name[i & 1], data, foe_pack(data, &cm),
			      false));
	}
	pair_check(&victims, 1);
	for (i = 0; i < HALF; i++)
		answers[foe_await(&half[i], 0)]++;
	printf("half-open connections: %u accepted, %u refused, %u not answered\n", answers[FOE_UP],
	       answers[FOE_REJECTED], answers[FOE_NOTHING]);
}

/* Connections that neither send nor receive anything. */
static void be_silent(void)
{
	struct sockaddr_in name = victims.facts.name[0];
	uint8_t data[256];
	struct ofi_rdm_cmwire cm;
	unsigned int i, up = 0;

	for (i = 0; i < SILENT; i++) {
		foe_open(&silent[i], NULL);
		name.sin_port = htons((uint16_t)(3000 + i));
		cm = foe_claim(&name, 2000 + i, 1);
		CHECK(foe_ask(&silent[i], &victims.facts.name[i & 1], data, foe_pack(data, &cm),
			      true));
	}
	for (i = 0; i < SILENT; i++)
		up += foe_await(&silent[i], 100) == FOE_UP;
	printf("%u of %u silent connections were accepted\n", up, SILENT);
	pair_check(&victims, 1);
}

static void release(struct foe *foes, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		foe_close(&foes[i]);
}

/*
 * The victim sends to peers that post no receives, and to peers that never ask for what is
 * announced.
 */
static void deaf(void)
{
	static struct foe lurkers[DEAF];
	struct sockaddr_in name;
	unsigned int i;

	for (i = 0; i < DEAF; i++) {
		foe_lurk(&lurkers[i], &name);
		pair_send(&victims, &name, i & 1 ? PAIR_GIFT : 100, 8);
	}
	pair_check(&victims, 4);
	release(lurkers, DEAF);
}

/* Opens as many as the victim accepts, and some more; returns their number. */
static unsigned int flood(struct foe *foe, enum ofi_rdm_wire_type type, unsigned int count)
{
	uint8_t list[sizeof(struct ofi_rdm_wire_region)], bytes[FOE_SLOT] = { 0 };
	struct ofi_rdm_wire_packet packet = {
		.type = type, .flags = OFI_RDM_WIRE_TAGGED, .tag = 0x99, .list = list
	};
	uint64_t end = now_ms() + 2500;
	unsigned int i;
	size_t len;

	ofi_rdm_wire_put_region(list, 0, &(struct ofi_rdm_wire_region){ 4096, 100000, 7 });
	if (type == OFI_RDM_WIRE_RTS) {
		packet.count = 1;
		packet.total = 100000;
	}
	for (i = 0; i < count && now_ms() < end; i++) {
		packet.id = i + 1;
		len = ofi_rdm_wire_build(bytes, &packet) + (type == OFI_RDM_WIRE_EAGER ? 8 : 0);
		if (i % 32 == 31 ? foe_say(foe, bytes, len) != IBV_WC_SUCCESS
				 : !foe_throw(foe, bytes, len))
			break;
	}
	return i;
}

static void floods(enum ofi_rdm_wire_type type, unsigned int count)
{
	size_t before = pair_status(&victims, "VmRSS"), after;
	unsigned int came;
	struct foe foe;

	if (foe_join(&foe, &victims.facts.name[0]) != FOE_UP)
		FAIL("a stranger with an honest name is not let in");
	came = flood(&foe, type, count);
	pair_check(&victims, 2);
	after = pair_status(&victims, "VmRSS");
	printf("%u of %u unexpected packets of type %u: the victims grew by %zd KiB\n", came, count,
	       type, (ssize_t)(after - before));
	if (after > before + GROWN_KIB)
		FAIL("they grew by more than %d KiB", GROWN_KIB);
	foe_close(&foe);
	pair_check(&victims, 1);
}

/* Each time under another name, and gone before it can be halted. */
static void come_and_go(void)
{
	struct foe foe;
	unsigned int i;

	for (i = 0; i < VISITS && foe_join(&foe, &victims.facts.name[0]) == FOE_UP; i++) {
		flood(&foe, OFI_RDM_WIRE_EAGER, WINDOW);
		foe_close(&foe);
	}
	printf("%u of %u visits that leave messages\n", i, VISITS);
	if (i == VISITS)
		FAIL("strangers may leave as many messages as they like");
	EQUAL(foe.cm.reason, OFI_RDM_CMWIRE_BUSY);
	foe_close(&foe);
	pair_check(&victims, 1);
}

static void test(void)
{
	struct child first, second;

	setenv("FI_VERBS_RDM_UNEXPECTED_SIZE", "65536", 1);
	first = newcomer_start();
	second = newcomer_start();
	pair_start(&victims, false);
	floods(OFI_RDM_WIRE_EAGER, MESSAGES);
	floods(OFI_RDM_WIRE_RTS, RTSES);
	deaf();
	half_open();
	be_silent();
	newcomer_check(&first, &victims, 15000);
	release(half, HALF);
	release(silent, SILENT);
	newcomer_check(&second, &victims, 10000);
	come_and_go();
	pair_end(&victims, GROWN_KIB);
}

int main(void)
{
	return run_test(test);
}
