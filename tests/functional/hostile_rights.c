/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receiver of a large message gets the right to read that message until it acknowledges it: it
 * can neither write there, nor read a byte before it, behind it or later. The same holds for memory
 * that it may write. Requests for invalid keys end the connection.
 */
#include <string.h>
#include "hostile.h"
#include "prov/verbs/cm/cm_wire.h"

enum { LEN = PAIR_GIFT - 1, GROWN_KIB = 16384, GUESSES = 200 };

static struct victims victims;
static struct foe lurker, foe;
static struct ofi_rdm_wire_packet rts;
static struct ofi_rdm_wire_region gift;

/* The victim connects to send; the attacker accepts, and receives what it announces. */
static void be_sent_to(void)
{
	struct sockaddr_in name;
	struct rdma_cm_id *id;
	struct ofi_rdm_cmwire cm;
	uint8_t data[VRB_CM_WIRE_MAX];

	foe_lurk(&lurker, &name);
	pair_send(&victims, &name, LEN, 1);
	CHECK(id = foe_request(&lurker, FOE_MS));
	CHECK(lurker.sane);
	cm = foe_claim(&name, 77, 1);
	cm.kind = OFI_RDM_CMWIRE_REPLY;
	cm.expected = lurker.cm.incarnation;
	foe_accept(&foe, &lurker, id, data, foe_pack(data, &cm));
	CHECK(foe_hear_type(&foe, OFI_RDM_WIRE_RTS, &rts, FOE_MS));
	EQUAL(rts.total, LEN);
	EQUAL(rts.count, 1);
	ofi_rdm_wire_get_region(rts.list, 0, &gift);
	EQUAL(gift.addr, victims.facts.gift);
	EQUAL(gift.len, LEN);
}

static void go(void)
{
	foe_close(&foe);
	foe_close(&lurker);
	pair_check(&victims, 1);
}

static void say(enum ofi_rdm_wire_type type)
{
	struct ofi_rdm_wire_packet packet = { .type = type, .id = rts.id };
	uint8_t bytes[FOE_SLOT];

	EQUAL(foe_say(&foe, bytes, ofi_rdm_wire_build(bytes, &packet)), IBV_WC_SUCCESS);
}

static void read_it(void)
{
	memset(foe_spare(&foe), 0, LEN);
	EQUAL(foe_rdma(&foe, IBV_WR_RDMA_READ, gift.addr, (uint32_t)gift.key, LEN), IBV_WC_SUCCESS);
}

/* Each on its own connection, which a refused access ends. */
static void try_to(const char *what, enum ibv_wr_opcode opcode, int64_t offset, uint32_t len)
{
	be_sent_to();
	read_it();
	if (foe_rdma(&foe, opcode, gift.addr + (uint64_t)offset, (uint32_t)gift.key, len) ==
	    IBV_WC_SUCCESS)
		FAIL("the receiver of a message can %s", what);
	go();
}

/* The victim's next packet arrives when the right has ended. */
static void read_late(void)
{
	struct pair_report before, now;
	int i;

	before = pair_check(&victims, 1);
	be_sent_to();
	read_it();
	say(OFI_RDM_WIRE_FIN);
	for (i = 0; i < 20; i++) {
		now = pair_check(&victims, 1);
		if (now.gifts_done > before.gifts_done)
			break;
	}
	EQUAL(now.gifts_done, before.gifts_done + 1);
	if (foe_rdma(&foe, IBV_WR_RDMA_READ, gift.addr, (uint32_t)gift.key, 1) == IBV_WC_SUCCESS)
		FAIL("the receiver of a message can read it when it is complete");
	go();
}

/* The receiver cannot register memory: it requests segments, and they arrive. */
static void ask_for_segments(void)
{
	struct ofi_rdm_wire_packet packet;
	size_t got = 0;

	be_sent_to();
	say(OFI_RDM_WIRE_SEG_REQ);
	while (got < LEN) {
		CHECK(foe_hear_type(&foe, OFI_RDM_WIRE_SEG_ASKED, &packet, FOE_MS));
		EQUAL(packet.id, rts.id);
		EQUAL(packet.offset, got);
		got += packet.payload_len;
	}
	EQUAL(got, LEN);
	go();
}

/* A small number of wrong keys is answered. */
static void guess_keys(void)
{
	struct ofi_rdm_wire_packet packet = { .type = OFI_RDM_WIRE_KEY_REQ };
	uint8_t bytes[FOE_SLOT];
	int i;

	EQUAL(foe_join(&foe, &victims.facts.name[0]), FOE_UP);
	for (i = 0; i < GUESSES; i++) {
		packet.id = (uint32_t)i + 1;
		packet.key = 0x100000 + (uint64_t)i;
		if (foe_say(&foe, bytes, ofi_rdm_wire_build(bytes, &packet)) != IBV_WC_SUCCESS ||
		    !foe_hear_type(&foe, OFI_RDM_WIRE_KEY_RSP, &packet, FOE_MS))
			break;
		CHECK(packet.status);
		packet = (struct ofi_rdm_wire_packet){ .type = OFI_RDM_WIRE_KEY_REQ };
	}
	CHECK(i > 16);
	if (i == GUESSES)
		FAIL("a peer may guess keys for ever");
	foe_close(&foe);
	pair_check(&victims, 1);
}

static void test(void)
{
	pair_start(&victims, true);
	pair_check(&victims, 1);
	try_to("write there", IBV_WR_RDMA_WRITE, 0, 1);
	try_to("read what is in front of it", IBV_WR_RDMA_READ, -1, 1);
	try_to("read what is behind it", IBV_WR_RDMA_READ, LEN, 1);
	read_late();
	ask_for_segments();
	guess_keys();
	pair_end(&victims, GROWN_KIB);
}

int main(void)
{
	return run_test(test);
}
