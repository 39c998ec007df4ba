/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the core does for FI_HOOK. Without the variable none of it does anything. */
#ifndef OFI_HOOK_H
#define OFI_HOOK_H

#include <stdbool.h>
#include <rdma/fabric.h>

/* Hints with the provider's objects in place of those under hooks. */
struct ofi_hook_hints {
	struct fi_info info;
	struct fi_fabric_attr fabric_attr;
	struct fi_domain_attr domain_attr;
};

/* Whether FI_HOOK names a hook; reads it on the first call. */
bool ofi_hook_active(void);
/* Puts a fabric that was opened under hooks. 0 or -FI_ENOMEM, then it is closed. */
int ofi_hook_fabric(struct fid_fabric **fabric, void *context);
/*
 * For fi_getinfo: the hints to use, made in copy if they need it; and the way back, in the result.
 */
const struct fi_info *ofi_hook_hints(const struct fi_info *hints, struct ofi_hook_hints *copy);
void ofi_hook_infos(struct fi_info *info);
/* At the end of the process: what is not yet printed. */
void ofi_hook_fini(void);

#endif
