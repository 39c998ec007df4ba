/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_PROGRESS_AUTO: a target that makes no call performs atomics and sends large messages; without
 * work its thread sleeps.
 */
#include "rdm.h"

#include <sys/resource.h>
#include <unistd.h>

enum { LEN = 1 << 20, IDLE_MS = 500, ROUNDS = 20 };

static uint8_t out[LEN], in[LEN];

static void ask(struct fi_info *hints)
{
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
}

static struct fi_cq_tagged_entry wait_alone(struct rdm_side *side)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_cq_read(side->cq, &entry, 1)) == -FI_EAGAIN)
		pause_until(end, "a completion without the peer's help");
	RETURNS(ret, 1);
	return entry;
}

static uint64_t cpu_ms(void)
{
	struct rusage usage;

	OK(getrusage(RUSAGE_SELF, &usage));
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

static void target_sleeps(struct rdm_pair *pair)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t value = 40, two = 2, old = 0;
	struct fid_mr *mr;
	unsigned int i;

	OK(fi_mr_reg(pair->domain, &value, sizeof(value), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0,
		     &mr, NULL));
	for (i = 0; i < ROUNDS; i++) {
		OK(fi_fetch_atomic(side->ep, &two, 1, NULL, &old, NULL, side->peer,
				   (uintptr_t)&value, fi_mr_key(mr), FI_UINT64, FI_SUM, &two));
		CHECK(wait_alone(side).op_context == &two);
		EQUAL(old, 40 + 2 * i);
	}
	/* Whoever takes the endpoint's lock afterward sees what the thread wrote. */
	fi_cq_read(pair->side[1].cq, NULL, 0);
	EQUAL(value, 40 + 2 * ROUNDS);
	OK(fi_close(&mr->fid));
}

/* What the sender has to do for a receiver that posts late, and vice versa. */
static void messages(struct rdm_pair *pair)
{
	fill(out, LEN, 3);
	OK(fi_tsend(pair->side[0].ep, out, LEN, NULL, pair->side[0].peer, 7, out));
	OK(fi_trecv(pair->side[1].ep, in, LEN, NULL, FI_ADDR_UNSPEC, 7, 0, in));
	CHECK(wait_alone(&pair->side[1]).op_context == in);
	CHECK_FILLED(in, LEN, 3);
	CHECK(wait_alone(&pair->side[0]).op_context == out);
}

static void test(void)
{
	struct rdm_change change = { .hints = ask, .wait = FI_WAIT_NONE };
	struct rdm_pair pair;
	uint64_t before;

	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	EQUAL(pair.info->domain_attr->data_progress, FI_PROGRESS_AUTO);
	target_sleeps(&pair);
	messages(&pair);
	before = cpu_ms();
	usleep(IDLE_MS * 1000);
	CHECK(cpu_ms() - before < IDLE_MS / 2);
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
