/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The interface through which reliable datagrams extend domains and fabrics. */
#ifndef VRB_DOMAIN_RDM_H
#define VRB_DOMAIN_RDM_H

#include <stdbool.h>
#include <rdma/fi_domain.h>
#include "prov/base/work.h"

struct ofi_cntr;
struct ofi_rdm_domain_progress;
struct vrb_domain;

/*
 * The extensions of a domain for reliable datagrams. They are registered when the provider starts,
 * so that nothing here refers to them by name.
 */
struct vrb_domain_rdm {
	struct fi_ops_domain *ops;
	/*
	 * Open and close the domain's RDM objects. close() is also called if open() failed or was
	 * not called.
	 */
	int (*open)(struct vrb_domain *domain);
	void (*close)(struct vrb_domain *domain);
	/*
	 * Reports that the device is gone if ep is NULL; otherwise that a queue of that endpoint
	 * has failed. err is FI_E*.
	 */
	void (*lost)(struct ofi_rdm_domain_progress *progress, const void *ep, int err);
	/*
	 * From watch() to unwatch(), reading the counter makes all endpoints progress. Returns 0 or
	 * -FI_E*.
	 */
	int (*watch)(struct ofi_rdm_domain_progress *progress, struct ofi_cntr *cntr);
	void (*unwatch)(struct ofi_rdm_domain_progress *progress, struct ofi_cntr *cntr);
	/* These serve deferred work. */
	const struct ofi_work_ops *work;
	ofi_work_find *work_find;
};

void vrb_domain_register_rdm(const struct vrb_domain_rdm *rdm);
/* Returns NULL until the extensions are registered. */
const struct vrb_domain_rdm *vrb_domain_rdm(void);

#endif
