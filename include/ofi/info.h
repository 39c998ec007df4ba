/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parts of the life of a fi_info that the symbol versions for older callers share. */
#ifndef OFI_INFO_H
#define OFI_INFO_H

#include <rdma/fabric.h>

/* Frees what info and its attributes point to, but neither the attributes nor info itself. */
void ofi_info_release(struct fi_info *info);
void ofi_nic_free(struct fid_nic *nic);

#endif
