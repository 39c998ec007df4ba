/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unimplemented slots of struct fi_ops for the core's own objects; they return -FI_ENOSYS. */
#ifndef OFI_FID_H
#define OFI_FID_H

#include <rdma/fabric.h>

int ofi_fid_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int ofi_fid_no_control(struct fid *fid, int command, void *arg);
int ofi_fid_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			void *context);

#endif
