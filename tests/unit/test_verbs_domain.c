/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Domains: opening with every call failing in turn, threading and locks, binding, closing. */
#include "unit.h"

#include <errno.h>
#include <rdma/fi_atomic.h>
#include "prov/base/eq.h"
#include "prov/rdm/domain_progress.h"
#include "prov/rdm/rdm.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/msg/ops.h"
#include "prov/verbs/provider/prov.h"
#include "src/ds/bias.h"
#include "verbs_rig.h"

static void test_open(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	assert_int_equal(rig->domain->fid.fclass, FI_CLASS_DOMAIN);
	assert_int_equal(rig_fabric.ref.children, 1);
	assert_int_equal(fake.pds, 1);
	assert_int_equal(fake.mrs, 1);
	assert_ptr_equal(fake.mr->addr, vrb_domain(rig->domain)->scratch);
	assert_int_equal(fake.mr_access, IBV_ACCESS_LOCAL_WRITE);
	/* The caller's info may go. */
	assert_ptr_not_equal(vrb_domain(rig->domain)->base.info, rig->info);
}

static void test_no_atomics(void **state)
{
	struct rig *rig = *state;

	fake.attr.atomic_cap = IBV_ATOMIC_NONE;
	rig_open_domain(rig);
	assert_int_equal(fake.mrs, 0);
}

static void test_bad_info(void **state)
{
	struct fid_domain *domain = NULL;
	struct rig *rig = *state;
	struct fi_info info = *rig->info;
	struct fi_domain_attr attr = *info.domain_attr;
	struct fid_fabric *fabric = &rig_fabric.fid;

	assert_int_equal(vrb_domain_open(fabric, NULL, &domain, NULL), -FI_EINVAL);
	assert_int_equal(vrb_domain_open(fabric, rig->info, NULL, NULL), -FI_EINVAL);
	info.domain_attr = NULL;
	assert_int_equal(vrb_domain_open(fabric, &info, &domain, NULL), -FI_EINVAL);
	info.domain_attr = &attr;
	attr.name = NULL;
	assert_int_equal(vrb_domain_open(fabric, &info, &domain, NULL), -FI_EINVAL);
	info.domain_attr = rig->info->domain_attr;
	info.fabric_attr = NULL;
	assert_int_equal(vrb_domain_open(fabric, &info, &domain, NULL), -FI_EINVAL);
	assert_null(domain);
	assert_int_equal(fake.calls, 0);
}

/* Every call fails in turn: its error comes back and nothing stays open. */
static void test_open_fails(void **state)
{
	struct fid_domain *domain = NULL;
	struct rig *rig = *state;
	int ret;

	rig_device_err = -FI_ENODEV;
	assert_int_equal(vrb_domain_open(&rig_fabric.fid, rig->info, &domain, NULL), -FI_ENODEV);
	rig_device_err = 0;
	rig_async_err = -FI_EMFILE;
	assert_int_equal(vrb_domain_open(&rig_fabric.fid, rig->info, &domain, NULL), -FI_EMFILE);
	rig_async_err = 0;
	fake_all_closed();

	for (fake.fail_at = 1;; fake.fail_at++) {
		fake.calls = 0;
		fake.fail_errno = 20 + (int)fake.fail_at;
		fake.failed = NULL;
		ret = vrb_domain_open(&rig_fabric.fid, rig->info, &domain, NULL);
		if (!fake.failed)
			break;
		assert_int_equal(ret, -fake.fail_errno);
		assert_null(domain);
		assert_int_equal(rig_fabric.ref.children, 0);
		fake_all_closed();
	}
	assert_int_equal(ret, 0);
	assert_in_range(fake.fail_at, 4, 10);
	assert_int_equal(fi_close(&domain->fid), 0);
}

/* Only the domain of efa's reliable datagrams has another name in other releases. */
static void test_alias(void **state)
{
	static const enum fi_ep_type types[] = { FI_EP_MSG, FI_EP_DGRAM, FI_EP_RDM };
	struct fid_domain *domain;
	struct rig *rig = *state;
	size_t i;

	rig_device_err = -FI_ENODEV;
	for (i = 0; i < 6; i++) {
		rig_kind.has_ip = i < 3;
		rig->info->ep_attr->type = types[i % 3];
		assert_int_equal(vrb_domain_open(&rig_fabric.fid, rig->info, &domain, NULL),
				 -FI_ENODEV);
		assert_int_equal(rig_alias, i == 5);
	}
	rig_kind.has_ip = true;
	rig_device_err = 0;
}

static void check_threading(struct rig *rig, enum fi_threading threading, bool posts, bool polls)
{
	struct vrb_cq *cq;

	rig->info->domain_attr->threading = threading;
	rig_open_ep(rig);
	cq = vrb_cq(rig->cq[0]);
	assert_int_equal(vrb_domain(rig->domain)->lock_posts, posts);
	assert_int_equal(vrb_domain(rig->domain)->lock_polls, polls);
	assert_ptr_equal(rig->ep->msg, posts ? &vrb_msg_ops : &vrb_msg_nolock_ops);
	assert_ptr_equal(rig->ep->rma, posts ? &vrb_rma_ops : &vrb_rma_nolock_ops);
	assert_ptr_equal(rig->ep->atomic, posts ? &vrb_atomic_ops : &vrb_atomic_nolock_ops);
	assert_int_equal(cq->locked, polls);
	assert_ptr_equal(rig->cq[0]->ops,
			 &(polls ? vrb_cq_ops : vrb_cq_nolock_ops)[cq->base.format]);
	rig_close(rig);
	rig_init(rig);
}

static void test_threading(void **state)
{
	struct rig *rig = *state;

	check_threading(rig, FI_THREAD_SAFE, true, true);
	check_threading(rig, FI_THREAD_UNSPEC, true, true);
	check_threading(rig, FI_THREAD_FID, false, true);
	check_threading(rig, FI_THREAD_COMPLETION, false, false);
	check_threading(rig, FI_THREAD_DOMAIN, false, false);
}

static void check_safe_dgram(struct rig *rig, enum fi_threading threading)
{
	rig->info->domain_attr->threading = threading;
	rig->info->ep_attr->type = FI_EP_DGRAM;
	rig->info->caps = FI_MSG | FI_SEND | FI_RECV;
	rig->info->addr_format = FI_ADDR_IB_UD;
	rig->info->ep_attr->max_msg_size = 1024;
	rig_open_ep(rig);
	assert_ptr_equal(rig->ep->msg, &vrb_dgram_ops);
	assert_true(vrb_cq(rig->cq[0])->locked);
	rig_close(rig);
	rig_init(rig);
}

static int rdm_open(struct vrb_domain *domain)
{
	return ofi_rdm_domain_progress_open(&domain->base, false);
}

static void rdm_close(struct vrb_domain *domain)
{
	ofi_rdm_domain_progress_close(domain->base.progress);
}

/* Returns whether the queues and endpoints of reliable datagrams take no lock. */
static bool is_rdm_biased(struct rig *rig, enum fi_threading threading)
{
	static struct fi_ops_domain ops = { .size = sizeof(ops) };
	static const struct vrb_domain_rdm rdm = { .ops = &ops,
						   .open = rdm_open,
						   .close = rdm_close };
	const struct vrb_domain_rdm *others = vrb_domain_rdm();
	struct ofi_rdm_ep ep = { .info = rig->info };
	struct ofi_domain *domain;
	bool is_biased;

	vrb_domain_register_rdm(&rdm);
	rig->info->domain_attr->threading = threading;
	rig->info->ep_attr->type = FI_EP_RDM;
	rig_open_domain(rig);
	domain = &vrb_domain(rig->domain)->base;
	is_biased = ofi_rdm_domain_progress_biased(domain->progress);
	ofi_rdm_domain_progress_bias(domain->progress, &ep);
	assert_int_equal(ep.biased, is_biased);
	assert_int_equal(ep.with_domain, threading == FI_THREAD_DOMAIN && is_biased);
	rig_close(rig);
	vrb_domain_register_rdm(others);
	rig_init(rig);
	return is_biased;
}

/* Some programs promise more than they keep. */
static void test_thread_safe(void **state)
{
	static const enum fi_threading threading[] = { FI_THREAD_FID, FI_THREAD_ENDPOINT,
						       FI_THREAD_COMPLETION, FI_THREAD_DOMAIN };
	struct rig *rig = *state;
	size_t i;

	assert_int_equal(is_rdm_biased(rig, FI_THREAD_COMPLETION), ofi_bias_init());
	for (i = 0; i < sizeof(threading) / sizeof(threading[0]); i++) {
		vrb_params.thread_safe = 1;
		check_threading(rig, threading[i], true, true);
		vrb_params.thread_safe = 1;
		check_safe_dgram(rig, threading[i]);
		vrb_params.thread_safe = 1;
		assert_false(is_rdm_biased(rig, threading[i]));
	}
}

/* A thread that reads a counter polls the completion queue of another one, whose work waits. */
static void test_threading_with_triggers(void **state)
{
	static const struct {
		enum fi_threading threading;
		bool locked;
	} cases[] = { { FI_THREAD_COMPLETION, true }, { FI_THREAD_DOMAIN, false } };
	struct rig *rig = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig->info->domain_attr->threading = cases[i].threading;
		rig->info->caps |= FI_TRIGGER;
		rig_open_ep(rig);
		assert_int_equal(vrb_cq(rig->cq[0])->locked, cases[i].locked);
		assert_ptr_equal(rig->ep->msg,
				 cases[i].locked ? &vrb_msg_ops : &vrb_msg_nolock_ops);
		rig_close(rig);
		rig_init(rig);
	}
}

static void test_bind(void **state)
{
	struct ofi_eq foreign = { .fid.fid.fclass = FI_CLASS_EQ };
	struct fid other = { .fclass = FI_CLASS_CQ };
	struct rig *rig = *state;

	rig_open_domain(rig);
	assert_int_equal(fi_domain_bind(rig->domain, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_domain_bind(rig->domain, &other, 0), -FI_EINVAL);
	assert_int_equal(fi_domain_bind(rig->domain, &foreign.fid.fid, 0), -FI_EINVAL);
	assert_int_equal(fi_domain_bind(rig->domain, &rig_eq.fid.fid, FI_MORE), -FI_EBADFLAGS);
	assert_int_equal(fi_domain_bind(rig->domain, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(rig_eq.ref.children, 1);
	assert_int_equal(fi_domain_bind(rig->domain, &rig_eq.fid.fid, 0), -FI_EBUSY);
	assert_int_equal(rig_eq.ref.children, 1);
}

/* No event names a domain that is closed. */
static void test_events(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct rig *rig = *state;
	struct fi_eq_entry entry;
	struct fid_eq *eq;
	uint32_t event;

	rig_open_domain(rig);
	assert_int_equal(
		ofi_eq_open(&vrb_prov, FI_VERSION(1, 17), &rig_fabric.ref, &attr, NULL, &eq, NULL),
		0);
	assert_int_equal(fi_domain_bind(rig->domain, &eq->fid, 0), 0);
	ofi_eq_report(ofi_eq(eq), FI_NOTIFY, &rig->domain->fid, 0);
	ofi_eq_report_err(ofi_eq(eq), &rig->domain->fid, FI_ENODEV, -FI_ENODEV);
	assert_int_equal(fi_close(&rig->domain->fid), 0);
	rig->domain = NULL;
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	assert_int_equal(fi_close(&eq->fid), 0);
}

static void test_busy(void **state)
{
	struct rig *rig = *state;

	rig_open_ep(rig);
	assert_int_equal(fi_close(&rig->domain->fid), -FI_EBUSY);
}

/* Calls that this domain does not serve. */
static void test_not_served(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *ep;

	rig_open_domain(rig);
	assert_int_equal(fi_scalable_ep(rig->domain, rig->info, &ep, NULL), -FI_ENOSYS);
	assert_int_equal(fi_control(&rig->domain->fid, FI_ENABLE, NULL), -FI_ENOSYS);
}

/* What fi_getinfo does not offer for datagrams, their domain does not have. */
static void test_datagrams(void **state)
{
	struct fi_atomic_attr attr = { .count = 7 };
	struct rig *rig = *state;
	struct fid_stx *stx = NULL;
	struct fid_ep *srx = NULL;

	rig->info->ep_attr->type = FI_EP_DGRAM;
	rig_open_domain(rig);
	assert_int_equal(fi_query_atomic(rig->domain, FI_UINT64, FI_SUM, &attr, 0), -FI_ENOSYS);
	assert_int_equal(attr.count, 7);
	assert_int_equal(fi_stx_context(rig->domain, NULL, &stx, NULL), -FI_ENOSYS);
	assert_int_equal(fi_srx_context(rig->domain, NULL, &srx, NULL), -FI_ENOSYS);
	assert_null(stx);
	assert_null(srx);
	assert_true(vrb_is_domain(rig->domain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_open),
		RIG_TEST(test_no_atomics),
		RIG_TEST(test_bad_info),
		RIG_TEST(test_threading),
		RIG_TEST(test_threading_with_triggers),
		RIG_TEST(test_thread_safe),
		RIG_TEST(test_open_fails),
		RIG_TEST(test_alias),
		RIG_TEST(test_bind),
		RIG_TEST(test_busy),
		RIG_TEST(test_not_served),
		RIG_TEST(test_datagrams),
		RIG_TEST(test_events),
	};

	return cmocka_run_group_tests_name("verbs_domain", tests, NULL, NULL);
}
