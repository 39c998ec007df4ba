/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Replaces the reliable datagrams of the rig's domain: there are none, but counters of regions are
 * recorded.
 */
#include "unit.h"
#include <rdma/fi_errno.h>
#include "verbs_rig.h"
#include "prov/verbs/provider/domain.h"

unsigned int fake_rdm_watches, fake_rdm_watch_most;

static int no_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
		       void *context)
{
	(void)domain;
	(void)info;
	(void)ep;
	(void)context;
	return -FI_ENOSYS;
}

static int no_open(struct vrb_domain *domain)
{
	(void)domain;
	return -FI_ENOSYS;
}

static void no_close(struct vrb_domain *domain)
{
	(void)domain;
}

static int watch(struct ofi_rdm_domain_progress *all, struct ofi_cntr *cntr)
{
	assert_non_null(all);
	assert_non_null(cntr);
	if (fake_rdm_watches >= fake_rdm_watch_most)
		return -FI_ENOMEM;
	fake_rdm_watches++;
	return 0;
}

static void forget(struct ofi_rdm_domain_progress *all, const void *desc)
{
	(void)all;
	assert_non_null(desc);
}

static void unwatch(struct ofi_rdm_domain_progress *all, struct ofi_cntr *cntr)
{
	assert_non_null(all);
	assert_non_null(cntr);
	fake_rdm_watches--;
}

void fake_rdm(void)
{
	static struct fi_ops_domain ops = { .endpoint = no_endpoint };
	static const struct vrb_domain_rdm none = {
		.ops = &ops,
		.open = no_open,
		.close = no_close,
		.forget = forget,
		.watch = watch,
		.unwatch = unwatch,
	};

	vrb_domain_register_rdm(&none);
}
