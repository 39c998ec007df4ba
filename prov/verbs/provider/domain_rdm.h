/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What reliable datagrams add to domains and fabrics. */
#ifndef VRB_DOMAIN_RDM_H
#define VRB_DOMAIN_RDM_H

#include <stdbool.h>
#include <rdma/fi_domain.h>

struct fi_deferred_work;
struct ofi_cntr;
struct ofi_domain;
struct ofi_rdm_domain_progress;
struct vrb_domain;

/*
 * What a domain of reliable datagrams has that others have not. It registers itself when the
 * provider starts, so that nothing here calls it by name.
 */
struct vrb_domain_rdm {
	struct fi_ops_domain *ops;
	/*
	 * Opens and closes what hangs from the domain. close() takes a domain that open() failed
	 * for, too.
	 */
	int (*open)(struct vrb_domain *domain);
	void (*close)(struct vrb_domain *domain);
	/* The device is gone if ep is NULL, else a queue of that endpoint has failed. err: FI_E* */
	void (*lost)(struct ofi_rdm_domain_progress *all, const void *ep, int err);
	/* The counter finds what comes to any endpoint. 0 or -FI_E*. */
	int (*watch)(struct ofi_rdm_domain_progress *all, struct ofi_cntr *cntr);
	void (*unwatch)(struct ofi_rdm_domain_progress *all, struct ofi_cntr *cntr);
	/* fi_control(FI_QUEUE_WORK) of an operation. */
	ssize_t (*queue_work)(struct ofi_domain *domain, const struct fi_deferred_work *work,
			      struct ofi_cntr *cntr);
};

void vrb_domain_register_rdm(const struct vrb_domain_rdm *rdm);
/* NULL before it is registered. */
const struct vrb_domain_rdm *vrb_domain_rdm(void);

#endif
