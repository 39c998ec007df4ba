/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Poll sets with counters, and with fake completion queues that implement only what a poll set
 * needs.
 */
#include "unit.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include "prov/base/cntr.h"
#include "prov/base/cq.h"
#include "prov/base/poll.h"

struct fake_cq {
	struct ofi_cq base;
	struct ofi_cq_slow slow;
	bool ready;
	unsigned int looks; /* number of times that it made progress */
};

static struct fi_provider prov = { .name = "test" };
static struct ofi_domain domain = { .prov = &prov };
static struct fi_ops fid_ops = { .size = sizeof(struct fi_ops), .control = ofi_cq_control };

static bool cq_ready(struct ofi_cq *cq)
{
	struct fake_cq *fake = (struct fake_cq *)cq;

	fake->looks++;
	return fake->ready;
}

static const struct ofi_cq_ops ops = { .ready = cq_ready };

static void init_cqs(struct fake_cq *cq, int count)
{
	int i;

	for (i = 0; i < count; i++)
		cq[i] = (struct fake_cq){
			.base = { .fid.fid = { .fclass = FI_CLASS_CQ,
					       .context = &cq[i],
					       .ops = &fid_ops },
				  .slow = &cq[i].slow },
			.slow = { .ops = &ops, .parent = &domain.ref },
		};
}

static struct fid_cntr *open_cntr(struct ofi_ref *parent, void *context)
{
	struct fid_cntr *cntr;

	assert_int_equal(ofi_cntr_open(&prov, parent, parent, NULL, NULL, &cntr, context), 0);
	return cntr;
}

static struct fid_poll *open_set(void)
{
	struct fi_poll_attr attr = { 0 };
	struct fid_poll *set;

	assert_int_equal(ofi_poll_open(&domain.fid, &attr, &set), 0);
	assert_int_equal(set->fid.fclass, FI_CLASS_POLL);
	return set;
}

static void test_open(void **state)
{
	struct fi_poll_attr attr = { .flags = 1 };
	struct fid_poll *set;

	(void)state;
	assert_int_equal(ofi_poll_open(&domain.fid, &attr, &set), -FI_EBADFLAGS);
	assert_int_equal(ofi_poll_open(&domain.fid, NULL, NULL), -FI_EINVAL);
	assert_int_equal(ofi_poll_open(&domain.fid, NULL, &set), 0);
	assert_int_equal(domain.ref.children, 1);
	assert_int_equal(fi_close(&set->fid), 0);
	assert_int_equal(domain.ref.children, 0);
}

static void test_members(void **state)
{
	struct fid_poll *set = open_set();
	struct ofi_ref other = { 0 };
	struct fid_cntr *cntr = open_cntr(&domain.ref, NULL), *foreign = open_cntr(&other, NULL);
	struct fid eq = { .fclass = FI_CLASS_EQ };
	struct fake_cq cq[2];

	(void)state;
	init_cqs(cq, 2);
	cq[1].slow.parent = &other;
	assert_int_equal(fi_poll_add(set, &cq[0].base.fid.fid, 1), -FI_EBADFLAGS);
	assert_int_equal(fi_poll_add(set, &cq[1].base.fid.fid, 0), -FI_EINVAL);
	assert_int_equal(fi_poll_add(set, &foreign->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_poll_add(set, &eq, 0), -FI_EINVAL);
	assert_int_equal(fi_poll_add(set, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_poll_del(set, &cq[0].base.fid.fid, 0), -FI_ENOENT);
	assert_int_equal(fi_close(&foreign->fid), 0);

	assert_int_equal(fi_poll_add(set, &cq[0].base.fid.fid, 0), 0);
	assert_int_equal(fi_poll_add(set, &cq[0].base.fid.fid, 0), -FI_EALREADY);
	assert_int_equal(fi_poll_add(set, &cntr->fid, 0), 0);
	assert_int_equal(cq[0].slow.ref.children, 1);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&set->fid), -FI_EBUSY);
	assert_int_equal(fi_poll_del(set, &cq[0].base.fid.fid, 1), -FI_EBADFLAGS);
	assert_int_equal(fi_poll_del(set, &cq[0].base.fid.fid, 0), 0);
	assert_int_equal(cq[0].slow.ref.children, 0);
	assert_int_equal(fi_poll_del(set, &cntr->fid, 0), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(fi_close(&set->fid), 0);
	assert_int_equal(domain.ref.children, 0);
}

static void test_poll(void **state)
{
	struct fid_poll *set = open_set();
	struct fid_cntr *cntr = open_cntr(&domain.ref, set);
	struct fake_cq cq[2];
	void *found[4];

	(void)state;
	init_cqs(cq, 2);
	assert_int_equal(fi_poll(set, found, 4), 0);
	assert_int_equal(fi_poll_add(set, &cq[0].base.fid.fid, 0), 0);
	assert_int_equal(fi_poll_add(set, &cq[1].base.fid.fid, 0), 0);
	assert_int_equal(fi_poll_add(set, &cntr->fid, 0), 0);
	assert_int_equal(fi_poll(set, found, 4), 0);
	assert_int_equal(fi_poll(set, NULL, 0), 0);
	assert_int_equal(fi_poll(set, NULL, 1), -FI_EINVAL);
	assert_int_equal(fi_poll(set, found, -1), -FI_EINVAL);
	cq[1].ready = true;
	assert_int_equal(fi_poll(set, found, 4), 1);
	assert_ptr_equal(found[0], &cq[1]);
	assert_int_equal(fi_poll(set, found, 4), 1);
	cq[1].ready = false;
	fi_cntr_add(cntr, 1);
	assert_int_equal(fi_poll(set, found, 4), 1);
	assert_ptr_equal(found[0], set);
	assert_int_equal(fi_poll(set, found, 4), 0);
	fi_cntr_adderr(cntr, 1);
	assert_int_equal(fi_poll(set, found, 4), 1);
	assert_int_equal(fi_poll(set, found, 4), 0);
	assert_int_equal(fi_poll_del(set, &cntr->fid, 0), 0);
	assert_int_equal(fi_poll_del(set, &cq[0].base.fid.fid, 0), 0);
	assert_int_equal(fi_poll_del(set, &cq[1].base.fid.fid, 0), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(fi_close(&set->fid), 0);
}

/* With room for one all have their turn, and a counter's change waits for it. */
static void test_turns(void **state)
{
	struct fid_poll *set = open_set();
	struct fid_cntr *cntr = open_cntr(&domain.ref, NULL);
	bool seen[3] = { false };
	struct fake_cq cq[3];
	void *found;
	int i;

	(void)state;
	init_cqs(cq, 3);
	for (i = 0; i < 3; i++) {
		cq[i].ready = true;
		assert_int_equal(fi_poll_add(set, &cq[i].base.fid.fid, 0), 0);
	}
	assert_int_equal(fi_poll_add(set, &cntr->fid, 0), 0);
	fi_cntr_add(cntr, 1);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fi_poll(set, &found, 1), 1);
		assert_non_null(found);
		seen[(struct fake_cq *)found - cq] = true;
	}
	assert_true(seen[0] && seen[1] && seen[2]);
	assert_int_equal(fi_poll(set, &found, 1), 1);
	assert_null(found);
	for (i = 0; i < 3; i++)
		assert_int_equal(fi_poll_del(set, &cq[i].base.fid.fid, 0), 0);
	assert_int_equal(fi_poll_del(set, &cntr->fid, 0), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(fi_close(&set->fid), 0);
}

static void count_progress(void *object)
{
	++*(unsigned int *)object;
}

/* All make progress, whatever the room. */
static void test_progress(void **state)
{
	static const struct ofi_cntr_source_ops source = { .progress = count_progress };
	struct fid_poll *set = open_set();
	struct fid_cntr *cntr = open_cntr(&domain.ref, NULL);
	unsigned int looks = 0;
	struct fake_cq cq[3];
	void *found[4];
	int i;

	(void)state;
	init_cqs(cq, 3);
	for (i = 0; i < 3; i++)
		assert_int_equal(fi_poll_add(set, &cq[i].base.fid.fid, 0), 0);
	assert_int_equal(fi_poll_add(set, &cntr->fid, 0), 0);
	assert_int_equal(ofi_cntr_watch(ofi_cntr(cntr), &source, &looks, -1), 0);
	fi_cntr_add(cntr, 1);
	assert_int_equal(fi_poll(set, NULL, 0), 0);
	cq[0].ready = true;
	assert_int_equal(fi_poll(set, found, 1), 1);
	assert_ptr_equal(found[0], &cq[0]);
	for (i = 0; i < 3; i++)
		assert_int_equal(cq[i].looks, 2);
	assert_int_equal(looks, 2);
	/* The counter is still to be reported. */
	assert_int_equal(fi_poll(set, found, 4), 2);
	ofi_cntr_unwatch(ofi_cntr(cntr), &looks);
	for (i = 0; i < 3; i++)
		assert_int_equal(fi_poll_del(set, &cq[i].base.fid.fid, 0), 0);
	assert_int_equal(fi_poll_del(set, &cntr->fid, 0), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(fi_close(&set->fid), 0);
}

/* A counter that was set may have the value again that it had when it was last reported. */
static void same_value_after_set(void **state)
{
	struct fid_poll *set = open_set();
	struct fid_cntr *cntr = open_cntr(&domain.ref, set);
	void *found[1];

	(void)state;
	assert_int_equal(fi_poll_add(set, &cntr->fid, 0), 0);
	fi_cntr_add(cntr, 1);
	assert_int_equal(fi_poll(set, found, 1), 1);
	fi_cntr_set(cntr, 0);
	fi_cntr_add(cntr, 1);
	assert_int_equal(fi_poll(set, found, 1), 1);
	assert_int_equal(fi_poll(set, found, 1), 0);
	fi_cntr_adderr(cntr, 1);
	assert_int_equal(fi_poll(set, found, 1), 1);
	fi_cntr_seterr(cntr, 0);
	fi_cntr_adderr(cntr, 1);
	assert_int_equal(fi_poll(set, found, 1), 1);
	assert_int_equal(fi_poll_del(set, &cntr->fid, 0), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(fi_close(&set->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open),  cmocka_unit_test(test_members),
		cmocka_unit_test(test_poll),  cmocka_unit_test(same_value_after_set),
		cmocka_unit_test(test_turns), cmocka_unit_test(test_progress),
	};

	return cmocka_run_group_tests_name("poll", tests, NULL, NULL);
}
