/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The RC transport of the engine: one queue pair for each peer. */
#ifndef VRB_RDM_RC_H
#define VRB_RDM_RC_H

#include "rdm.h"

/* For an endpoint of the domain. */
struct ofi_rdm_xport vrb_rdm_rc(const struct vrb_domain *domain, const struct fi_info *info);

#endif
