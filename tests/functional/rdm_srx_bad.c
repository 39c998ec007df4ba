/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Binds, calls and hints that do not fit a shared receive context are refused. */
#include "rdm_srx.h"

enum { LEN = 64 };

static uint8_t in[LEN];
static struct srx_scene scene;

static void hints(void)
{
	struct fi_info *info = srx_ask(FI_MSG, FI_SHARED_CONTEXT);

	CHECK(info && info->domain_attr->max_ep_srx_ctx > 1);
	CHECK(!(info->caps & FI_COLLECTIVE));
	fi_freeinfo(info);
	CHECK(!srx_ask(FI_MSG | FI_COLLECTIVE, FI_SHARED_CONTEXT));
}

static void contexts(void)
{
	struct fi_rx_attr attr = *scene.info->rx_attr;
	struct fid_ep *srx = NULL;

	attr.size = 1u << 20;
	RETURNS(fi_srx_context(scene.domain, &attr, &srx, NULL), -FI_EINVAL);
	attr = *scene.info->rx_attr;
	attr.caps |= FI_HMEM;
	RETURNS(fi_srx_context(scene.domain, &attr, &srx, NULL), -FI_EINVAL);
	attr.caps = scene.info->caps; /* those of the other direction have no effect */
	OK(fi_srx_context(scene.domain, &attr, &srx, NULL));
	OK(fi_close(&srx->fid));
	attr.caps = FI_RECV; /* whatever the endpoints receive */
	OK(fi_srx_context(scene.domain, &attr, &srx, NULL));
	RETURNS(fi_recv(srx, in, LEN, NULL, scene.addr[SRX_X], NULL), -FI_ENOAV);
	OK(fi_close(&srx->fid));
	OK(fi_srx_context(scene.domain, NULL, &srx, NULL));
	RETURNS(fi_ep_bind(srx, &scene.cq[SRX_A]->fid, FI_RECV), -FI_EINVAL);
	RETURNS(fi_recv(srx, in, LEN, NULL, scene.addr[SRX_X], NULL), -FI_ENOAV);
	RETURNS(fi_send(srx, in, LEN, NULL, scene.addr[SRX_X], NULL), -FI_ENOSYS);
	RETURNS(fi_trecvmsg(srx, &(struct fi_msg_tagged){ .addr = FI_ADDR_UNSPEC }, FI_PEEK),
		-FI_ENOCQ);
	RETURNS(fi_ep_bind(scene.ep[SRX_A], &srx->fid, 0), -FI_EOPBADSTATE);
	RETURNS(fi_control(&srx->fid, FI_GETOPSFLAG, &(uint64_t){ FI_TRANSMIT }), -FI_EINVAL);
	OK(fi_close(&srx->fid));
}

static void endpoints(void)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fi_rx_attr less = *scene.info->rx_attr;
	struct fid_av *other, *av = scene.av;
	struct fid_ep *ep, *small;

	RETURNS(fi_recv(scene.ep[SRX_A], in, LEN, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOSYS);
	RETURNS(fi_trecv(scene.ep[SRX_A], in, LEN, NULL, FI_ADDR_UNSPEC, 0, 0, NULL), -FI_ENOSYS);
	less.caps &= ~FI_TAGGED;
	OK(fi_srx_context(scene.domain, &less, &small, NULL));
	RETURNS(fi_trecv(small, in, LEN, NULL, FI_ADDR_UNSPEC, 0, 0, NULL), -FI_ENOSYS);
	OK(fi_av_open(scene.domain, &attr, &other, NULL));
	scene.av = other;
	ep = srx_endpoint(&scene, SRX_B);
	RETURNS(fi_enable(ep), -FI_EOPBADSTATE);
	RETURNS(fi_ep_bind(ep, &small->fid, 0), -FI_EINVAL);
	RETURNS(fi_ep_bind(ep, &scene.srx->fid, FI_RECV), -FI_EBADFLAGS);
	OK(fi_ep_bind(ep, &scene.srx->fid, 0));
	RETURNS(fi_ep_bind(ep, &scene.srx->fid, 0), -FI_EBUSY);
	/* A has another address vector. */
	RETURNS(fi_enable(ep), -FI_EINVAL);
	OK(fi_close(&ep->fid));
	ep = srx_endpoint(&scene, SRX_X);
	RETURNS(fi_ep_bind(ep, &scene.srx->fid, 0), -FI_EINVAL);
	OK(fi_close(&ep->fid));
	scene.ep[SRX_B] = scene.ep[SRX_X] = NULL;
	OK(fi_close(&other->fid));
	OK(fi_close(&small->fid));
	scene.av = av;
}

static void test(void)
{
	hints();
	srx_open(&scene, FI_MSG | FI_TAGGED | FI_DIRECTED_RECV);
	contexts();
	OK(fi_close(&scene.ep[SRX_B]->fid));
	OK(fi_close(&scene.ep[SRX_X]->fid));
	endpoints();
	srx_close(&scene);
}

int main(void)
{
	return run_test(test);
}
