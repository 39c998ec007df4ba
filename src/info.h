/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parts of fi_info's management used by the symbol versions for older callers. */
#ifndef OFI_INFO_H
#define OFI_INFO_H

#include <rdma/fabric.h>

/*
 * Frees info, its attributes, and what they point to as far as the caller's structure, copied to
 * `seen`, contains it.
 */
void ofi_info_free(struct fi_info *info, struct fi_info *seen);
void ofi_nic_free(struct fid_nic *nic);

#endif
