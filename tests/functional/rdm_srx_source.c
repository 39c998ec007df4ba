/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_DIRECTED_RECV and FI_SOURCE on a shared receive context: the sender that a receive specifies
 * may send to any endpoint, and may be inserted after its message arrived.
 */
#include "rdm_srx.h"

enum { LEN = 64 };

static uint8_t out[LEN], in[2][LEN];
static struct srx_scene scene;

/* Two senders at two endpoints: the receive waits for the one that it specifies. */
static void directed(int at)
{
	fi_addr_t from = FI_ADDR_UNSPEC;
	struct fi_cq_tagged_entry entry;

	OK(fi_trecv(scene.srx, in[0], LEN, NULL, scene.addr[SRX_Y], 1, 0, in[0]));
	fill(out, LEN, 1);
	srx_send(&scene, SRX_X, SRX_A, out, LEN, 1);
	srx_send(&scene, SRX_X, SRX_B, out, LEN, 1);
	RETURNS(fi_cq_read(scene.cq[SRX_A], &entry, 1), -FI_EAGAIN);
	RETURNS(fi_cq_read(scene.cq[SRX_B], &entry, 1), -FI_EAGAIN);
	fill(out, LEN, 2);
	srx_send(&scene, SRX_Y, at, out, LEN, 1);
	RETURNS(fi_cq_readfrom(scene.cq[at], &entry, 1, &from), 1);
	CHECK(entry.op_context == in[0]);
	EQUAL(from, scene.addr[SRX_Y]);
	CHECK_FILLED(in[0], LEN, 2);
	OK(fi_trecv(scene.srx, in[0], LEN, NULL, scene.addr[SRX_X], 1, 0, in[0]));
	OK(fi_trecv(scene.srx, in[1], LEN, NULL, scene.addr[SRX_X], 1, 0, in[1]));
	RETURNS(fi_cq_readfrom(scene.cq[SRX_A], &entry, 1, &from), 1);
	EQUAL(from, scene.addr[SRX_X]);
	RETURNS(fi_cq_readfrom(scene.cq[SRX_B], &entry, 1, &from), 1);
	EQUAL(from, scene.addr[SRX_X]);
	CHECK_FILLED(in[1], LEN, 1);
}

/* Y is removed from the address vector, sends, and is inserted again. */
static void inserted_late(void)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t from, again;
	char name[128];
	size_t len = sizeof(name);

	OK(fi_getname(&scene.ep[SRX_Y]->fid, name, &len));
	OK(fi_av_remove(scene.av, &scene.addr[SRX_Y], 1, 0));
	RETURNS(fi_trecv(scene.srx, in[0], LEN, NULL, scene.addr[SRX_Y], 1, 0, in[0]), -FI_EINVAL);
	fill(out, LEN, 3);
	srx_send(&scene, SRX_Y, SRX_B, out, LEN, 1);
	RETURNS(fi_av_insert(scene.av, name, 1, &again, 0, NULL), 1);
	scene.addr[SRX_Y] = again;
	OK(fi_trecv(scene.srx, in[0], LEN, NULL, scene.addr[SRX_X], 1, 0, in[0]));
	RETURNS(fi_cq_read(scene.cq[SRX_B], &entry, 1), -FI_EAGAIN);
	OK(fi_trecv(scene.srx, in[1], LEN, NULL, again, 1, 0, in[1]));
	RETURNS(fi_cq_readfrom(scene.cq[SRX_B], &entry, 1, &from), 1);
	CHECK(entry.op_context == in[1]);
	EQUAL(from, again);
	srx_send(&scene, SRX_X, SRX_A, out, LEN, 1);
	CHECK(srx_wait(&scene, SRX_A).op_context == in[0]);
}

static void test(void)
{
	srx_open(&scene, FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE);
	directed(SRX_A);
	directed(SRX_B);
	inserted_late();
	srx_close(&scene);
}

int main(void)
{
	return run_test(test);
}
