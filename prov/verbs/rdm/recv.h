/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls that post receives, of the tables in msg.c. */
#ifndef VRB_RDM_RECV_H
#define VRB_RDM_RECV_H

#include "rdm.h"

ssize_t vrb_rdm_trecvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		       fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context);
ssize_t vrb_rdm_trecvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags);
ssize_t vrb_rdm_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t addr, void *context);
ssize_t vrb_rdm_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags);

/* The default flags or the way of completion changed. */
void vrb_rdm_set_recv_modes(struct vrb_rdm *ep);

#endif
