/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An attacker to which the victim sends messages tries the keys that it gets, and others: it reads
 * the memory around the message, writes where it may only read, accesses the message after its end
 * or on another connection, and guesses keys.
 */
#include <rdma/fi_atomic.h>
#include <stdio.h>
#include <string.h>
#include "hostile.h"

enum { LEN = PAIR_GIFT, AROUND = 64, GROWN_KIB = 16384, GUESSES = 12 };

static struct victims victims;
static struct foe lurker;
static struct sockaddr_in lurking;
static unsigned int tries, let_in;

/* A connection of the victim to the attacker, with a message announced. */
static void get_message(struct foe *foe, struct ofi_rdm_wire_packet *rts,
			struct ofi_rdm_wire_region *region)
{
	static uint32_t times;
	uint8_t data[256];
	struct rdma_cm_id *id;
	struct ofi_rdm_cmwire cm;

	pair_send(&victims, &lurking, LEN, 1);
	id = foe_request(&lurker, 5000);
	if (!id)
		FAIL("the victim does not connect to whom it sends to");
	times++;
	cm = foe_claim(&lurking, 77 + times, times);
	cm.kind = OFI_RDM_CMWIRE_REPLY;
	foe_accept(foe, &lurker, id, data, foe_pack(data, &cm));
	if (!foe_hear_type(foe, OFI_RDM_WIRE_RTS, rts, 5000))
		FAIL("the victim does not announce its message");
	EQUAL(rts->count, 1);
	ofi_rdm_wire_get_region(rts->list, 0, region);
	EQUAL(region->len, LEN);
}

static void finish(struct foe *foe, const struct ofi_rdm_wire_packet *rts)
{
	const struct ofi_rdm_wire_packet fin = { .type = OFI_RDM_WIRE_FIN, .id = rts->id };
	uint8_t bytes[64];

	EQUAL(foe_say(foe, bytes, ofi_rdm_wire_build(bytes, &fin)), IBV_WC_SUCCESS);
}

/* What is announced can be read, or the message is not a rendezvous. */
static void honest(void)
{
	struct pair_report report = pair_check(&victims, 1);
	unsigned int before = report.gifts_done;
	struct ofi_rdm_wire_region region;
	struct ofi_rdm_wire_packet rts;
	uint64_t end = deadline();
	struct foe foe;

	get_message(&foe, &rts, &region);
	EQUAL(foe_rdma(&foe, IBV_WR_RDMA_READ, region.addr, (uint32_t)region.key, LEN),
	      IBV_WC_SUCCESS);
	CHECK(memcmp(foe_spare(&foe), foe_spare(&foe) + 4, LEN - 4));
	finish(&foe, &rts);
	while (report.gifts_done == before) {
		report = pair_check(&victims, 1);
		pause_until(end, "the completion of a message that was read");
	}
	foe_close(&foe);
}

static void refused(struct foe *foe, const char *what, enum ibv_wr_opcode opcode, uint64_t addr,
		    uint64_t key, uint32_t len)
{
	int status;

	memset(foe_spare(foe), 0xbb, FOE_SPARE);
	status = foe_rdma(foe, opcode, addr, (uint32_t)key, len);
	tries++;
	let_in += status == IBV_WC_SUCCESS;
	if (status == IBV_WC_SUCCESS)
		printf("LET IN: %s\n", what);
}

/* A failed access ends the connection, so each one uses its own. */
static void abuse(const char *what, enum ibv_wr_opcode opcode, int64_t offset, uint32_t len)
{
	struct ofi_rdm_wire_region region;
	struct ofi_rdm_wire_packet rts;
	struct foe foe;

	get_message(&foe, &rts, &region);
	refused(&foe, what, opcode, region.addr + (uint64_t)offset, region.key, len);
	foe_close(&foe);
	pair_check(&victims, 1);
}

static void afterwards(void)
{
	struct ofi_rdm_wire_region region, next;
	struct ofi_rdm_wire_packet rts;
	struct foe foe;

	get_message(&foe, &rts, &region);
	finish(&foe, &rts);
	pair_check(&victims, 2);
	refused(&foe, "read after the end of the message", IBV_WR_RDMA_READ, region.addr,
		region.key, 64);
	foe_close(&foe);
	pair_check(&victims, 1);
	get_message(&foe, &rts, &next);
	refused(&foe, "read with the key of a message of the last connection", IBV_WR_RDMA_READ,
		region.addr, region.key, 64);
	foe_close(&foe);
}

/*
 * The windows of soft-RoCE cannot be used, so a key is valid on all connections until the message
 * is complete.
 */
static void elsewhere(void)
{
	bool by_owner = strncmp(need_env("WEFT_DEVICE"), "rxe", 3);
	struct ofi_rdm_wire_region region;
	struct ofi_rdm_wire_packet rts;
	struct foe foe, other;
	int i;

	get_message(&foe, &rts, &region);
	for (i = 0; i < 2; i++) {
		EQUAL(foe_join(&other, &victims.facts.name[i]), FOE_UP);
		refused(&other, "write by another connection", IBV_WR_RDMA_WRITE, region.addr,
			region.key, 64);
		foe_close(&other);
		if (!by_owner)
			continue;
		EQUAL(foe_join(&other, &victims.facts.name[i]), FOE_UP);
		refused(&other, "read by another connection", IBV_WR_RDMA_READ, region.addr,
			region.key, 64);
		foe_close(&other);
	}
	/* All accesses that do not damage the message. */
	EQUAL(foe_rdma(&foe, IBV_WR_RDMA_READ, region.addr, (uint32_t)region.key, LEN),
	      IBV_WC_SUCCESS);
	finish(&foe, &rts);
	pair_check(&victims, 1);
	foe_close(&foe);
}

/* Values near the known ones, of keys and of addresses. */
static void guess(void)
{
	uint64_t base = victims.facts.key[0] & ~0xffull;
	struct foe foe = { 0 };
	unsigned int i;

	for (i = 0; i < GUESSES; i++) {
		if (foe_join(&foe, &victims.facts.name[0]) != FOE_UP)
			FAIL("a stranger with an honest name is not let in");
		if (i % 3 == 0)
			refused(&foe, "beyond the window", IBV_WR_RDMA_READ,
				victims.facts.addr[0] + PAIR_WINDOW - 8 * (i & 3),
				victims.facts.key[0], 64);
		else if (i % 3 == 1)
			refused(&foe, "before the window", IBV_WR_RDMA_WRITE,
				victims.facts.addr[0] - 8, victims.facts.key[0], 16);
		else
			refused(&foe, "a neighboring key", IBV_WR_RDMA_READ, victims.facts.addr[0],
				base + (i << 8) + foe_random(256), 64);
		foe_close(&foe);
	}
	pair_check(&victims, 1);
}

static void test(void)
{
	pair_start(&victims, false);
	foe_lurk(&lurker, &lurking);
	honest();
	abuse("write into a message that is sent", IBV_WR_RDMA_WRITE, 0, 64);
	abuse("add to a message that is sent", IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8);
	abuse("read before a message", IBV_WR_RDMA_READ, -AROUND, 2 * AROUND);
	abuse("read behind a message", IBV_WR_RDMA_READ, LEN - AROUND, 2 * AROUND);
	abuse("read a page behind a message", IBV_WR_RDMA_READ, LEN + 4096, AROUND);
	afterwards();
	elsewhere();
	guess();
	honest();
	foe_close(&lurker);
	printf("%u tries, %u let in\n", tries, let_in);
	pair_end(&victims, GROWN_KIB);
	EQUAL(let_in, 0);
}

int main(void)
{
	return run_test(test);
}
