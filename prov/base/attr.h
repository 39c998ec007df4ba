/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Hints against what a provider has: one check per attribute, each able to say what was asked
 * and what there is, and the narrowing of a match to what the caller asked for.
 */
#ifndef OFI_ATTR_H
#define OFI_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fabric.h>

enum { OFI_DSCP_MAX = 63 }; /* a code point has six bits */

struct ofi_miss {
	const char *attr; /* "domain_attr->mr_mode" */
	char asked[160];
	char has[160];
};

/*
 * Number of hints that `have` cannot satisfy; the first of them is described in *first when that is
 * not NULL. Sizes in `have` are the largest there are, flags are all that there are. Addresses and
 * the object fields (domain, fabric, handle) are for the caller to check.
 */
unsigned ofi_attr_misses(uint32_t version, const struct fi_info *have, const struct fi_info *hints,
			 struct ofi_miss *first);
/* Whether addresses of a format are among those that were asked for. */
bool ofi_attr_format_fits(uint32_t has, uint32_t wants);
/* Whether there is such a traffic class: FI_TC_UNSPEC, a label, or a code point. */
static inline bool ofi_attr_tclass_fits(uint32_t tclass)
{
	return tclass == FI_TC_UNSPEC || (tclass >= FI_TC_LABEL && tclass <= FI_TC_NETWORK_CTRL) ||
	       (tclass >= FI_TC_DSCP && tclass <= FI_TC_DSCP + OFI_DSCP_MAX);
}
/*
 * Makes a matching info say what the caller will get: capabilities, modes, flags and models by
 * the hints. Sizes are left to the caller, who knows the defaults.
 */
void ofi_attr_narrow(uint32_t version, struct fi_info *info, const struct fi_info *hints);

#endif
