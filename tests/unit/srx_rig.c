/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A shared receive context on the fake device. */
#include "unit.h"

#include "srx_rig.h"

struct fid_ep *rig_srx;
struct fi_rx_attr srx_attr;
char srx_buf[64], srx_mark[64];

void srx_open(struct rig *rig)
{
	rig_open_cqs(rig);
	srx_attr = (struct fi_rx_attr){ .size = SRX_SIZE, .iov_limit = SRX_IOVS };
	assert_int_equal(fi_srx_context(rig->domain, &srx_attr, &rig_srx, &srx_attr), 0);
}

struct fid_ep *srx_bound_ep(struct rig *rig, struct fid_cq *rx_cq)
{
	struct fid_ep *ep;

	assert_int_equal(fi_endpoint(rig->domain, rig->info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &rig->cq[0]->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(ep, &rx_cq->fid, FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &rig_srx->fid, 0), 0);
	return ep;
}

/* An endpoint that completes receives on rx_cq. */
struct fid_ep *srx_ep(struct rig *rig, struct fid_cq *rx_cq)
{
	struct fid_ep *ep = srx_bound_ep(rig, rx_cq);

	assert_int_equal(fi_enable(ep), 0);
	vrb_ep_ready(vrb_ep(ep));
	return ep;
}

void srx_open_all(struct rig *rig)
{
	srx_open(rig);
	rig->info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	rig->ep = srx_ep(rig, rig->cq[1]);
}

void srx_close_ep(struct fid_ep **ep)
{
	assert_int_equal(fi_close(&(*ep)->fid), 0);
	*ep = NULL;
}

struct fake_srq *srx_device(void)
{
	return fake_srq(vrb_srx(rig_srx)->srq->ibv);
}

int srx_post(void *context)
{
	return (int)fi_recv(rig_srx, srx_buf, sizeof(srx_buf), NULL, 0, context);
}

void srx_post_all(int first, int count)
{
	for (; count--; first++)
		assert_int_equal(srx_post(&srx_mark[first]), 0);
}

void srx_arrive(struct fid_ep *ep)
{
	fake_complete_recv(vrb_ep(ep)->qp, IBV_WC_SUCCESS, IBV_WC_RECV, 9, NULL);
}

void srx_break(struct fid_ep *ep, enum ibv_wc_status status)
{
	fake_complete_recv(vrb_ep(ep)->qp, status, IBV_WC_RECV, 0, NULL);
}
