/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints that share a receive context, and endpoints that send to them. */
#include "rdm_srx.h"

#include <stdlib.h>
#include <string.h>

struct fi_info *srx_ask(uint64_t caps, size_t rx_ctx_cnt)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	int ret;

	CHECK(hints);
	hints->caps = caps;
	rdm_hint_device(hints);
	hints->ep_attr->rx_ctx_cnt = rx_ctx_cnt;
	hints->domain_attr->mr_mode = RDM_PROV_KEYS | (caps & FI_HMEM ? FI_MR_HMEM : 0);
	ret = fi_getinfo(rdm_version(hints), NULL, NULL, 0, hints, &info);
	fi_freeinfo(hints);
	if (!ret)
		return info;
	RETURNS(ret, -FI_ENODATA);
	return NULL;
}

struct fid_ep *srx_endpoint(struct srx_scene *scene, int which)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE };

	OK(fi_endpoint(scene->domain, which < SRX_X ? scene->info : scene->own, &scene->ep[which],
		       NULL));
	if (!scene->cq[which])
		OK(fi_cq_open(scene->domain, &attr, &scene->cq[which], NULL));
	OK(fi_ep_bind(scene->ep[which], &scene->cq[which]->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(scene->ep[which], &scene->av->fid, 0));
	return scene->ep[which];
}

void srx_add(struct srx_scene *scene, int which)
{
	char name[128];
	size_t len = sizeof(name);
	struct fid_ep *ep = srx_endpoint(scene, which);

	if (which < SRX_X)
		OK(fi_ep_bind(ep, &scene->srx->fid, 0));
	OK(fi_enable(ep));
	OK(fi_getname(&ep->fid, name, &len));
	RETURNS(fi_av_insert(scene->av, name, 1, &scene->addr[which], 0, NULL), 1);
}

void srx_open(struct srx_scene *scene, uint64_t caps)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	int i;

	*scene = (struct srx_scene){ .info = srx_ask(caps, FI_SHARED_CONTEXT),
				     .own = srx_ask(caps, 0) };
	CHECK(scene->info && scene->own);
	EQUAL(scene->info->ep_attr->rx_ctx_cnt, FI_SHARED_CONTEXT);
	OK(fi_fabric(scene->info->fabric_attr, &scene->fabric, NULL));
	OK(fi_domain(scene->fabric, scene->info, &scene->domain, NULL));
	OK(fi_av_open(scene->domain, &attr, &scene->av, NULL));
	OK(fi_srx_context(scene->domain, scene->info->rx_attr, &scene->srx, NULL));
	for (i = 0; i < SRX_EPS; i++)
		srx_add(scene, i);
}

void srx_close(struct srx_scene *scene)
{
	int i;

	for (i = 0; i < SRX_EPS; i++)
		if (scene->ep[i])
			OK(fi_close(&scene->ep[i]->fid));
	if (scene->srx)
		OK(fi_close(&scene->srx->fid));
	for (i = 0; i < SRX_EPS; i++)
		OK(fi_close(&scene->cq[i]->fid));
	if (scene->av)
		OK(fi_close(&scene->av->fid));
	OK(fi_close(&scene->domain->fid));
	OK(fi_close(&scene->fabric->fid));
	fi_freeinfo(scene->info);
	fi_freeinfo(scene->own);
}

static ssize_t poll_all(struct srx_scene *scene, int which, struct fi_cq_tagged_entry *entry)
{
	int i;

	for (i = 0; i < SRX_EPS; i++)
		if (i != which && scene->cq[i])
			fi_cq_read(scene->cq[i], NULL, 0);
	return fi_cq_read(scene->cq[which], entry, 1);
}

struct fi_cq_tagged_entry srx_wait(struct srx_scene *scene, int which)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = poll_all(scene, which, &entry)) == -FI_EAGAIN)
		pause_until(end, "a completion");
	RETURNS(ret, 1);
	return entry;
}

struct fi_cq_err_entry srx_wait_error(struct srx_scene *scene, int which)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = poll_all(scene, which, &entry)) == -FI_EAGAIN)
		pause_until(end, "a failure");
	RETURNS(ret, -FI_EAVAIL);
	RETURNS(fi_cq_readerr(scene->cq[which], &error, 0), 1);
	return error;
}

void srx_send(struct srx_scene *scene, int from, int to, const void *buf, size_t len, uint64_t tag)
{
	OK(fi_tsend(scene->ep[from], buf, len, NULL, scene->addr[to], tag, NULL));
	EQUAL(srx_wait(scene, from).flags, FI_TAGGED | FI_SEND);
}
