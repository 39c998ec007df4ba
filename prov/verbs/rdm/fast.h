/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The most frequent calls, with locks and without, and what they call when something is in their
 * way.
 */
#ifndef VRB_RDM_FAST_H
#define VRB_RDM_FAST_H

#include "rdm.h"

typedef ssize_t vrb_rdm_tsend_fn(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				 fi_addr_t addr, uint64_t tag, void *context);
typedef ssize_t vrb_rdm_tinject_fn(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
				   uint64_t tag);
typedef ssize_t vrb_rdm_send_fn(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				fi_addr_t addr, void *context);
typedef ssize_t vrb_rdm_inject_fn(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr);
typedef ssize_t vrb_rdm_trecv_fn(struct fid_ep *fid, void *buf, size_t len, void *desc,
				 fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context);
typedef ssize_t vrb_rdm_recv_fn(struct fid_ep *fid, void *buf, size_t len, void *desc,
				fi_addr_t addr, void *context);
typedef ssize_t vrb_rdm_write_fn(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				 fi_addr_t addr, uint64_t remote, uint64_t key, void *context);
typedef ssize_t vrb_rdm_read_fn(struct fid_ep *fid, void *buf, size_t len, void *desc,
				fi_addr_t addr, uint64_t remote, uint64_t key, void *context);
typedef ssize_t vrb_rdm_inject_write_fn(struct fid_ep *fid, const void *buf, size_t len,
					fi_addr_t addr, uint64_t remote, uint64_t key);

vrb_rdm_tsend_fn vrb_rdm_tsend, vrb_rdm_tsend_nolock;
vrb_rdm_tinject_fn vrb_rdm_tinject, vrb_rdm_tinject_nolock;
vrb_rdm_send_fn vrb_rdm_send, vrb_rdm_send_nolock;
vrb_rdm_inject_fn vrb_rdm_inject, vrb_rdm_inject_nolock;
vrb_rdm_trecv_fn vrb_rdm_trecv, vrb_rdm_trecv_nolock;
vrb_rdm_recv_fn vrb_rdm_recv, vrb_rdm_recv_nolock;
vrb_rdm_write_fn vrb_rdm_write, vrb_rdm_write_nolock;
vrb_rdm_read_fn vrb_rdm_read, vrb_rdm_read_nolock;
vrb_rdm_inject_write_fn vrb_rdm_inject_write, vrb_rdm_inject_write_nolock;

/* Private to fast.c. */
vrb_rdm_trecv_fn vrb_rdm_trecv_entered;
vrb_rdm_recv_fn vrb_rdm_recv_entered;

/* Of any message. */
ssize_t vrb_rdm_send_one(struct vrb_rdm *ep, const void *buf, size_t len, fi_addr_t addr,
			 uint64_t tag, void *context, bool tagged);
ssize_t vrb_rdm_inject_one(struct vrb_rdm *ep, const void *buf, size_t len, fi_addr_t addr,
			   uint64_t tag, bool tagged);
/* Any receive of one buffer. */
vrb_rdm_trecv_fn vrb_rdm_trecv_any;
vrb_rdm_recv_fn vrb_rdm_recv_any;
/* The peer's number that a receive asks for, or any. With the lock held. */
int vrb_rdm_recv_source(struct vrb_rdm *ep, fi_addr_t addr, uint32_t *src);
/* Any write or read of one buffer. */
vrb_rdm_read_fn vrb_rdm_read_one;
vrb_rdm_write_fn vrb_rdm_write_one;
vrb_rdm_inject_write_fn vrb_rdm_inject_write_one;

#endif
