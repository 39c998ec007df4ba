/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters that triggered operations and deferred work wait for. */
#ifndef VRB_WHEN_H
#define VRB_WHEN_H

#include "prov/base/cntr.h"
#include "prov/verbs/provider/domain.h"

/* A counter of the domain, or NULL. */
struct ofi_cntr *vrb_trigger_cntr(const struct vrb_domain *domain, struct fid_cntr *fid);
/* What the context of a call with FI_TRIGGER says. 0 or -FI_E*. */
ssize_t vrb_trigger_condition(const struct vrb_domain *domain, const void *context,
			      struct ofi_cntr **cntr, uint64_t *threshold);

#endif
