/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory regions by key, for the operations that the library performs itself. */
#ifndef VRB_MR_H
#define VRB_MR_H

#include <stdbool.h>
#include "prov/base/domain.h"

struct vrb_domain;

/* Whether keys are the device's, and not the application's. */
bool vrb_mr_prov_key(const struct vrb_domain *domain);
/* Regions by key; of domains for reliable datagrams only. */
extern const struct ofi_domain_ops vrb_domain_mr_ops;

#endif
