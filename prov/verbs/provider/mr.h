/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lookup of memory regions by key, for operations that the library performs itself. */
#ifndef VRB_MR_H
#define VRB_MR_H

#include <stdbool.h>
#include "prov/base/domain.h"

struct vrb_domain;

/* Returns true if the device chooses keys, false if the application does. */
bool vrb_mr_prov_key(const struct vrb_domain *domain);
/* Returns the number of bytes of a key, which is mr_key_size of the domain. */
size_t vrb_mr_key_size(const struct vrb_domain *domain);
/* Finds regions by key; only for RDM domains. */
extern const struct ofi_domain_ops vrb_domain_mr_ops;

#endif
