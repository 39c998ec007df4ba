/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints: what is refused at open, what enabling requires, each call failing in turn, closing.
 */
#include "unit.h"

#include <errno.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/queue/qp.h"
#include "verbs_rig.h"

static void test_open(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, rig), 0);
	/* A device that fails tells endpoints that are not enabled, too. */
	assert_ptr_equal(vrb_ep(rig->ep)->owner.ops, &vrb_ep_owner_ops);
	assert_int_equal(rig->ep->fid.fclass, FI_CLASS_EP);
	assert_ptr_equal(rig->ep->fid.context, rig);
	assert_ptr_equal(LIST_FIRST(&vrb_domain(rig->domain)->eps), vrb_ep(rig->ep));
}

static int open_with(struct rig *rig, void (*change)(struct fi_info *info))
{
	struct fi_info *info = fi_dupinfo(rig->info);
	struct fid_ep *ep = NULL;
	int ret;

	assert_non_null(info);
	change(info);
	ret = fi_endpoint(rig->domain, info, &ep, NULL);
	fi_freeinfo(info);
	if (ep)
		assert_int_equal(fi_close(&ep->fid), 0);
	return ret;
}

static void other_type(struct fi_info *info)
{
	info->ep_attr->type = FI_EP_RDM;
}

static void no_tx_size(struct fi_info *info)
{
	info->tx_attr->size = 0;
}

static void no_rx_size(struct fi_info *info)
{
	info->rx_attr->size = 0;
}

static void large_tx_size(struct fi_info *info)
{
	info->tx_attr->size = 4097;
}

static void huge_rx_size(struct fi_info *info)
{
	info->rx_attr->size = SIZE_MAX;
}

static void large_tx_iov(struct fi_info *info)
{
	info->tx_attr->iov_limit = VRB_IOV_MAX + 1;
}

static void huge_rx_iov(struct fi_info *info)
{
	info->rx_attr->iov_limit = SIZE_MAX;
}

static void huge_inject(struct fi_info *info)
{
	info->tx_attr->inject_size = SIZE_MAX;
}

/* 32 such buffers are as large as 32 of 64 bytes, in 64 bits. */
static void wrapping_inject(struct fi_info *info)
{
	info->tx_attr->inject_size = (1ULL << 59) + 64;
}

/* Data in device memory passes through a buffer on the stack. */
static void large_hmem_inject(struct fi_info *info)
{
	info->caps |= FI_HMEM;
	info->tx_attr->inject_size = 4097;
}

/* A work request has 32 bits for a length. */
static void huge_messages(struct fi_info *info)
{
	info->ep_attr->max_msg_size = (size_t)UINT32_MAX + 1;
}

static void other_domain(struct fi_info *info)
{
	info->domain_attr->name[0] = 'x';
}

static void nothing(struct fi_info *info)
{
	(void)info;
}

static void test_refused(void **state)
{
	struct rig *rig = *state;

	rig_open_domain(rig);
	assert_int_equal(open_with(rig, nothing), 0);
	assert_int_equal(open_with(rig, other_type), -FI_EINVAL);
	assert_int_equal(open_with(rig, no_tx_size), -FI_EINVAL);
	assert_int_equal(open_with(rig, no_rx_size), -FI_EINVAL);
	assert_int_equal(open_with(rig, large_tx_size), -FI_EINVAL);
	assert_int_equal(open_with(rig, huge_rx_size), -FI_EINVAL);
	assert_int_equal(open_with(rig, large_tx_iov), -FI_EINVAL);
	assert_int_equal(open_with(rig, huge_rx_iov), -FI_EINVAL);
	assert_int_equal(open_with(rig, huge_inject), -FI_EINVAL);
	assert_int_equal(open_with(rig, wrapping_inject), -FI_EINVAL);
	assert_int_equal(open_with(rig, large_hmem_inject), -FI_EINVAL);
	assert_int_equal(open_with(rig, huge_messages), -FI_EINVAL);
	assert_int_equal(open_with(rig, other_domain), -FI_EINVAL);
}

static void test_missing(void **state)
{
	struct rig *rig = *state;
	struct fi_info info = *rig->info;
	struct fid_ep *ep = NULL;

	rig_open_domain(rig);
	assert_int_equal(fi_endpoint(rig->domain, NULL, &ep, NULL), -FI_EINVAL);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, NULL, NULL), -FI_EINVAL);
	info.ep_attr = NULL;
	assert_int_equal(fi_endpoint(rig->domain, &info, &ep, NULL), -FI_EINVAL);
	info = *rig->info;
	info.tx_attr = NULL;
	assert_int_equal(fi_endpoint(rig->domain, &info, &ep, NULL), -FI_EINVAL);
	info = *rig->info;
	info.rx_attr = NULL;
	assert_int_equal(fi_endpoint(rig->domain, &info, &ep, NULL), -FI_EINVAL);
	info = *rig->info;
	info.domain_attr = NULL;
	assert_int_equal(fi_endpoint(rig->domain, &info, &ep, NULL), -FI_EINVAL);
	assert_null(ep);
}

static void test_open_fails(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *ep = NULL;

	rig_open_domain(rig);
	rig_conn_err = -FI_EADDRNOTAVAIL;
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &ep, NULL), -FI_EADDRNOTAVAIL);
	rig_conn_err = 0;
	vrb_domain(rig->domain)->dead = true;
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &ep, NULL), -FI_ENODEV);
	assert_null(ep);
	assert_true(LIST_EMPTY(&vrb_domain(rig->domain)->eps));
}

/* Only what the info asks for has a table. */
static void test_tables(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *alias;
	void *ops;

	rig->info->caps = FI_MSG | FI_RECV;
	rig_open_ep(rig);
	assert_int_equal(fi_read(rig->ep, NULL, 0, NULL, 0, 0, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_atomicvalid(rig->ep, FI_UINT64, FI_SUM, NULL), -FI_ENOSYS);
	assert_int_equal(fi_tsend(rig->ep, NULL, 0, NULL, 0, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_barrier(rig->ep, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_cancel(&rig->ep->fid, NULL), -FI_ENOENT);
	assert_int_equal(fi_ep_alias(rig->ep, &alias, 0), -FI_EINVAL);
	assert_int_equal(fi_open_ops(&rig->ep->fid, "x", 0, &ops, NULL), -FI_ENOSYS);
}

/* A program that asks for RMA only tells its peer with a message where to. */
static void test_messages_beside_rma(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_data_entry entry;
	char buf[8] = "";

	rig->info->caps = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	rig_connect(rig);
	assert_int_equal(fi_recv(rig->ep, buf, sizeof(buf), NULL, 0, rig), 0);
	assert_int_equal(rig_send(rig->ep, NULL), 0);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, 8, NULL);
	entry = rig_entry(rig->cq[1]);
	assert_ptr_equal(entry.op_context, rig);
	assert_int_equal(entry.flags, FI_MSG | FI_RECV);
}

static struct fid_ep *bare_ep(struct rig *rig)
{
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(rig->domain, rig->info, &ep, NULL), 0);
	return ep;
}

static void test_enable_needs(void **state)
{
	struct rig *rig = *state;

	rig_open_cqs(rig);
	rig->ep = bare_ep(rig);
	assert_int_equal(fi_enable(rig->ep), -FI_ENOEQ);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_enable(rig->ep), -FI_ENOCQ);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[1]->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(rig->ep), -FI_ENOCQ);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[0]->fid, FI_TRANSMIT), 0);
	assert_int_equal(fake.qps, 0);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(fake.qps, 1);
}

/* The domain's EQ serves endpoints without their own. */
static void test_domain_eq(void **state)
{
	struct rig *rig = *state;

	rig_open_cqs(rig);
	assert_int_equal(fi_domain_bind(rig->domain, &rig_eq.fid.fid, 0), 0);
	rig->ep = bare_ep(rig);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[0]->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[1]->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(rig->ep), 0);
}

/* An endpoint that only receives needs one CQ. */
static void test_receiver(void **state)
{
	struct rig *rig = *state;

	rig->info->caps = FI_MSG | FI_RECV;
	rig_open_cqs(rig);
	rig->ep = bare_ep(rig);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[1]->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_ptr_equal(rig_qp(rig)->send_cq, vrb_cq(rig->cq[1])->ibv);
}

static struct vrb_ep *enabling;

int __real_ibv_destroy_qp(struct ibv_qp *qp);
int __wrap_ibv_destroy_qp(struct ibv_qp *qp);

/* The event thread, which flushes the queue pair if the peer gives up, must wait. */
int __wrap_ibv_destroy_qp(struct ibv_qp *qp)
{
	if (enabling)
		assert_false(ofi_trylock(&enabling->conn.lock));
	return __real_ibv_destroy_qp(qp);
}

/* Every call of enabling fails in turn; another try succeeds. */
static void test_enable_fails(void **state)
{
	struct rig *rig = *state;
	int n, ret;

	rig_open_ep(rig);
	enabling = vrb_ep(rig->ep);
	for (n = 1;; n++) {
		fake.fail_at = fake.calls + n;
		fake.fail_errno = ENOMEM;
		fake.failed = NULL;
		ret = fi_enable(rig->ep);
		if (!fake.failed)
			break;
		assert_int_equal(ret, -FI_ENOMEM);
		assert_int_equal(fake.qps, 0);
		assert_int_equal(rig_send(rig->ep, NULL), -FI_EOPBADSTATE);
	}
	enabling = NULL;
	assert_int_equal(ret, 0);
	assert_int_equal(n, 3);
}

/* Ending an endpoint that never began. */
static void test_down_early(void **state)
{
	struct rig *rig = *state;

	rig_open_ep(rig);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	assert_int_equal(rig_send(rig->ep, NULL), -FI_ENODEV);
	assert_int_equal(fi_recv(rig->ep, NULL, 0, NULL, 0, NULL), -FI_ENODEV);
}

/* The peer of its request gives up before it is enabled: what is posted would never complete. */
static void test_enable_down(void **state)
{
	struct rig *rig = *state;

	rig_open_ep(rig);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	vrb_ep(rig->ep)->conn.state = VRB_CONN_DOWN;
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(fake_qp(rig_qp(rig))->attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(fi_recv(rig->ep, NULL, 0, NULL, 0, NULL), -FI_ENOTCONN);
}

static void test_options(void **state)
{
	static const struct {
		int name;
		size_t value;
	} options[] = {
		{ FI_OPT_CM_DATA_SIZE, 55 },
		{ FI_OPT_TX_SIZE, 8 },
		{ FI_OPT_RX_SIZE, 8 },
		{ FI_OPT_MAX_MSG_SIZE, 1 << 20 },
		{ FI_OPT_MAX_RMA_SIZE, 1 << 20 },
		{ FI_OPT_INJECT_MSG_SIZE, 64 },
		{ FI_OPT_INJECT_RMA_SIZE, 64 },
		{ FI_OPT_MAX_ATOMIC_SIZE, 8 },
		{ FI_OPT_INJECT_ATOMIC_SIZE, 8 },
	};
	struct rig *rig = *state;
	struct fid *fid;
	size_t value, len;
	unsigned int i;

	rig_open_ep(rig);
	fid = &rig->ep->fid;
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		len = sizeof(value);
		assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, options[i].name, &value, &len), 0);
		assert_int_equal(value, options[i].value);
		assert_int_equal(len, sizeof(value));
		len = sizeof(value) - 1;
		assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, options[i].name, &value, &len),
				 -FI_ETOOSMALL);
		assert_int_equal(len, sizeof(value));
		assert_true(fi_setopt(fid, FI_OPT_ENDPOINT, options[i].name, &value, len) < 0);
	}
	assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, 999, &value, &len), -FI_ENOPROTOOPT);
	assert_int_equal(fi_setopt(fid, FI_OPT_ENDPOINT, 999, &value, len), -FI_ENOPROTOOPT);
	assert_int_equal(fi_getopt(fid, 5, FI_OPT_TX_SIZE, &value, &len), -FI_ENOPROTOOPT);
	assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, NULL, &len), -FI_EINVAL);
	assert_int_equal(fi_getopt(fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &value, NULL), -FI_EINVAL);
}

/*
 * An error waits to be read while its endpoint closes, between the end of the queue pair and that
 * of the CQ.
 */
static void test_closing(void **state)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry error = { 0 };
	struct rig *rig = *state;
	struct vrb_ep *ep;

	rig_connect(rig);
	ep = vrb_ep(rig->ep);
	assert_int_equal(rig_send(rig->ep, rig), 0);
	fake_flush(rig_qp(rig));
	assert_int_equal(fi_cq_read(rig->cq[0], &entry, 1), -FI_EAVAIL);
	vrb_qp_destroy(ep);
	assert_int_equal(fi_cq_readerr(rig->cq[0], &error, 0), 1);
	assert_ptr_equal(error.op_context, rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_open),	     RIG_TEST(test_refused),
		RIG_TEST(test_missing),	     RIG_TEST(test_open_fails),
		RIG_TEST(test_tables),	     RIG_TEST(test_messages_beside_rma),
		RIG_TEST(test_enable_needs), RIG_TEST(test_domain_eq),
		RIG_TEST(test_receiver),     RIG_TEST(test_enable_fails),
		RIG_TEST(test_down_early),   RIG_TEST(test_enable_down),
		RIG_TEST(test_options),	     RIG_TEST(test_closing),
	};

	return RIG_RUN("verbs_ep", tests);
}
