/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An attacker claims to be anybody, including a victim's peer, with recorded and with invented
 * data, from the victims' host and from another one. No connection of the victims ends, and none of
 * their messages reaches the attacker.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include "hostile.h"

enum { ANSWERS = 9, NAMES = 30, GROWN_KIB = 8192 };

static struct victims victims;
static unsigned int answers[4], reasons[OFI_RDM_CMWIRE_REASONS];

/* Connects as the peer that the data names; the victim does not send the peer's messages there. */
static enum foe_answer claim_bytes(const struct sockaddr_in *to, const char *from, const void *data,
				   size_t len)
{
	struct ofi_rdm_wire_packet packet;
	enum foe_answer answer;
	struct foe foe;

	foe_open(&foe, from);
	if (!foe_ask(&foe, to, data, len, true)) {
		foe_close(&foe);
		return FOE_FAILED;
	}
	foe_listen_to(&foe);
	answer = foe_await(&foe, 300);
	answers[answer]++;
	if (answer == FOE_REJECTED && foe.sane && foe.cm.reason < OFI_RDM_CMWIRE_REASONS)
		reasons[foe.cm.reason]++;
	if (answer == FOE_UP && (foe_hear_type(&foe, OFI_RDM_WIRE_EAGER, &packet, 60) ||
				 foe_hear_type(&foe, OFI_RDM_WIRE_RTS, &packet, 20)))
		FAIL("a message for a peer went to the foe");
	foe_close(&foe);
	return answer;
}

static enum foe_answer claim(const struct sockaddr_in *to, const char *from,
			     const struct ofi_rdm_cmwire *cm)
{
	uint8_t data[256] = { 0 };

	return claim_bytes(to, from, data, foe_pack(data, cm));
}

/*
 * What a victim discloses to an attacker to which it sends; the attacker does not answer, or
 * answers with invalid data.
 */
static struct ofi_rdm_cmwire spy(uint8_t *data, size_t *len)
{
	struct sockaddr_in name;
	struct rdma_cm_id *id;
	struct ofi_rdm_cmwire cm;
	struct foe foe;

	foe_lurk(&foe, &name);
	pair_send(&victims, &name, 64, 1);
	id = foe_request(&foe, 5000);
	if (!id || !foe.sane)
		FAIL("a victim did not connect to who is in its address vector");
	memcpy(data, foe.data, foe.len);
	*len = foe.len;
	cm = foe.cm;
	EQUAL(rdma_reject(id, "?", 1), 0);
	rdma_destroy_id(id);
	foe_close(&foe);
	return cm;
}

/* The first victim's name as seen by the second one, and its own. */
static void claim_victims(const char *from, const struct ofi_rdm_cmwire *known,
			  const uint8_t *recorded, size_t len)
{
	const struct pair_facts *facts = &victims.facts;
	struct ofi_rdm_cmwire cm;
	int i;

	claim_bytes(&facts->name[1], from, recorded, len);
	claim_bytes(&facts->name[0], from, recorded, len);
	for (i = 0; i < 2; i++) {
		cm = foe_claim(&facts->name[0], known->incarnation, known->serial + 100);
		cm.expected = i ? known->expected : 0;
		claim(&facts->name[1], from, &cm);
		pair_check(&victims, 1);
		cm.incarnation ^= 0x100;
		claim(&facts->name[1], from, &cm);
		cm.serial = UINT32_MAX;
		claim(&facts->name[1], from, &cm);
		cm.serial = 0;
		claim(&facts->name[1], from, &cm);
		cm.expected = 77;
		claim(&facts->name[1], from, &cm);
		pair_check(&victims, 1);
		cm = foe_claim(&facts->name[1], 3, 1);
		claim(&facts->name[1], from, &cm);
		cm = foe_claim(&facts->name[0], known->incarnation, known->serial);
		claim(&facts->name[0], from, &cm);
	}
	pair_check(&victims, 1);
}

static void claim_odd(const char *from)
{
	static const uint8_t odd[][16] = {
		{ 0 },
		{ [10] = 0xff, [11] = 0xff },
		{ [10] = 0xff, [11] = 0xff, [12] = 224, [15] = 1 },
		{ [10] = 0xff, [11] = 0xff, [12] = 255, 255, 255, 255 },
		{ [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 },
		{ [10] = 0xff, [11] = 0xff, [12] = 10, 77, 0, 2 },
		{ [15] = 1 },
		{ 0xfe, 0x80, [15] = 1 },
		{ 0xff, 0x02, [15] = 1 },
		{ 0xfd, 0x77, [15] = 1 },
	};
	struct ofi_rdm_cmwire cm;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		cm = foe_claim(&victims.facts.name[0], 5 + i, 1);
		memcpy(cm.addr, odd[i], sizeof(cm.addr));
		claim(&victims.facts.name[1], from, &cm);
	}
	cm = foe_claim(&victims.facts.name[0], 99, 1);
	cm.port = 0;
	claim(&victims.facts.name[1], from, &cm);
	cm.port = 1;
	cm.incarnation = 0;
	claim(&victims.facts.name[1], from, &cm);
	cm.incarnation = 1;
	cm.eager = 0;
	claim(&victims.facts.name[1], from, &cm);
	cm.eager = UINT32_MAX;
	claim(&victims.facts.name[1], from, &cm);
	cm.eager = 1024;
	cm.flags = 0xffff;
	claim(&victims.facts.name[1], from, &cm);
	pair_check(&victims, 1);
}

/* The recorded request truncated, and with each of its first bytes changed. */
static void claim_torn(const uint8_t *recorded, size_t len)
{
	uint8_t data[256];
	size_t i;

	for (i = 0; i < 56; i += 9)
		claim_bytes(&victims.facts.name[1], NULL, recorded, i);
	for (i = 0; i < len && i < 56; i += 5) {
		memcpy(data, recorded, 56);
		data[i] ^= (uint8_t)(1 + foe_random(255));
		claim_bytes(&victims.facts.name[1], NULL, data, 56);
	}
	for (i = 0; i < 8; i++) {
		uint32_t word, k;

		for (k = 0; k < 56; k += 4) {
			word = foe_random(0);
			memcpy(data + k, &word, 4);
		}
		claim_bytes(&victims.facts.name[1], NULL, data, foe_random(57));
	}
	pair_check(&victims, 1);
}

/* Invented names, of hosts that exist and of hosts that do not. */
static void claim_many(const char *from)
{
	struct sockaddr_in name = victims.facts.name[0];
	struct ofi_rdm_cmwire cm;
	unsigned int i;

	for (i = 0; i < NAMES; i++) {
		name.sin_port = htons((uint16_t)(2000 + foe_random(30000)));
		name.sin_addr = victims.facts.name[0].sin_addr;
		if (i & 1)
			name.sin_addr.s_addr = htonl(0x0a4d0000 + foe_random(65535));
		cm = foe_claim(&name, (uint64_t)foe_random(0) << 8 | 1, foe_random(0));
		claim(&victims.facts.name[i & 1], from, &cm);
	}
	pair_check(&victims, 1);
}

/* What a victim gets as an answer if it connects to the attacker. */
static void answer(struct foe *lurker, struct rdma_cm_id *id, const struct sockaddr_in *name,
		   unsigned int how)
{
	struct ofi_rdm_cmwire cm = foe_claim(name, 0x5000 + how, how);
	uint8_t data[256] = { 0 };
	struct foe foe = { 0 };
	unsigned int i;
	size_t len;

	cm.kind = OFI_RDM_CMWIRE_REPLY;
	if (how == 0)
		cm.kind = OFI_RDM_CMWIRE_REQUEST;
	else if (how == 1)
		cm.incarnation = 0;
	else if (how == 2)
		memcpy(&cm.addr[12], "\x0a\x4d\0\x09", 4);
	else if (how == 3)
		cm = foe_claim(&victims.facts.name[1], 0x77, 1);
	else if (how == 4)
		cm.eager = UINT32_MAX;
	else if (how >= ANSWERS)
		cm.kind = OFI_RDM_CMWIRE_REJECT;
	if (how >= ANSWERS)
		cm.reason = 1 + how - ANSWERS;
	len = foe_pack(data, &cm);
	if (how == 5)
		len = 0;
	for (i = 1; how == 6 && i < len; i++)
		data[i] = (uint8_t)foe_random(256);
	if (how == 7)
		data[0] = 255;
	if (how < ANSWERS - 1) {
		foe_accept(&foe, lurker, id, data, len);
		foe_close(&foe);
		return;
	}
	if (how >= ANSWERS)
		rdma_reject(id, data, (uint8_t)len);
	rdma_destroy_id(id);
}

/*
 * The victim connects, and is answered with invalid data, with each valid reason and some invalid
 * ones, or not at all.
 */
static void mislead(void)
{
	struct sockaddr_in name;
	struct rdma_cm_id *id;
	unsigned int how, came = 0;
	struct foe lurker;

	for (how = 0; how < ANSWERS + OFI_RDM_CMWIRE_REASONS + 2; how++) {
		foe_lurk(&lurker, &name);
		pair_send(&victims, &name, 64, 1);
		id = foe_request(&lurker, 3000);
		came += !!id;
		if (id)
			answer(&lurker, id, &name, how);
		foe_close(&lurker);
		pair_check(&victims, 1);
	}
	printf("%u of %u calls were answered with nonsense\n", came, how);
	CHECK(came == how);
}

static void test(void)
{
	struct child newcomer = newcomer_start();
	uint8_t recorded[256] = { 0 };
	const char *elsewhere;
	struct ofi_rdm_cmwire known;
	unsigned int i;
	size_t len;

	pair_start(&victims, false);
	elsewhere = foe_other_host();
	known = spy(recorded, &len);
	printf("recorded %zu bytes, serial %u\n", len, known.serial);
	claim_victims(elsewhere, &known, recorded, len);
	claim_victims(NULL, &known, recorded, len);
	mislead();
	claim_odd(NULL);
	claim_odd(elsewhere);
	claim_torn(recorded, len);
	claim_many(NULL);
	claim_many(elsewhere);
	printf("%u claims were accepted, %u refused, %u failed, %u not answered\n", answers[FOE_UP],
	       answers[FOE_REJECTED], answers[FOE_FAILED], answers[FOE_NOTHING]);
	for (i = 0; i < OFI_RDM_CMWIRE_REASONS; i++)
		if (reasons[i])
			printf("%u: %s\n", reasons[i], ofi_rdm_cmwire_reason_text(i));
	newcomer_check(&newcomer, &victims, 10000);
	pair_end(&victims, GROWN_KIB);
}

int main(void)
{
	return run_test(test);
}
