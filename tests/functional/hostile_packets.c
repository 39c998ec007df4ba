/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connected attacker sends packets of every type: well-formed ones at the wrong time, with wrong
 * numbers, lengths and offsets, truncated at each byte, with bytes changed, and noise. The victim
 * ends that connection or continues; nobody else is affected.
 */
#include <rdma/fi_atomic.h>
#include <stdio.h>
#include <string.h>
#include "hostile.h"

enum { GROWN_KIB = 16384, NOISE = 40, SMALL = 16, TORN = 4 };

static struct victims victims;
static struct foe foe;
static unsigned int sent, joins;
static int to;

static void join(void)
{
	if (foe.id)
		return;
	if (foe_join(&foe, &victims.facts.name[to]) != FOE_UP)
		FAIL("a stranger with an honest name is not let in");
	joins++;
}

/* Repeats it while the connection lives, on a new one if needed. */
static void say(const void *bytes, size_t len)
{
	join();
	sent++;
	if (foe_say(&foe, bytes, len) != IBV_WC_SUCCESS) {
		foe_close(&foe);
		return;
	}
	/* Only the next packet shows that a connection has ended. */
}

static uint8_t list[OFI_RDM_WIRE_REGIONS * sizeof(struct ofi_rdm_wire_region)];

static struct ofi_rdm_wire_packet packet_of(enum ofi_rdm_wire_type type)
{
	struct ofi_rdm_wire_packet packet = { .type = type, .list = list, .id = foe_random(8) };

	ofi_rdm_wire_put_region(list, 0,
				&(struct ofi_rdm_wire_region){ victims.facts.gift, 4096, 0x1234 });
	if (type == OFI_RDM_WIRE_RTS || type == OFI_RDM_WIRE_CTS ||
	    type == OFI_RDM_WIRE_RMA_EVENT) {
		packet.count = 1;
		packet.total = 4096;
	}
	if (type == OFI_RDM_WIRE_SEG_FIRST)
		packet.total = 1000;
	if (type == OFI_RDM_WIRE_SEG_NEXT)
		packet.offset = SMALL;
	if (type == OFI_RDM_WIRE_ATOMIC_REQ) {
		ofi_rdm_wire_put_target(
			list, 0, &(struct ofi_rdm_wire_target){ victims.facts.gift, 0x1234, 2 });
		packet.count = 1;
		packet.atomic = (struct ofi_rdm_wire_atomic){ OFI_RDM_WIRE_ATOMIC_FETCH, FI_SUM,
							      FI_UINT64, 8, 2 };
	}
	if (type == OFI_RDM_WIRE_EAGER || type == OFI_RDM_WIRE_SEG_FIRST ||
	    type == OFI_RDM_WIRE_RTS) {
		packet.flags = OFI_RDM_WIRE_TAGGED;
		packet.tag = PAIR_TAG;
	}
	return packet;
}

static bool has_payload(enum ofi_rdm_wire_type type)
{
	return type == OFI_RDM_WIRE_EAGER || type == OFI_RDM_WIRE_SEG_FIRST ||
	       type == OFI_RDM_WIRE_SEG_NEXT || type == OFI_RDM_WIRE_ATOMIC_REQ ||
	       type == OFI_RDM_WIRE_ATOMIC_RSP;
}

static size_t build(uint8_t *bytes, const struct ofi_rdm_wire_packet *packet)
{
	size_t len = ofi_rdm_wire_build(bytes, packet);

	if (!has_payload(packet->type))
		return len;
	memset(bytes + len, 0x77, SMALL);
	return len + SMALL;
}

static void say_packet(const struct ofi_rdm_wire_packet *packet)
{
	uint8_t bytes[FOE_SLOT] = { 0 };

	say(bytes, build(bytes, packet));
}

/* On its own connection, each type once, and twice. */
static void each_type(void)
{
	struct ofi_rdm_wire_packet packet;
	int type;

	for (type = 1; type < OFI_RDM_WIRE_TYPES; type++) {
		packet = packet_of(type);
		say_packet(&packet);
		say_packet(&packet);
		packet.flags ^= OFI_RDM_WIRE_WANT_ACK;
		say_packet(&packet);
		packet.flags = OFI_RDM_WIRE_WRITTEN;
		say_packet(&packet);
		foe_close(&foe);
	}
	pair_check(&victims, 1);
}

/* All types in sequence without reconnecting, as far as the victim accepts them. */
static void torn(void)
{
	uint8_t bytes[FOE_SLOT] = { 0 };
	struct ofi_rdm_wire_packet packet;
	size_t len, i;
	int type;

	for (type = 1; type < OFI_RDM_WIRE_TYPES; type++) {
		packet = packet_of(type);
		len = build(bytes, &packet);
		for (i = foe_random(TORN); i < len; i += 1 + foe_random(2 * TORN))
			say(bytes, i);
	}
	pair_check(&victims, 1);
}

static void bent(void)
{
	uint8_t bytes[FOE_SLOT] = { 0 };
	struct ofi_rdm_wire_packet packet;
	unsigned int i, k;
	size_t len;

	for (i = 0; i < NOISE; i++) {
		packet = packet_of(1 + (int)(i % (OFI_RDM_WIRE_TYPES - 1)));
		len = build(bytes, &packet);
		for (k = 0; k < 1 + i % 3; k++)
			bytes[foe_random((uint32_t)len)] ^= (uint8_t)(1u << foe_random(8));
		say(bytes, len);
	}
	for (i = 0; i < NOISE; i++) {
		for (k = 0; k < 300; k++)
			bytes[k] = (uint8_t)foe_random(256);
		bytes[0] = 1;
		bytes[1] = (uint8_t)(1 + i % 16);
		if (i & 1)
			bytes[2] = bytes[3] = 0;
		say(bytes, foe_random(300));
	}
	pair_check(&victims, 1);
}

static void huge_messages(void)
{
	static const uint64_t totals[] = { 0,	       1,	   SMALL,      SMALL + 1,
					   1ull << 31, 1ull << 40, 1ull << 63, UINT64_MAX };
	struct ofi_rdm_wire_packet packet;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(totals); i++) {
		packet = packet_of(OFI_RDM_WIRE_SEG_FIRST);
		packet.total = totals[i];
		say_packet(&packet);
		packet.type = OFI_RDM_WIRE_SEG_NEXT;
		packet.flags = 0;
		for (k = 0; k < 3; k++) {
			packet.offset = k == 2 ? totals[i] - 3 : (k + 1) * SMALL;
			say_packet(&packet);
		}
		foe_close(&foe);
		packet = packet_of(OFI_RDM_WIRE_RTS);
		packet.total = totals[i];
		ofi_rdm_wire_put_region(list, 0,
					&(struct ofi_rdm_wire_region){ 8, totals[i], 0x1234 });
		say_packet(&packet);
		foe_close(&foe);
	}
	packet = packet_of(OFI_RDM_WIRE_RTS);
	packet.count = OFI_RDM_WIRE_REGIONS;
	for (k = 0; k < OFI_RDM_WIRE_REGIONS; k++)
		ofi_rdm_wire_put_region(list, k,
					&(struct ofi_rdm_wire_region){ k << 12, 1ull << 60, k });
	packet.total = 16ull << 60;
	say_packet(&packet);
	packet.total = 0;
	say_packet(&packet);
	foe_close(&foe);
}

/* Requests for memory that was not granted, and operations that do not exist. */
static void atomics(void)
{
	static const uint64_t places[] = {
		0, 8, (uint64_t)-8, 1ull << 63, (uint64_t)-PAIR_WINDOW - 8, 1ull << 48
	};
	struct ofi_rdm_wire_packet packet;
	unsigned int i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; i < ARRAY_SIZE(places); i++) {
			packet = packet_of(OFI_RDM_WIRE_ATOMIC_REQ);
			ofi_rdm_wire_put_target(
				list, 0,
				&(struct ofi_rdm_wire_target){ victims.facts.addr[to] +
								       PAIR_WINDOW + places[i],
							       victims.facts.key[to] + k * 99, 2 });
			say_packet(&packet);
		}
	for (i = 0; i < 60; i++) {
		packet = packet_of(OFI_RDM_WIRE_ATOMIC_REQ);
		packet.atomic.kind = (uint8_t)foe_random(6);
		packet.atomic.op = (uint8_t)foe_random(i & 1 ? 256 : 20);
		packet.atomic.datatype = (uint8_t)foe_random(i & 2 ? 256 : 18);
		packet.atomic.size = (uint8_t)(1u << foe_random(8));
		packet.atomic.count = i % 5 ? SMALL / 8 : foe_random(0);
		say_packet(&packet);
	}
	packet = packet_of(OFI_RDM_WIRE_KEY_REQ);
	packet.key = UINT64_MAX;
	for (i = 0; i < 40; i++)
		say_packet(&packet);
	foe_close(&foe);
	pair_check(&victims, 1);
}

/* About messages of others: numbers are small, so some of these are in use. */
static void ids(void)
{
	static const enum ofi_rdm_wire_type types[] = {
		OFI_RDM_WIRE_CTS,	 OFI_RDM_WIRE_FIN,     OFI_RDM_WIRE_ACK,
		OFI_RDM_WIRE_ATOMIC_RSP, OFI_RDM_WIRE_KEY_RSP, OFI_RDM_WIRE_FIN
	};
	struct ofi_rdm_wire_packet packet;
	unsigned int i;

	for (i = 0; i < 60; i++) {
		packet = packet_of(types[i % ARRAY_SIZE(types)]);
		packet.id = i % 2 ? foe_random(64) : 1u << 10 | foe_random(1 << 14);
		packet.rid = packet.id;
		if (i % ARRAY_SIZE(types) == 5)
			packet.flags = OFI_RDM_WIRE_WRITTEN;
		say_packet(&packet);
	}
	foe_close(&foe);
	pair_check(&victims, 1);
}

/* Many of the small ones without waiting. */
static void storm(enum ofi_rdm_wire_type type, enum ofi_rdm_wire_type other, unsigned int count)
{
	struct ofi_rdm_wire_packet packet;
	uint8_t bytes[FOE_SLOT] = { 0 };
	unsigned int i;

	join();
	for (i = 0; i < count; i++) {
		packet = packet_of(i & 1 ? other : type);
		if (i % 16 == 15)
			say(bytes, build(bytes, &packet));
		else
			foe_throw(&foe, bytes, build(bytes, &packet));
		join();
	}
	foe_close(&foe);
	pair_check(&victims, 1);
}

/* The victim sends to the attacker, which answers with all types, several times. */
static void answer_wrong(void)
{
	static const enum ofi_rdm_wire_type types[] = { OFI_RDM_WIRE_FIN, OFI_RDM_WIRE_CTS,
							OFI_RDM_WIRE_ACK, OFI_RDM_WIRE_ATOMIC_RSP,
							OFI_RDM_WIRE_BYE };
	uint8_t data[256];
	struct ofi_rdm_wire_packet rts, packet;
	struct rdma_cm_id *id;
	struct sockaddr_in name;
	struct ofi_rdm_cmwire cm;
	struct foe lurker;
	unsigned int i, k, answered = 0;

	foe_lurk(&lurker, &name);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		pair_send(&victims, &name, PAIR_GIFT, 2);
		id = foe_request(&lurker, 5000);
		if (!id)
			break;
		cm = foe_claim(&name, 77 + i, i + 1);
		cm.kind = OFI_RDM_CMWIRE_REPLY;
		foe_accept(&foe, &lurker, id, data, foe_pack(data, &cm));
		if (foe_hear_type(&foe, OFI_RDM_WIRE_RTS, &rts, 2000)) {
			answered++;
			packet = packet_of(types[i]);
			packet.id = rts.id;
			packet.status = 5;
			if (types[i] == OFI_RDM_WIRE_CTS)
				packet.total = 1ull << 40;
			for (k = 0; k < 3 && foe.id; k++)
				say_packet(&packet);
		}
		foe_close(&foe);
		pair_check(&victims, 1);
	}
	printf("%u of the victim's messages were answered\n", answered);
	EQUAL(answered, ARRAY_SIZE(types));
	foe_close(&lurker);
}

static void test(void)
{
	struct child newcomer = newcomer_start();
	struct pair_report report;

	pair_start(&victims, false);
	for (to = 0; to < 2; to++) {
		each_type();
		huge_messages();
		ids();
		to ? torn() : atomics();
		to ? bent() : answer_wrong();
	}
	to = 0;
	storm(OFI_RDM_WIRE_STOP, OFI_RDM_WIRE_GO, 500);
	storm(OFI_RDM_WIRE_HALT, OFI_RDM_WIRE_STOP, 200);
	storm(OFI_RDM_WIRE_ACK, OFI_RDM_WIRE_FIN, 100);
	storm(OFI_RDM_WIRE_BYE, OFI_RDM_WIRE_BYE_RSP, 200);
	storm(OFI_RDM_WIRE_KEY_REQ, OFI_RDM_WIRE_KEY_REQ, 500);
	storm(OFI_RDM_WIRE_RTS, OFI_RDM_WIRE_SEG_FIRST, 100);
	report = pair_check(&victims, 1);
	printf("%u packets in %u connections; gifts: %u done, %u failed, %u open\n", sent, joins,
	       report.gifts_done, report.gifts_failed, report.gifts_open);
	newcomer_check(&newcomer, &victims, 10000);
	pair_end(&victims, GROWN_KIB);
}

int main(void)
{
	return run_test(test);
}
