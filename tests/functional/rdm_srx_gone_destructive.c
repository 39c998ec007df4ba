/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device is removed while a shared receive context has receives and unexpected messages: each
 * receive fails once, on the queue of one of the endpoints, nothing more can be posted, and
 * everything can be closed. When the device is back, a new context works.
 */
#include "rdm_node.h"
#include "rdm_srx.h"
#include "unplug.h"

enum { RECEIVES = 10, LEN = 64 };

static struct srx_scene scene;
static uint8_t in[RECEIVES][LEN], out[LEN];

static void post(void)
{
	int i;

	for (i = 0; i < RECEIVES; i++)
		OK(fi_trecv(scene.srx, in[i], LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in[i]));
	OK(fi_trecv(scene.ep[SRX_X], out, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, out));
	srx_send(&scene, SRX_Y, SRX_A, out, LEN, 2);
	srx_send(&scene, SRX_Y, SRX_B, out, LEN, 2);
}

/* Counts the errors of an endpoint's queue. */
static int errors_of(int which, int err)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	int count = 0;
	ssize_t ret;

	while ((ret = fi_cq_read(scene.cq[which], &entry, 1)) == -FI_EAVAIL) {
		RETURNS(fi_cq_readerr(scene.cq[which], &error, 0), 1);
		EQUAL(error.err, err);
		count++;
	}
	RETURNS(ret, -FI_EAGAIN);
	return count;
}

static void all_fail(void)
{
	int shared = 0, own = 0;
	uint64_t end = deadline();

	while (shared < RECEIVES || !own) {
		shared += errors_of(SRX_A, FI_ECANCELED) + errors_of(SRX_B, FI_ECANCELED);
		own += errors_of(SRX_X, FI_ECANCELED);
		pause_until(end, "the receives to fail");
	}
	EQUAL(shared, RECEIVES);
	EQUAL(own, 1);
	errors_of(SRX_Y, FI_ENODEV);
}

static void gone(struct child *parent, void *arg)
{
	uint64_t end;
	ssize_t ret;

	(void)parent;
	(void)arg;
	srx_open(&scene, FI_MSG | FI_TAGGED);
	post();
	remove_device();
	all_fail();
	RETURNS(fi_trecv(scene.srx, in[0], LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in[0]), -FI_ENODEV);
	RETURNS(fi_recv(scene.srx, in[0], LEN, NULL, FI_ADDR_UNSPEC, in[0]), -FI_ENODEV);
	RETURNS(fi_trecv(scene.ep[SRX_X], in[0], LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in[0]),
		-FI_ENODEV);
	/* The endpoints notice it one after the other. */
	for (end = deadline(); (ret = fi_tsend(scene.ep[SRX_A], out, LEN, NULL, scene.addr[SRX_X],
					       1, NULL)) != -FI_ENODEV;) {
		OK(ret);
		pause_until(end, "the endpoint to notice");
	}
	srx_close(&scene);
}

static void back(struct child *parent, void *arg)
{
	(void)parent;
	(void)arg;
	srx_open(&scene, FI_MSG | FI_TAGGED);
	OK(fi_trecv(scene.srx, in[0], LEN, NULL, FI_ADDR_UNSPEC, 1, 0, in[0]));
	fill(out, LEN, 1);
	srx_send(&scene, SRX_X, SRX_B, out, LEN, 1);
	CHECK(srx_wait(&scene, SRX_B).op_context == in[0]);
	CHECK_FILLED(in[0], LEN, 1);
	srx_close(&scene);
}

static void test(void)
{
	struct child child = child_start(gone, NULL);

	child_end(&child);
	bring_back();
	child = child_start(back, NULL);
	child_end(&child);
}

int main(void)
{
	need_vm();
	return run_test(test);
}
