/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Compares hints with what a provider offers, one check per attribute. Each check can report what
 * was asked for and what is available. Also narrows a match to what the caller asked for.
 */
#ifndef OFI_ATTR_H
#define OFI_ATTR_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fabric.h>

enum { OFI_DSCP_MAX = 63 }; /* a DSCP has six bits */

struct ofi_miss {
	const char *attr; /* "domain_attr->mr_mode" */
	char asked[160];
	char has[160];
};

/*
 * Returns the number of hints that `have` cannot satisfy. If first is not NULL, *first describes
 * the first of them. Sizes in `have` are maxima; flags in `have` are all supported ones. The caller
 * checks addresses and the object fields (domain, fabric, handle).
 */
unsigned ofi_attr_misses(uint32_t version, const struct fi_info *have, const struct fi_info *hints,
			 struct ofi_miss *first);
/* Returns true if addresses in the format `has` satisfy a request for the format `wants`. */
bool ofi_attr_format_fits(uint32_t has, uint32_t wants);
/* Returns true if the traffic class is valid: FI_TC_UNSPEC, a label, or a DSCP. */
static inline bool ofi_attr_tclass_fits(uint32_t tclass)
{
	return tclass == FI_TC_UNSPEC || (tclass >= FI_TC_LABEL && tclass <= FI_TC_NETWORK_CTRL) ||
	       (tclass >= FI_TC_DSCP && tclass <= FI_TC_DSCP + OFI_DSCP_MAX);
}
/* Returns the capabilities that the hints, which may be NULL, name, also for one direction only. */
static inline uint64_t ofi_attr_asked_caps(const struct fi_info *hints)
{
	uint64_t caps = hints ? hints->caps : 0;

	if (hints && hints->tx_attr)
		caps |= hints->tx_attr->caps;
	if (hints && hints->rx_attr)
		caps |= hints->rx_attr->caps;
	return caps;
}
/*
 * Narrows a matching info to what the caller will get: sets capabilities, modes, flags and models
 * according to the hints. The caller sets sizes, because it knows the defaults.
 */
void ofi_attr_narrow(uint32_t version, struct fi_info *info, const struct fi_info *hints);

#endif
