/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagram endpoints of a device that behaves like an Elastic Fabric Adapter. */
#include "unit.h"

#include <string.h>
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/discovery/kind.h"
#include "verbs_rig.h"

enum { QPN = 0x4711, QKEY = 0x1234567, GRH = VRB_GRH_SIZE, MTU = 1024 };

static struct fid_av *av;
static fi_addr_t to;
static uint8_t buf[2 * MTU];

static struct vrb_ud_name peer_name(void)
{
	struct vrb_dest dest = { .qpn = QPN, .qkey = QKEY, .pkey = 0xffff };
	struct vrb_ud_name name;

	dest.gid.raw[0] = 0xfe;
	dest.gid.raw[15] = 9;
	vrb_ud_name_out(&dest, &name);
	return name;
}

static void open_dgram(struct rig *rig)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct vrb_ud_name name = peer_name();
	struct fi_info *info = rig->info;

	fake.attr.vendor_id = VRB_VENDOR_AMAZON;
	info->caps = FI_MSG | FI_SEND | FI_RECV;
	info->mode = FI_MSG_PREFIX;
	info->addr_format = FI_ADDR_EFA;
	info->ep_attr->type = FI_EP_DGRAM;
	info->ep_attr->max_msg_size = MTU;
	info->ep_attr->msg_prefix_size = GRH;
	rig_open_ep(rig);
	assert_int_equal(fi_av_open(rig->domain, &attr, &av, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &av->fid, 0), 0);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(fi_av_insert(av, &name, 1, &to, 0, NULL), 1);
}

static void close_dgram(struct rig *rig)
{
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(fi_close(&av->fid), 0);
}

/* Exchanges the two completions that are to be polled next. */
static void swap_completions(struct ibv_cq *ibv)
{
	struct fake_cq *cq = fake_cq(ibv);
	struct ibv_wc wc = cq->wc[cq->first];

	assert_int_equal(cq->count, 2);
	cq->wc[cq->first] = cq->wc[cq->first + 1];
	cq->wc[cq->first + 1] = wc;
}

/*
 * On an Elastic Fabric Adapter each send has a completion, in any order; receives have no segment
 * for the header; and there are no counters.
 */
static void test_unordered(void **state)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	unsigned int i;

	open_dgram(rig);
	assert_int_equal(fi_cntr_open(rig->domain, &attr, &cntr, NULL), -FI_ENOSYS);
	assert_int_equal(fake_qp(rig_qp(rig))->init.cap.max_recv_sge,
			 rig->info->rx_attr->iov_limit);
	for (i = 0; i < 3 * rig->info->tx_attr->size; i++) {
		assert_int_equal(fi_inject(rig->ep, buf, GRH + 8, to), 0);
		assert_true(rig_sent(rig)->wr.send_flags & IBV_SEND_SIGNALED);
		assert_int_equal(fi_send(rig->ep, buf, GRH + 8, NULL, to, &buf[i]), 0);
		fake_complete_sends(rig_qp(rig), 2, IBV_WC_SUCCESS);
		swap_completions(rig_qp(rig)->send_cq);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &buf[i]);
		rig_no_entry(rig->cq[0]);
		assert_int_equal(vrb_wq_used(vrb_ep(rig->ep)->sq), 0);
	}
	close_dgram(rig);
}

/* That is the number of an adapter's first one. */
static void test_number_zero(void **state)
{
	struct vrb_ud_name name = peer_name();
	struct rig *rig = *state;
	fi_addr_t zero;

	open_dgram(rig);
	name.qpn = 0;
	assert_int_equal(fi_av_insert(av, &name, 1, &zero, 0, NULL), 1);
	assert_int_equal(fi_send(rig->ep, buf, GRH + 8, NULL, zero, NULL), 0);
	assert_int_equal(rig_sent(rig)->wr.wr.ud.remote_qpn, 0);
	assert_int_equal(rig_sent(rig)->wr.wr.ud.remote_qkey, QKEY);
	close_dgram(rig);
}

static void expect_segment(struct rig *rig, int i, size_t len)
{
	assert_int_equal(fake_qp(rig_qp(rig))->recvs.last.sge[i].length, len);
}

/* The driver would post the lower 16 bits of longer segments. */
static void test_long_receives(void **state)
{
	const size_t len = UINT16_MAX + 1;
	struct iovec iov[2] = { { buf, len }, { buf, 2 * len } };
	struct rig *rig = *state;
	struct fid_ep *alias = NULL;

	open_dgram(rig);
	assert_int_equal(fi_recv(rig->ep, buf, len - 2, NULL, 0, NULL), 0);
	expect_segment(rig, 0, len - 2);
	assert_int_equal(fi_recv(rig->ep, buf, len, NULL, 0, NULL), 0);
	expect_segment(rig, 0, UINT16_MAX);
	assert_int_equal(fi_recvv(rig->ep, iov, NULL, 2, 0, NULL), 0);
	expect_segment(rig, 0, UINT16_MAX);
	expect_segment(rig, 1, UINT16_MAX);
	assert_int_equal(fi_ep_alias(rig->ep, &alias, FI_TRANSMIT | FI_COMPLETION), 0);
	assert_int_equal(fi_recv(alias, buf, len, NULL, 0, NULL), 0);
	expect_segment(rig, 0, UINT16_MAX);
	assert_int_equal(fi_close(&alias->fid), 0);
	close_dgram(rig);
}

/* With the CQs of the first endpoint. */
static struct fid_ep *another_ep(struct rig *rig)
{
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(rig->domain, rig->info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &rig->cq[0]->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &av->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	return ep;
}

/*
 * An adapter flushes the receives of an endpoint that is closed. Nobody sees these completions, not
 * even as errors, and those of another endpoint come after them.
 */
static void test_flushed_by_close(void **state)
{
	struct fid_ep *other;
	struct rig *rig = *state;
	unsigned int i;

	fake.flushes = rig->one_cq = true;
	open_dgram(rig);
	other = another_ep(rig);
	for (i = 0; i < 5; i++)
		assert_int_equal(fi_recv(other, buf, GRH + 8, NULL, 0, NULL), 0);
	assert_int_equal(fi_recv(rig->ep, buf, GRH + 8, NULL, 0, &buf[1]), 0);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fake.stale, 0);
	fake.stale = 3;
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, GRH + 8, NULL);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &buf[1]);
	fake.stale = 3;
	rig_no_entry(rig->cq[0]);
	fake.poll_err = EINVAL;
	assert_int_equal(fi_cq_read(rig->cq[0], buf, 1), -FI_EIO);
	fake.poll_err = 0;
	fake.flushes = false;
	close_dgram(rig);
}

/* The next queue pair may have the number of the closed one, so its completions must be gone. */
static void test_unread_at_close(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;

	fake.flushes = rig->one_cq = true;
	open_dgram(rig);
	other = another_ep(rig);
	assert_int_equal(fi_recv(rig->ep, buf, GRH + 8, NULL, 0, &buf[1]), 0);
	assert_int_equal(fi_recv(rig->ep, buf, GRH + 8, NULL, 0, &buf[2]), 0);
	assert_int_equal(fi_recv(other, buf, GRH + 8, NULL, 0, NULL), 0);
	fake_complete_recv(rig_qp(rig), IBV_WC_LOC_LEN_ERR, IBV_WC_RECV, 0, NULL);
	assert_int_equal(fi_cq_read(rig->cq[0], buf, 1), -FI_EAVAIL);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, GRH + 8, NULL);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fake.stale, 0);
	assert_int_equal(fake_cq(rig_qp(rig)->recv_cq)->count, 0);
	assert_ptr_equal(rig_error(rig->cq[0]).op_context, &buf[1]);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &buf[2]);
	rig_no_entry(rig->cq[0]);
	fake.flushes = false;
	close_dgram(rig);
}

/* To destroy one aborts what is sent with others for the same GID, so the domain has one. */
static void test_address_handles(void **state)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct vrb_ud_name name = peer_name();
	struct rig *rig = *state;
	struct fid_av *second;
	fi_addr_t addr;

	open_dgram(rig);
	assert_int_equal(fi_send(rig->ep, buf, GRH + 8, NULL, to, NULL), 0);
	assert_int_equal(fi_av_open(rig->domain, &attr, &second, NULL), 0);
	assert_int_equal(fi_av_insert(second, &name, 1, &addr, 0, NULL), 1);
	assert_ptr_equal(vrb_av_dest(vrb_av(second), addr)->ah, rig_sent(rig)->wr.wr.ud.ah);
	assert_int_equal(fake.ahs, 1);
	assert_int_equal(fi_close(&second->fid), 0);
	assert_int_equal(fake.ahs, 1);
	/* That of its own GID. */
	assert_true(vrb_dgram_post_marker(vrb_dgram(rig->ep)));
	assert_true(vrb_dgram_post_marker(vrb_dgram(rig->ep)));
	assert_int_equal(fake.ahs, 2);
	fake_complete_sends(rig_qp(rig), 3, IBV_WC_SUCCESS);
	close_dgram(rig);
	assert_int_equal(fake.ahs, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_unordered),	 RIG_TEST(test_number_zero),
		RIG_TEST(test_flushed_by_close), RIG_TEST(test_unread_at_close),
		RIG_TEST(test_address_handles),	 RIG_TEST(test_long_receives),
	};

	return RIG_RUN("dgram_efa", tests);
}
