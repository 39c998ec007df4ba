/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoint bindings and default operation flags. */
#include "unit.h"
#include "prov/base/poll.h"

#include "verbs_rig.h"

static void new_ep(struct rig *rig)
{
	rig_open_cqs(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
}

static void test_eq(void **state)
{
	struct ofi_eq foreign = { .fid.fid.fclass = FI_CLASS_EQ };
	struct rig *rig = *state;

	new_ep(rig);
	assert_int_equal(fi_ep_bind(rig->ep, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(rig->ep, &foreign.fid.fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, FI_SEND), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), -FI_EBUSY);
	assert_int_equal(rig_eq.ref.children, 1);
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(rig_eq.ref.children, 0);
}

static void test_cq(void **state)
{
	struct rig *rig = *state;
	struct fid *cq;

	new_ep(rig);
	cq = &rig->cq[0]->fid;
	assert_int_equal(fi_ep_bind(rig->ep, cq, 0), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(rig->ep, cq, FI_SELECTIVE_COMPLETION), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(rig->ep, cq, FI_TRANSMIT | FI_REMOTE_READ), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(rig->ep, cq, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(rig->ep, cq, FI_TRANSMIT), -FI_EBUSY);
	assert_int_equal(fi_ep_bind(rig->ep, cq, FI_TRANSMIT | FI_RECV), -FI_EBUSY);
	assert_int_equal(fi_ep_bind(rig->ep, cq, FI_RECV), 0);
	assert_int_equal(vrb_cq(rig->cq[0])->slow.ref.children, 2);
}

static void test_both_at_once(void **state)
{
	struct rig *rig = *state;

	new_ep(rig);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[0]->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_close(&rig->cq[0]->fid), -FI_EBUSY);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[1]->fid, FI_RECV), -FI_EBUSY);
}

static void test_other_domain(void **state)
{
	struct rig *rig = *state;
	struct fid_domain *domain;
	struct fid_cq *cq;

	new_ep(rig);
	assert_int_equal(vrb_domain_open(&rig_fabric.fid, rig->info, &domain, NULL), 0);
	assert_int_equal(fi_cq_open(domain, &rig->cq_attr, &cq, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &cq->fid, FI_TRANSMIT), -FI_EINVAL);
	assert_int_equal(fi_close(&cq->fid), 0);
	assert_int_equal(fi_close(&domain->fid), 0);
}

/* The completion queue of another kind of endpoints. */
static void test_other_kind(void **state)
{
	struct rig *rig = *state;
	struct vrb_cq strange;

	new_ep(rig);
	strange = *vrb_cq(rig->cq[0]);
	strange.fid.fid.ops = rig->domain->fid.ops;
	assert_int_equal(fi_ep_bind(rig->ep, &strange.fid.fid, FI_TRANSMIT), -FI_EINVAL);
	assert_null(ofi_cq_of(&strange.fid.fid, &vrb_domain(rig->domain)->base.ref));
	assert_int_equal(strange.slow.ref.children, 0);
}

static void test_other_objects(void **state)
{
	struct fid fid = { .fclass = FI_CLASS_AV };
	struct rig *rig = *state;

	new_ep(rig);
	assert_int_equal(fi_ep_bind(rig->ep, &fid, 0), -FI_EINVAL);
	fid.fclass = 12345;
	assert_int_equal(fi_ep_bind(rig->ep, &fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->domain->fid, 0), -FI_EINVAL);
}

static void test_late(void **state)
{
	struct rig *rig = *state;

	rig_enable(rig);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), -FI_EOPBADSTATE);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[0]->fid, FI_RECV), -FI_EOPBADSTATE);
}

static int op_flags(struct rig *rig, int command, uint64_t *flags)
{
	return fi_control(&rig->ep->fid, command, flags);
}

static void test_op_flags(void **state)
{
	struct rig *rig = *state;
	uint64_t flags;

	rig->info->tx_attr->op_flags = FI_COMPLETION | FI_INJECT_COMPLETE;
	rig->info->rx_attr->op_flags = FI_COMPLETION;
	new_ep(rig);
	flags = FI_TRANSMIT;
	assert_int_equal(op_flags(rig, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, FI_COMPLETION | FI_INJECT_COMPLETE);
	flags = FI_RECV;
	assert_int_equal(op_flags(rig, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, FI_COMPLETION);
	flags = FI_RECV | FI_TRANSMIT;
	assert_int_equal(op_flags(rig, FI_GETOPSFLAG, &flags), -FI_EINVAL);
	flags = 0;
	assert_int_equal(op_flags(rig, FI_GETOPSFLAG, &flags), -FI_EINVAL);
	assert_int_equal(op_flags(rig, FI_GETOPSFLAG, NULL), -FI_EINVAL);

	flags = FI_TRANSMIT | FI_DELIVERY_COMPLETE | FI_INJECT;
	assert_int_equal(op_flags(rig, FI_SETOPSFLAG, &flags), 0);
	flags = FI_TRANSMIT;
	assert_int_equal(op_flags(rig, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, FI_DELIVERY_COMPLETE | FI_INJECT);
	flags = FI_TRANSMIT | FI_REMOTE_CQ_DATA;
	assert_int_equal(op_flags(rig, FI_SETOPSFLAG, &flags), -FI_EBADFLAGS);
	flags = FI_TRANSMIT | FI_MORE;
	assert_int_equal(op_flags(rig, FI_SETOPSFLAG, &flags), -FI_EBADFLAGS);
	flags = FI_RECV | FI_INJECT;
	assert_int_equal(op_flags(rig, FI_SETOPSFLAG, &flags), -FI_EBADFLAGS);
	flags = FI_COMPLETION;
	assert_int_equal(op_flags(rig, FI_SETOPSFLAG, &flags), -FI_EINVAL);
	assert_int_equal(op_flags(rig, FI_SETOPSFLAG, NULL), -FI_EINVAL);
	assert_int_equal(op_flags(rig, 9999, &flags), -FI_ENOSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_eq),	     RIG_TEST(test_cq),
		RIG_TEST(test_both_at_once), RIG_TEST(test_other_domain),
		RIG_TEST(test_late),	     RIG_TEST(test_other_objects),
		RIG_TEST(test_op_flags),     RIG_TEST(test_other_kind),
	};

	return cmocka_run_group_tests_name("verbs_ep_bind", tests, NULL, NULL);
}
