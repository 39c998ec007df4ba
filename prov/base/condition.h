/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters that triggered operations and deferred work wait for. */
#ifndef OFI_CONDITION_H
#define OFI_CONDITION_H

#include "cntr.h"
#include "domain.h"

/* Returns the fid's counter if it belongs to the domain, else NULL. */
struct ofi_cntr *ofi_trigger_cntr(const struct ofi_domain *domain, struct fid_cntr *fid);
/* Reads the trigger condition from the context of a call with FI_TRIGGER. Returns 0 or -FI_E*. */
ssize_t ofi_trigger_condition(const struct ofi_domain *domain, const void *context,
			      struct ofi_cntr **cntr, uint64_t *threshold);

#endif
