/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Unimplemented slots of struct fi_ops for the core's own objects. */
#include "fid.h"
#include <rdma/fi_errno.h>

int ofi_fid_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)fid;
	(void)bfid;
	(void)flags;
	return -FI_ENOSYS;
}

int ofi_fid_no_control(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	return -FI_ENOSYS;
}

int ofi_fid_no_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			void *context)
{
	(void)fid;
	(void)name;
	(void)flags;
	(void)ops;
	(void)context;
	return -FI_ENOSYS;
}
