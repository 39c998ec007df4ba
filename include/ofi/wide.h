/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fi_info that a program passes to fi_getinfo, fi_domain, fi_endpoint and the like, whose
 * structures may be its own, as short as they were in its API version.
 */
#ifndef OFI_WIDE_H
#define OFI_WIDE_H

#include <rdma/fabric.h>

struct ofi_wide {
	struct fi_info info;
	struct fi_tx_attr tx;
	struct fi_ep_attr ep;
	struct fi_domain_attr domain;
};

/*
 * Returns an fi_info whose fields may all be read: `info`, which may be NULL, or its current form
 * in *to, in which fields that came after `version`, the call's or the fabric's, are 0. Version 0
 * is the current one.
 */
struct fi_info *ofi_widen(uint32_t version, struct fi_info *info, struct ofi_wide *to);

#endif
