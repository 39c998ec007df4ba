/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions of info.c that the symbol versions for older callers use. */
#ifndef OFI_INFO_H
#define OFI_INFO_H

#include <rdma/fabric.h>

/*
 * Frees info, its attributes, and the memory that they point to, as far as the caller's structure
 * contains the pointers; *seen is a copy of that structure.
 */
void ofi_info_free(struct fi_info *info, struct fi_info *seen);
void ofi_nic_free(struct fid_nic *nic);

#endif
