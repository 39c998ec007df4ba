/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The engine's implementation of the endpoint calls, used to fill ops tables. A transport may have
 * its own versions of the most frequent calls and falls back to these on its slow path.
 */
#ifndef OFI_RDM_CALLS_H
#define OFI_RDM_CALLS_H

#include "prov/base/ops.h"
#include "rdm.h"
#include "xport.h"

/* Receives with a single buffer, with and without the lock. */
OFI_CALL(fi_ops_tagged, recv) ofi_rdm_trecv, ofi_rdm_trecv_nolock;
OFI_CALL(fi_ops_msg, recv) ofi_rdm_recv, ofi_rdm_recv_nolock;
/*
 * The slow paths of these. The _entered variants expect the endpoint to be entered already and
 * leave it; only fast_recv.c uses them.
 */
OFI_CALL(fi_ops_tagged, recv) ofi_rdm_trecv_any, ofi_rdm_trecv_entered;
OFI_CALL(fi_ops_msg, recv) ofi_rdm_recv_any, ofi_rdm_recv_entered;
/*
 * Translates the source address of a receive into the peer's number, or OFI_RDM_MATCH_ANY. The
 * caller holds the lock.
 */
int ofi_rdm_recv_source(struct ofi_rdm_ep *ep, fi_addr_t addr, bool tagged, uint32_t *src);

/* The slow path of all sends of a single buffer. */
ssize_t ofi_rdm_send_one(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			 uint64_t tag, void *context, bool tagged);
ssize_t ofi_rdm_inject_one(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			   uint64_t tag, bool tagged);
/* The slow paths of writes and reads of a single buffer. */
OFI_CALL(fi_ops_rma, read) ofi_rdm_read_one;
OFI_CALL(fi_ops_rma, write) ofi_rdm_write_one;
OFI_CALL(fi_ops_rma, inject) ofi_rdm_inject_write_one;

/* The remaining calls. */
OFI_CALL(fi_ops_msg, sendv) ofi_rdm_sendv;
OFI_CALL(fi_ops_msg, sendmsg) ofi_rdm_sendmsg;
OFI_CALL(fi_ops_msg, senddata) ofi_rdm_senddata;
OFI_CALL(fi_ops_msg, injectdata) ofi_rdm_injectdata;
OFI_CALL(fi_ops_msg, recvv) ofi_rdm_recvv;
OFI_CALL(fi_ops_msg, recvmsg) ofi_rdm_recvmsg;
OFI_CALL(fi_ops_tagged, sendv) ofi_rdm_tsendv;
OFI_CALL(fi_ops_tagged, sendmsg) ofi_rdm_tsendmsg;
OFI_CALL(fi_ops_tagged, senddata) ofi_rdm_tsenddata;
OFI_CALL(fi_ops_tagged, injectdata) ofi_rdm_tinjectdata;
OFI_CALL(fi_ops_tagged, recvv) ofi_rdm_trecvv;
OFI_CALL(fi_ops_tagged, recvmsg) ofi_rdm_trecvmsg;
OFI_CALL(fi_ops_rma, readv) ofi_rdm_readv;
OFI_CALL(fi_ops_rma, readmsg) ofi_rdm_readmsg;
OFI_CALL(fi_ops_rma, writev) ofi_rdm_writev;
OFI_CALL(fi_ops_rma, writemsg) ofi_rdm_writemsg;
OFI_CALL(fi_ops_rma, writedata) ofi_rdm_writedata;
OFI_CALL(fi_ops_rma, injectdata) ofi_rdm_inject_writedata;

/* Initializers for the slots of these calls. */
#define OFI_RDM_MSG_CALLS                                                           \
	.recvv = ofi_rdm_recvv, .recvmsg = ofi_rdm_recvmsg, .sendv = ofi_rdm_sendv, \
	.sendmsg = ofi_rdm_sendmsg, .senddata = ofi_rdm_senddata, .injectdata = ofi_rdm_injectdata
#define OFI_RDM_TAGGED_CALLS                                                           \
	.recvv = ofi_rdm_trecvv, .recvmsg = ofi_rdm_trecvmsg, .sendv = ofi_rdm_tsendv, \
	.sendmsg = ofi_rdm_tsendmsg, .senddata = ofi_rdm_tsenddata,                    \
	.injectdata = ofi_rdm_tinjectdata
#define OFI_RDM_RMA_CALLS                                                             \
	.readv = ofi_rdm_readv, .readmsg = ofi_rdm_readmsg, .writev = ofi_rdm_writev, \
	.writemsg = ofi_rdm_writemsg, .writedata = ofi_rdm_writedata,                 \
	.injectdata = ofi_rdm_inject_writedata

/*
 * Flags with which fi_trecvmsg() acts on messages that have arrived instead of posting a receive.
 */
#define OFI_RDM_PROBE_FLAGS (FI_PEEK | FI_CLAIM | FI_DISCARD)
ssize_t ofi_rdm_recv_probe(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags);

/* Ops tables with the engine's calls only. They also work on aliases. */
extern const struct ofi_rdm_calls ofi_rdm_calls;
extern const struct fi_ops_atomic ofi_rdm_atomic_ops;
/*
 * Sets the tables of transfers that the capabilities permit. `ways` has FI_SEND, FI_RECV or both;
 * the tables of one direction are the endpoint's or the alias's own.
 */
void ofi_rdm_set_calls(struct fid_ep *fid, struct ofi_rdm_one_way *own, uint64_t ways,
		       uint64_t caps, const struct ofi_rdm_calls *calls);

#endif
