/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's side of FI_HOOK. If the variable is not set, these functions do nothing. */
#ifndef OFI_HOOK_H
#define OFI_HOOK_H

#include <stdbool.h>
#include <rdma/fabric.h>

/* Hints in which the application's objects are replaced by the provider's. */
struct ofi_hook_hints {
	struct fi_info info;
	struct fi_fabric_attr fabric_attr;
	struct fi_domain_attr domain_attr;
};

/* Returns true if FI_HOOK names a hook; reads the variable on the first call. */
bool ofi_hook_active(void);
/* Puts an opened fabric under hooks. On -FI_ENOMEM the fabric has been closed. */
int ofi_hook_fabric(struct fid_fabric **fabric, void *context);
/*
 * Convert objects for fi_getinfo: ofi_hook_hints() returns the hints to use, converted in *copy if
 * necessary, and ofi_hook_infos() converts the result back.
 */
const struct fi_info *ofi_hook_hints(const struct fi_info *hints, struct ofi_hook_hints *copy);
void ofi_hook_infos(struct fi_info *info);
/* Prints the remaining output of the hooks at the end of the process. */
void ofi_hook_fini(void);

#endif
