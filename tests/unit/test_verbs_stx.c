/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared transmit contexts: attributes, bindings, references. */
#include "unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "prov/base/stx.h"
#include "verbs_rig.h"

static struct fid_stx *stx;
static struct fi_tx_attr attr;

static int open_with(struct rig *rig, struct fi_tx_attr with)
{
	stx = NULL;
	return fi_stx_context(rig->domain, &with, &stx, &attr);
}

static int close_stx(void)
{
	return fi_close(&stx->fid);
}

static int refused(struct rig *rig, struct fi_tx_attr with)
{
	int ret = open_with(rig, with);

	assert_null(stx);
	return ret;
}

static void test_open(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	assert_int_equal(open_with(rig, *rig->info->tx_attr), 0);
	assert_int_equal(stx->fid.fclass, FI_CLASS_STX_CTX);
	assert_ptr_equal(stx->fid.context, &attr);
	assert_int_equal(fi_close(&rig->domain->fid), -FI_EBUSY);
	assert_int_equal(fi_control(&stx->fid, FI_ENABLE, NULL), -FI_ENOSYS);
	assert_int_equal(stx->ops->setopt(&stx->fid, 0, 0, NULL, 0), -FI_ENOSYS);
	assert_int_equal(close_stx(), 0);
	assert_int_equal(open_with(rig, (struct fi_tx_attr){ .caps = FI_MSG | FI_TRIGGER }), 0);
	assert_int_equal(close_stx(), 0);
	assert_int_equal(open_with(rig, (struct fi_tx_attr){ .caps = rig->info->caps }), 0);
	assert_int_equal(close_stx(), 0);
	assert_int_equal(fi_stx_context(rig->domain, NULL, &stx, NULL), 0);
	assert_int_equal(close_stx(), 0);
}

/* Programs for API 1.0 to 1.2 have structures without tclass, and no page may follow one. */
static void test_short_attr(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE),
		     size = offsetof(struct fi_tx_attr, tclass);
	char *room =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rig *rig = *state;

	assert_ptr_not_equal(room, MAP_FAILED);
	assert_int_equal(mprotect(room + page, page, PROT_NONE), 0);
	rig_open_domain(rig);
	assert_int_equal(
		fi_stx_context(rig->domain, (struct fi_tx_attr *)(room + page - size), &stx, NULL),
		0);
	assert_int_equal(close_stx(), 0);
	assert_int_equal(munmap(room, 2 * page), 0);
}

static void test_bad_open(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	assert_int_equal(fi_stx_context(rig->domain, NULL, NULL, NULL), -FI_EINVAL);
	assert_int_equal(refused(rig, (struct fi_tx_attr){ .size = 4097 }), -FI_EINVAL);
	assert_int_equal(refused(rig, (struct fi_tx_attr){ .size = SIZE_MAX }), -FI_EINVAL);
	assert_int_equal(refused(rig, (struct fi_tx_attr){ .iov_limit = 65 }), -FI_EINVAL);
	assert_int_equal(refused(rig, (struct fi_tx_attr){ .rma_iov_limit = 2 }), -FI_EINVAL);
	assert_int_equal(refused(rig, (struct fi_tx_attr){ .caps = FI_TAGGED }), -FI_EINVAL);
}

static void new_ep(struct rig *rig)
{
	rig_open_cqs(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[0]->fid, FI_TRANSMIT | FI_RECV), 0);
}

static void close_all(struct rig *rig)
{
	assert_int_equal(close_stx(), 0);
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
}

/* Each endpoint transmits on its own. */
static void test_bind(void **state)
{
	struct rig *rig = *state;

	rig->info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	new_ep(rig);
	assert_int_equal(fi_enable(rig->ep), -FI_EOPBADSTATE);
	assert_int_equal(open_with(rig, *rig->info->tx_attr), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &stx->fid, FI_TRANSMIT), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(rig->ep, &stx->fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &stx->fid, 0), -FI_EBUSY);
	assert_int_equal(fi_enable(rig->ep), 0);
	vrb_ep_ready(vrb_ep(rig->ep));
	assert_int_equal(rig_send(rig->ep, &attr), 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &attr);
	close_all(rig);
}

/* An endpoint keeps to the limits of its context; those that are 0 are none. */
static void test_limits(void **state)
{
	struct rig *rig = *state;
	struct fi_tx_attr limit;
	size_t *field[] = { &limit.size, &limit.inject_size, &limit.iov_limit };
	size_t i;

	new_ep(rig);
	for (i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
		limit = *rig->info->tx_attr;
		*field[i] -= 1;
		assert_int_equal(open_with(rig, limit), 0);
		assert_int_equal(fi_ep_bind(rig->ep, &stx->fid, 0), -FI_EINVAL);
		assert_int_equal(close_stx(), 0);
	}
	assert_int_equal(open_with(rig, (struct fi_tx_attr){ 0 }), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &stx->fid, 0), 0);
	close_all(rig);
}

/* It changes nothing for an endpoint that is enabled. */
static void test_late(void **state)
{
	struct rig *rig = *state;

	new_ep(rig);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(open_with(rig, *rig->info->tx_attr), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &stx->fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &stx->fid, 0), -FI_EBUSY);
	close_all(rig);
}

static void test_other_domain(void **state)
{
	struct rig *rig = *state;
	struct fid_domain *domain;

	new_ep(rig);
	assert_int_equal(vrb_domain_open(&rig_fabric.fid, rig->info, &domain, NULL), 0);
	assert_int_equal(fi_stx_context(domain, NULL, &stx, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &stx->fid, 0), -FI_EINVAL);
	assert_int_equal(close_stx(), 0);
	assert_int_equal(fi_close(&domain->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_open), RIG_TEST(test_short_attr), RIG_TEST(test_bad_open),
		RIG_TEST(test_bind), RIG_TEST(test_limits),	RIG_TEST(test_other_domain),
		RIG_TEST(test_late),
	};

	return cmocka_run_group_tests_name("verbs_stx", tests, NULL, NULL);
}
