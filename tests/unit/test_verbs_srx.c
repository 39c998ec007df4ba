/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive contexts: opening, binding, posting, options. */
#include "unit.h"

#include <errno.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_rma.h>
#include "prov/base/ep.h"
#include "prov/base/eq.h"
#include "prov/verbs/provider/prov.h"
#include "srx_rig.h"

enum { TAKERS = 40 };

static void test_open(void **state)
{
	struct rig *rig = *state;

	srx_open(rig);
	assert_int_equal(rig_srx->fid.fclass, FI_CLASS_SRX_CTX);
	assert_ptr_equal(rig_srx->fid.context, &srx_attr);
	assert_int_equal(srx_device()->init.attr.max_wr, SRX_SIZE);
	assert_int_equal(srx_device()->init.attr.max_sge, SRX_IOVS);
	assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE);
	assert_int_equal(fi_enable(rig_srx), 0);
	assert_int_equal(fi_close(&rig->domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* What is 0 or not given has the defaults. */
static void test_defaults(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	srx_attr = (struct fi_rx_attr){ 0 };
	assert_int_equal(fi_srx_context(rig->domain, &srx_attr, &rig_srx, NULL), 0);
	assert_int_equal(fi_rx_size_left(rig_srx), 16);
	assert_int_equal(srx_device()->init.attr.max_sge, 4);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
	assert_int_equal(fi_srx_context(rig->domain, NULL, &rig_srx, NULL), 0);
	assert_int_equal(fi_rx_size_left(rig_srx), rig->info->rx_attr->size);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* Attributes of the domain that a shared context can't have do not keep it from opening. */
static void test_defaults_that_fit(void **state)
{
	struct rig *rig = *state;

	rig->info->rx_attr->caps |= FI_RECV | FI_TRIGGER | FI_MULTI_RECV;
	rig->info->rx_attr->size = (size_t)fake.attr.max_srq_wr + 1;
	rig->info->rx_attr->iov_limit = 1000;
	rig_open_domain(rig);
	assert_int_equal(fi_srx_context(rig->domain, NULL, &rig_srx, NULL), 0);
	assert_int_equal(fi_rx_size_left(rig_srx), fake.attr.max_srq_wr);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

static int open_with(struct rig *rig, struct fi_rx_attr with)
{
	struct fid_ep *none = (void *)&srx_attr;
	int ret = fi_srx_context(rig->domain, &with, &none, NULL);

	if (ret)
		assert_ptr_equal(none, &srx_attr);
	else
		assert_int_equal(fi_close(&none->fid), 0);
	return ret;
}

static void test_bad_open(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	assert_int_equal(fi_srx_context(rig->domain, &srx_attr, NULL, NULL), -FI_EINVAL);
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ .caps = FI_TAGGED }), -FI_EINVAL);
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ .caps = FI_MSG | FI_RECV }), 0);
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ .caps = FI_MSG | FI_TRIGGER }), 0);
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ .caps = rig->info->caps }), 0);
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ .size = 2049 }), -FI_EINVAL);
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ .size = 2048 }), 0);
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ .size = SIZE_MAX }), -FI_EINVAL);
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ .iov_limit = 28 }), -FI_EINVAL);
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ .iov_limit = 27 }), 0);
	vrb_domain(rig->domain)->dead = true;
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ 0 }), -FI_ENODEV);
	vrb_domain(rig->domain)->dead = false;
	vrb_domain(rig->domain)->attr.max_srq = 0;
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ 0 }), -FI_ENOSYS);
}

static void test_open_fails(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = ENOMEM;
	assert_int_equal(open_with(rig, (struct fi_rx_attr){ 0 }), -FI_ENOMEM);
	assert_string_equal(fake.failed, "ibv_create_srq");
}

static void test_posts(void **state)
{
	struct iovec iov[SRX_IOVS + 1];
	void *desc[SRX_IOVS] = { (void *)1, (void *)2, (void *)3, (void *)4 };
	struct fi_msg msg = {
		.msg_iov = iov, .desc = desc, .iov_count = 2, .context = &srx_mark[3]
	};
	struct rig *rig = *state;
	const struct fake_post *last;
	int i;

	srx_open_all(rig);
	for (i = 0; i <= SRX_IOVS; i++)
		iov[i] = (struct iovec){ srx_buf + i, 4 };
	last = &srx_device()->recvs.last;
	assert_int_equal(fi_recv(rig_srx, srx_buf, 7, (void *)9, 0, &srx_mark[1]), 0);
	assert_int_equal(last->wr.num_sge, 1);
	assert_int_equal(last->sge[0].lkey, 9);
	assert_int_equal(last->len, 7);
	assert_int_equal(fi_recvv(rig_srx, iov, desc, SRX_IOVS, 0, &srx_mark[2]), 0);
	assert_int_equal(last->wr.num_sge, SRX_IOVS);
	assert_int_equal(last->sge[3].lkey, 4);
	assert_int_equal(fi_recvmsg(rig_srx, &msg, FI_COMPLETION | FI_MORE), 0);
	assert_int_equal(last->len, 8);
	assert_int_equal(fi_recv(rig_srx, NULL, 0, NULL, 0, &srx_mark[4]), 0);
	assert_int_equal(last->wr.num_sge, 0);
	assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE - 4);
	for (i = 1; i <= 4; i++) {
		srx_arrive(rig->ep);
		assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &srx_mark[i]);
	}
	assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE);
	assert_int_equal(fi_recv(rig_srx, srx_buf, UINT32_MAX, NULL, 0, NULL), 0);
	assert_int_equal(last->len, INT32_MAX);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

static void test_bad_posts(void **state)
{
	struct iovec iov[SRX_IOVS + 1] = { { NULL, 4 }, { srx_buf, SIZE_MAX } };
	struct fi_msg msg = { .iov_count = 1 };
	struct rig *rig = *state;

	srx_open(rig);
	assert_int_equal(fi_recv(rig_srx, srx_buf, 1ULL << 32, NULL, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_recvmsg(rig_srx, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_recvmsg(rig_srx, &msg, 0), -FI_EINVAL);
	msg.msg_iov = iov;
	msg.iov_count = SRX_IOVS + 1;
	assert_int_equal(fi_recvmsg(rig_srx, &msg, 0), -FI_EINVAL);
	iov[0] = (struct iovec){ srx_buf, 4 };
	msg.iov_count = 2;
	assert_int_equal(fi_recvmsg(rig_srx, &msg, 0), -FI_EMSGSIZE);
	assert_int_equal(fi_recvmsg(rig_srx, &msg, OFI_RX_FLAGS), -FI_EMSGSIZE);
	msg.iov_count = 1;
	assert_int_equal(fi_recvmsg(rig_srx, &msg, FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(fi_recvv(rig_srx, NULL, NULL, 1, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_send(rig_srx, srx_buf, 4, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_read(rig_srx, srx_buf, 4, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE);
	srx_device()->post_err = EINVAL;
	assert_int_equal(srx_post(NULL), -FI_EINVAL);
	assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE);
	srx_post_all(0, SRX_SIZE);
	assert_int_equal(srx_post(NULL), -FI_EAGAIN);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* An endpoint with a shared context takes no receives of its own. */
static void test_not_on_endpoints(void **state)
{
	struct iovec iov = { srx_buf, 4 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct rig *rig = *state;

	srx_open_all(rig);
	assert_int_equal(fi_recv(rig->ep, srx_buf, 4, NULL, 0, NULL), -FI_EOPNOTSUPP);
	assert_int_equal(fi_recvv(rig->ep, &iov, NULL, 1, 0, NULL), -FI_EOPNOTSUPP);
	assert_int_equal(fi_recvmsg(rig->ep, &msg, 0), -FI_EOPNOTSUPP);
	assert_int_equal(fi_rx_size_left(rig->ep), 0);
	assert_int_equal(fi_send(rig->ep, srx_buf, 4, NULL, 0, NULL), 0);
	assert_int_equal(fake_qp(rig_qp(rig))->init.cap.max_recv_wr, 0);
	assert_ptr_equal(rig_qp(rig)->srq, &srx_device()->ibv);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* Nor does one that was opened for RMA, and without a context in its attributes. */
static void test_not_on_endpoints_for_rma(void **state)
{
	struct rig *rig = *state;

	rig->info->caps = FI_RMA | FI_READ | FI_WRITE;
	srx_open(rig);
	rig->ep = srx_ep(rig, rig->cq[1]);
	assert_int_equal(fi_recv(rig->ep, srx_buf, 4, NULL, 0, NULL), -FI_EOPNOTSUPP);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

static void test_bind(void **state)
{
	struct rig *rig = *state;
	struct fid_domain *domain;
	struct fid_ep *foreign;

	srx_open(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_srx->fid, FI_RECV), -FI_EBADFLAGS);
	assert_int_equal(vrb_domain_open(&rig_fabric.fid, rig->info, &domain, NULL), 0);
	assert_int_equal(fi_srx_context(domain, &srx_attr, &foreign, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &foreign->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_close(&foreign->fid), 0);
	assert_int_equal(fi_close(&domain->fid), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_srx->fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_srx->fid, 0), -FI_EBUSY);
	assert_int_equal(fi_close(&rig_srx->fid), -FI_EBUSY);
	assert_int_equal(fi_ep_bind(rig_srx, &rig->cq[0]->fid, FI_RECV), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(rig_srx, NULL, 0), -FI_EINVAL);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* Asked for and not bound; receives without entries cannot be had. */
static void test_enable(void **state)
{
	struct rig *rig = *state;

	srx_open(rig);
	rig->info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[0]->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[1]->fid, FI_RECV | FI_SELECTIVE_COMPLETION),
			 0);
	assert_int_equal(fi_enable(rig->ep), -FI_EOPBADSTATE);
	assert_int_equal(fi_recv(rig->ep, srx_buf, 4, NULL, 0, NULL), -FI_EOPNOTSUPP);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_srx->fid, 0), 0);
	assert_int_equal(fi_enable(rig->ep), -FI_EINVAL);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

static int set(int name, size_t value)
{
	return fi_setopt(&rig_srx->fid, FI_OPT_ENDPOINT, name, &value, sizeof(value));
}

static void test_limit(void **state)
{
	struct ofi_eq foreign = { .fid.fid.fclass = FI_CLASS_EQ };
	struct rig *rig = *state;
	size_t value = 0, len = sizeof(value);

	srx_open_all(rig);
	assert_int_equal(set(FI_OPT_VERBS_SRX_LIMIT, 3), -FI_ENOEQ);
	assert_int_equal(fi_ep_bind(rig_srx, &foreign.fid.fid, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(rig_srx, &rig_eq.fid.fid, FI_RECV), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(rig_srx, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig_srx, &rig_eq.fid.fid, 0), -FI_EBUSY);
	assert_int_equal(set(FI_OPT_VERBS_SRX_LIMIT, 3), 0);
	assert_int_equal(srx_device()->limit, 3);
	assert_int_equal(set(FI_OPT_VERBS_SRX_LIMIT, SRX_SIZE), 0);
	assert_int_equal(set(FI_OPT_VERBS_SRX_LIMIT, SRX_SIZE + 1), -FI_EINVAL);
	assert_int_equal(set(FI_OPT_VERBS_SRX_LIMIT, SIZE_MAX), -FI_EINVAL);
	assert_int_equal(set(FI_OPT_RX_SIZE, 3), -FI_EOPNOTSUPP);
	assert_int_equal(set(FI_OPT_CM_DATA_SIZE, 3), -FI_ENOPROTOOPT);
	assert_int_equal(
		fi_setopt(&rig_srx->fid, FI_OPT_ENDPOINT, FI_OPT_VERBS_SRX_LIMIT, &value, 4),
		-FI_EINVAL);
	assert_int_equal(fi_setopt(&rig_srx->fid, FI_OPT_ENDPOINT, FI_OPT_VERBS_SRX_LIMIT, NULL, 8),
			 -FI_EINVAL);
	assert_int_equal(
		fi_getopt(&rig_srx->fid, FI_OPT_ENDPOINT, FI_OPT_VERBS_SRX_LIMIT, &value, &len), 0);
	assert_int_equal(value, SRX_SIZE);
	len = 3;
	assert_int_equal(fi_getopt(&rig_srx->fid, FI_OPT_ENDPOINT, FI_OPT_RX_SIZE, &value, &len),
			 -FI_ETOOSMALL);
	assert_int_equal(len, sizeof(value));
	assert_int_equal(
		fi_getopt(&rig_srx->fid, FI_OPT_ENDPOINT, FI_OPT_MAX_MSG_SIZE, &value, &len),
		-FI_ENOPROTOOPT);
	fake.fail_errno = EINVAL;
	fake.fail_at = fake.calls + 1;
	assert_int_equal(set(FI_OPT_VERBS_SRX_LIMIT, 3), -FI_EINVAL);
	fake.fail_at = fake.calls + 1;
	assert_int_equal(
		fi_getopt(&rig_srx->fid, FI_OPT_ENDPOINT, FI_OPT_VERBS_SRX_LIMIT, &value, &len),
		-FI_EINVAL);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* Events go with the context, also those of before it had its own queue. */
static void test_events(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct rig *rig = *state;
	struct fi_eq_entry entry;
	struct fid_eq *eq[2];
	uint32_t event;
	int i;

	srx_open(rig);
	for (i = 0; i < 2; i++)
		assert_int_equal(ofi_eq_open(&vrb_prov, FI_VERSION(1, 17), &rig_fabric.ref, &attr,
					     NULL, &eq[i], NULL),
				 0);
	assert_int_equal(fi_domain_bind(rig->domain, &eq[0]->fid, 0), 0);
	ofi_eq_report(vrb_srx_eq(vrb_srx(rig_srx)), FI_NOTIFY, &rig_srx->fid, 0);
	assert_int_equal(fi_ep_bind(rig_srx, &eq[1]->fid, 0), 0);
	ofi_eq_report(vrb_srx_eq(vrb_srx(rig_srx)), FI_NOTIFY, &rig_srx->fid, 0);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(fi_eq_read(eq[i], &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	for (i = 0; i < 2; i++)
		assert_int_equal(fi_close(&rig->cq[i]->fid), 0);
	assert_int_equal(fi_close(&rig->domain->fid), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(fi_close(&eq[i]->fid), 0);
	rig->cq[0] = rig->cq[1] = NULL;
	rig->domain = NULL;
}

/* The device is lost after a look at the domain and before the context is one of the domain's. */
static void test_lost_while_opening(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	fake.dying = &vrb_domain(rig->domain)->dead;
	srx_open(rig);
	assert_int_equal(srx_post(srx_mark), -FI_ENODEV);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

static int ops_flags(int command, uint64_t *flags)
{
	return fi_control(&rig_srx->fid, command, flags);
}

static void test_op_flags(void **state)
{
	struct rig *rig = *state;
	uint64_t flags = FI_RECV | FI_COMPLETION;

	srx_open(rig);
	assert_int_equal(ops_flags(FI_SETOPSFLAG, &flags), 0);
	flags = FI_RECV;
	assert_int_equal(ops_flags(FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, FI_COMPLETION);
	flags = FI_RECV | FI_COMPLETION | FI_TRANSMIT_COMPLETE;
	assert_int_equal(ops_flags(FI_SETOPSFLAG, &flags), 0);
	flags = FI_RECV | FI_MORE;
	assert_int_equal(ops_flags(FI_SETOPSFLAG, &flags), -FI_EBADFLAGS);
	flags = FI_RECV | FI_INJECT;
	assert_int_equal(ops_flags(FI_SETOPSFLAG, &flags), -FI_EBADFLAGS);
	flags = FI_TRANSMIT;
	assert_int_equal(ops_flags(FI_SETOPSFLAG, &flags), -FI_EINVAL);
	assert_int_equal(ops_flags(FI_GETOPSFLAG, &flags), -FI_EINVAL);
	assert_int_equal(ops_flags(FI_SETOPSFLAG, NULL), -FI_EINVAL);
	assert_int_equal(ops_flags(9999, &flags), -FI_ENOSYS);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* The endpoint that took a receive is found without a look at all endpoints. */
static void test_takers(void **state)
{
	struct fid_ep *eps[TAKERS], *other;
	struct rig *rig = *state;
	struct vrb_domain *domain;
	struct vrb_ep *first;
	uint32_t qp_num;
	unsigned int i;

	srx_open_all(rig);
	domain = vrb_domain(rig->domain);
	for (i = 0; i < TAKERS; i++)
		eps[i] = srx_ep(rig, rig->cq[1]);
	other = srx_bound_ep(rig, rig->cq[1]);
	first = LIST_FIRST(&domain->eps);
	LIST_INIT(&domain->eps);
	for (i = 0; i < TAKERS; i++)
		assert_ptr_equal(vrb_ep_find(domain, vrb_ep(eps[i])->qp_num), vrb_ep(eps[i]));
	assert_null(vrb_ep_find(domain, vrb_ep(other)->qp_num));
	LIST_FIRST(&domain->eps) = first;
	for (i = 0; i < TAKERS; i++) {
		qp_num = vrb_ep(eps[i])->qp_num;
		srx_close_ep(&eps[i]);
		assert_null(vrb_ep_find(domain, qp_num));
	}
	srx_close_ep(&other);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_open),
		RIG_TEST(test_defaults),
		RIG_TEST(test_defaults_that_fit),
		RIG_TEST(test_bad_open),
		RIG_TEST(test_open_fails),
		RIG_TEST(test_posts),
		RIG_TEST(test_bad_posts),
		RIG_TEST(test_not_on_endpoints),
		RIG_TEST(test_not_on_endpoints_for_rma),
		RIG_TEST(test_bind),
		RIG_TEST(test_enable),
		RIG_TEST(test_limit),
		RIG_TEST(test_events),
		RIG_TEST(test_lost_while_opening),
		RIG_TEST(test_op_flags),
		RIG_TEST(test_takers),
	};

	return RIG_RUN("verbs_srx", tests);
}
