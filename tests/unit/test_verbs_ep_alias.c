/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoint aliases: each has its own flags, they share one endpoint, and it stays open until the
 * last one is closed.
 */
#include "unit.h"

#include <rdma/fi_rma.h>
#include "srx_rig.h"

static char buf[64];
static struct fid_ep *alias;

static void open_alias(struct rig *rig, uint64_t flags)
{
	assert_int_equal(fi_ep_alias(rig->ep, &alias, flags), 0);
}

static uint64_t op_flags(struct fid_ep *ep, uint64_t which)
{
	uint64_t flags = which;

	assert_int_equal(fi_control(&ep->fid, FI_GETOPSFLAG, &flags), 0);
	return flags;
}

static void close_alias(void)
{
	assert_int_equal(fi_close(&alias->fid), 0);
}

static void test_flags(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *second = NULL;
	uint64_t flags;

	rig->info->tx_attr->op_flags = FI_INJECT_COMPLETE;
	rig->info->rx_attr->op_flags = FI_COMPLETION;
	rig_connect(rig);
	open_alias(rig, FI_TRANSMIT | FI_DELIVERY_COMPLETE);
	assert_int_equal(op_flags(alias, FI_TRANSMIT), FI_DELIVERY_COMPLETE);
	assert_int_equal(op_flags(alias, FI_RECV), FI_COMPLETION);
	assert_int_equal(op_flags(rig->ep, FI_TRANSMIT), FI_INJECT_COMPLETE);
	assert_int_equal(alias->fid.fclass, FI_CLASS_EP);
	/* An alias of an alias begins with its flags. */
	assert_int_equal(fi_ep_alias(alias, &second, FI_RECV), 0);
	assert_int_equal(op_flags(second, FI_TRANSMIT), FI_DELIVERY_COMPLETE);
	assert_int_equal(op_flags(second, FI_RECV), 0);
	flags = FI_TRANSMIT | FI_INJECT;
	assert_int_equal(fi_control(&second->fid, FI_SETOPSFLAG, &flags), 0);
	assert_int_equal(op_flags(second, FI_TRANSMIT), FI_INJECT);
	assert_int_equal(op_flags(alias, FI_TRANSMIT), FI_DELIVERY_COMPLETE);
	assert_int_equal(fi_send(second, buf, 65, NULL, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_close(&second->fid), 0);
	close_alias();
}

static void test_bad(void **state)
{
	struct rig *rig = *state;
	struct fi_alias arg = { .flags = FI_TRANSMIT };

	rig_open_ep(rig);
	alias = NULL;
	assert_int_equal(fi_ep_alias(rig->ep, &alias, 0), -FI_EINVAL);
	assert_int_equal(fi_ep_alias(rig->ep, &alias, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	assert_int_equal(fi_ep_alias(rig->ep, &alias, FI_COMPLETION), -FI_EINVAL);
	assert_int_equal(fi_ep_alias(rig->ep, &alias, FI_RECV | FI_INJECT), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_alias(rig->ep, &alias, FI_TRANSMIT | FI_MORE), -FI_EBADFLAGS);
	assert_int_equal(fi_control(&rig->ep->fid, FI_ALIAS, &arg), -FI_EINVAL);
	assert_int_equal(fi_control(&rig->ep->fid, FI_ALIAS, NULL), -FI_EINVAL);
	assert_null(alias);
}

/* One queue: silent by one fid, with an entry by the other. */
static void test_posts(void **state)
{
	struct rig *rig = *state;

	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	rig_connect(rig);
	open_alias(rig, FI_TRANSMIT | FI_COMPLETION);
	assert_int_equal(fi_tx_size_left(alias), 8);
	assert_int_equal(rig_send(rig->ep, &buf[1]), 0);
	assert_int_equal(rig_send(alias, &buf[2]), 0);
	assert_int_equal(fi_tx_size_left(rig->ep), 6);
	fake_complete_sends(rig_qp(rig), 2, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &buf[2]);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_recv(alias, buf, 8, NULL, 0, &buf[3]), 0);
	assert_int_equal(fi_rx_size_left(rig->ep), 7);
	assert_int_equal(fi_write(alias, buf, 8, NULL, 0, 0, 0, &buf[4]), 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &buf[4]);
	fake_flush(rig_qp(rig));
	assert_ptr_equal(rig_error(rig->cq[1]).op_context, &buf[3]);
	close_alias();
}

/* Made before the endpoint is bound, it follows. */
static void test_early(void **state)
{
	struct rig *rig = *state;

	srx_open(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
	open_alias(rig, FI_RECV);
	assert_int_equal(fi_recv(alias, buf, 8, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(alias, &rig->cq[0]->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION),
			 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[0]->fid, FI_TRANSMIT), -FI_EBUSY);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[1]->fid, FI_RECV), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_srx->fid, 0), 0);
	assert_int_equal(fi_enable(alias), 0);
	assert_int_equal(fi_recv(alias, buf, 8, NULL, 0, NULL), -FI_EOPNOTSUPP);
	vrb_ep_ready(vrb_ep(rig->ep));
	assert_int_equal(rig_send(alias, NULL), 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	rig_no_entry(rig->cq[0]);
	close_alias();
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* The endpoint stays until the last fid is closed, whichever that is. */
static void test_close(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *second = NULL;
	struct ibv_qp *qp;
	int order;

	for (order = 0; order < 3; order++) {
		rig_connect(rig);
		open_alias(rig, FI_TRANSMIT);
		assert_int_equal(fi_ep_alias(rig->ep, &second, FI_RECV), 0);
		qp = rig_qp(rig);
		assert_int_equal(fi_close(order ? &rig->ep->fid : &alias->fid), 0);
		assert_int_equal(fi_close(order == 1 ? &alias->fid : &second->fid), 0);
		assert_int_equal(fake.qps, 1);
		assert_int_equal(fi_close(&rig->cq[0]->fid), -FI_EBUSY);
		alias = order == 0 ? rig->ep : order == 1 ? second : alias;
		assert_int_equal(rig_send(alias, &buf[5]), 0);
		fake_complete_sends(qp, 1, IBV_WC_SUCCESS);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &buf[5]);
		close_alias();
		assert_int_equal(fake.qps, 0);
		rig->ep = NULL;
		rig_close(rig);
		rig_init(rig);
	}
}

static void test_down(void **state)
{
	struct rig *rig = *state;

	rig_connect(rig);
	open_alias(rig, FI_TRANSMIT);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	assert_int_equal(rig_send(alias, NULL), -FI_ENOTCONN);
	assert_int_equal(fi_recv(alias, buf, 8, NULL, 0, NULL), -FI_ENOTCONN);
	close_alias();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_flags), RIG_TEST(test_bad),   RIG_TEST(test_posts),
		RIG_TEST(test_early), RIG_TEST(test_close), RIG_TEST(test_down),
	};

	return RIG_RUN("verbs_ep_alias", tests);
}
