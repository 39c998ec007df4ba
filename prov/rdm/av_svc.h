/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef OFI_RDM_AV_SVC_H
#define OFI_RDM_AV_SVC_H

#include <rdma/fi_domain.h>

int ofi_rdm_av_insertsvc(struct fid_av *fid, const char *node, const char *service,
			 fi_addr_t *fi_addr, uint64_t flags, void *context);
int ofi_rdm_av_insertsym(struct fid_av *fid, const char *node, size_t nodes, const char *service,
			 size_t services, fi_addr_t *fi_addr, uint64_t flags, void *context);

#endif
