/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A domain whose event queue is bound with FI_REG_MR reports each registration. A region has the
 * authorization key of its domain, and no other.
 */
#include "rdm.h"

#include <stdlib.h>
#include <string.h>

static char buf[4096], secret[] = "a key", other[] = "b key";

struct scene {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
};

static void scene_open(struct scene *scene, enum fi_ep_type type, const char *domain_key,
		       const char *ep_key)
{
	struct fi_info *hints = fi_allocinfo();

	rdm_hint_device(hints);
	hints->addr_format = FI_FORMAT_UNSPEC;
	hints->ep_attr->type = type;
	hints->mode = FI_MSG_PREFIX;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | RDM_PROV_KEYS;
	if (domain_key) {
		hints->domain_attr->auth_key = (uint8_t *)strdup(domain_key);
		hints->domain_attr->auth_key_size = strlen(domain_key);
	}
	if (ep_key) {
		hints->ep_attr->auth_key = (uint8_t *)strdup(ep_key);
		hints->ep_attr->auth_key_size = strlen(ep_key);
	}
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &scene->info));
	fi_freeinfo(hints);
	OK(fi_fabric(scene->info->fabric_attr, &scene->fabric, NULL));
	OK(fi_eq_open(scene->fabric, &(struct fi_eq_attr){ .wait_obj = FI_WAIT_NONE }, &scene->eq,
		      NULL));
	OK(fi_domain(scene->fabric, scene->info, &scene->domain, NULL));
}

static void scene_close(struct scene *scene)
{
	OK(fi_close(&scene->domain->fid));
	OK(fi_close(&scene->eq->fid));
	OK(fi_close(&scene->fabric->fid));
	fi_freeinfo(scene->info);
}

static void no_event(struct fid_eq *eq)
{
	uint8_t entry[256];
	uint32_t event;

	RETURNS(fi_eq_read(eq, &event, entry, sizeof(entry), 0), -FI_EAGAIN);
}

static void one_event(struct fid_eq *eq, struct fid_mr *mr, void *context)
{
	struct fi_eq_entry entry;
	uint32_t event;

	EQUAL(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	EQUAL(event, FI_MR_COMPLETE);
	CHECK(entry.fid == &mr->fid && entry.context == context && !entry.data);
	no_event(eq);
}

static void events(enum fi_ep_type type)
{
	struct fid_mr *mr, *more;
	struct scene scene;

	scene_open(&scene, type, NULL, NULL);
	RETURNS(fi_domain_bind(scene.domain, &scene.eq->fid, FI_REG_MR | FI_PEER), -FI_EBADFLAGS);
	OK(fi_domain_bind(scene.domain, &scene.eq->fid, FI_REG_MR));
	CHECK(fi_domain_bind(scene.domain, &scene.eq->fid, FI_REG_MR) < 0);
	OK(fi_mr_reg(scene.domain, buf, sizeof(buf), FI_SEND, 0, 1, 0, &mr, buf));
	one_event(scene.eq, mr, buf);
	RETURNS(fi_mr_reg(scene.domain, NULL, 8, FI_SEND, 0, 2, 0, &more, NULL), -FI_EINVAL);
	no_event(scene.eq);
	OK(fi_mr_reg(scene.domain, buf, 8, FI_SEND, 0, 3, 0, &more, NULL));
	OK(fi_close(&more->fid));
	no_event(scene.eq);
	OK(fi_close(&mr->fid));
	scene_close(&scene);
	scene_open(&scene, type, NULL, NULL);
	OK(fi_domain_bind(scene.domain, &scene.eq->fid, 0));
	OK(fi_mr_reg(scene.domain, buf, sizeof(buf), FI_SEND, 0, 1, 0, &mr, NULL));
	no_event(scene.eq);
	OK(fi_close(&mr->fid));
	scene_close(&scene);
}

static void reg(const struct scene *scene, const char *key, size_t size, int result)
{
	const struct iovec iov = { buf, sizeof(buf) };
	const struct fi_mr_attr attr = {
		.mr_iov = &iov,
		.iov_count = 1,
		.access = FI_REMOTE_READ,
		.auth_key = (uint8_t *)(uintptr_t)key,
		.auth_key_size = size,
	};
	struct fid_mr *mr;
	int ret = fi_mr_regattr(scene->domain, &attr, 0, &mr);

	EQUAL(ret, result);
	if (!ret)
		OK(fi_close(&mr->fid));
}

static void keys(enum fi_ep_type type)
{
	const size_t len = strlen(secret);
	struct scene scene;

	scene_open(&scene, type, NULL, NULL);
	reg(&scene, NULL, 0, 0);
	reg(&scene, secret, 0, 0);
	reg(&scene, NULL, len, 0);
	reg(&scene, secret, len, -FI_EOPNOTSUPP);
	scene_close(&scene);
	if (type != FI_EP_RDM)
		return;
	scene_open(&scene, type, secret, NULL);
	reg(&scene, NULL, 0, 0);
	reg(&scene, secret, len, 0);
	reg(&scene, other, len, -FI_EOPNOTSUPP);
	reg(&scene, secret, len - 1, -FI_EOPNOTSUPP);
	scene_close(&scene);
	scene_open(&scene, type, NULL, secret);
	reg(&scene, secret, len, 0);
	reg(&scene, other, len, -FI_EOPNOTSUPP);
	scene_close(&scene);
	scene_open(&scene, type, other, secret);
	reg(&scene, secret, len, 0);
	reg(&scene, other, len, -FI_EOPNOTSUPP);
	scene_close(&scene);
}

static void test(void)
{
	static const enum fi_ep_type types[] = { FI_EP_MSG, FI_EP_DGRAM, FI_EP_RDM };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		events(types[i]);
		keys(types[i]);
	}
}

int main(void)
{
	return run_test(test);
}
