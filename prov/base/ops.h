/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ops tables. The defaults of a kind of table are its size, and functions that return -FI_ENOSYS
 * for every call. A table starts with them, and then names the slots that are implemented:
 *
 * 	static const struct fi_ops_cm cm_ops = {
 * 		.size = OFI_CM_DEFAULTS,
 * 		.getname = ep_getname,
 * 	};
 *
 * The strerror and straddr slots return text, so a table that has one of them must name it.
 */
#ifndef OFI_OPS_H
#define OFI_OPS_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_stats.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_prov.h>

ssize_t ofi_enosys(void);
/* Refuses a call that the object supports in general, but not in its present role. */
ssize_t ofi_eopnotsupp(void);

/*
 * The type of the functions of a slot. `OFI_CALL(fi_ops_msg, send) vrb_call_send;` declares one of
 * them.
 */
#define OFI_CALL(table, slot) __typeof__(*((struct table *)NULL)->slot)

#define OFI_ENOSYS(slot) .slot = (void *)ofi_enosys

/* clang-format off */
#define OFI_FID_DEFAULTS sizeof(struct fi_ops), \
	OFI_ENOSYS(close), OFI_ENOSYS(bind), OFI_ENOSYS(control), OFI_ENOSYS(ops_open), \
	OFI_ENOSYS(tostr), OFI_ENOSYS(ops_set)
#define OFI_ATOMIC_DEFAULTS sizeof(struct fi_ops_atomic), \
	OFI_ENOSYS(write), OFI_ENOSYS(writev), OFI_ENOSYS(writemsg), OFI_ENOSYS(inject), \
	OFI_ENOSYS(readwrite), OFI_ENOSYS(readwritev), OFI_ENOSYS(readwritemsg), \
	OFI_ENOSYS(compwrite), OFI_ENOSYS(compwritev), OFI_ENOSYS(compwritemsg), \
	OFI_ENOSYS(writevalid), OFI_ENOSYS(readwritevalid), OFI_ENOSYS(compwritevalid)
#define OFI_AV_DEFAULTS sizeof(struct fi_ops_av), \
	OFI_ENOSYS(insert), OFI_ENOSYS(insertsvc), OFI_ENOSYS(insertsym), OFI_ENOSYS(remove), \
	OFI_ENOSYS(lookup), OFI_ENOSYS(av_set), OFI_ENOSYS(insert_auth_key), \
	OFI_ENOSYS(lookup_auth_key), OFI_ENOSYS(set_user_id), OFI_ENOSYS(lookup2)
#define OFI_AV_SET_DEFAULTS sizeof(struct fi_ops_av_set), \
	OFI_ENOSYS(set_union), OFI_ENOSYS(intersect), OFI_ENOSYS(diff), OFI_ENOSYS(insert), \
	OFI_ENOSYS(remove), OFI_ENOSYS(addr)
#define OFI_CM_DEFAULTS sizeof(struct fi_ops_cm), \
	OFI_ENOSYS(setname), OFI_ENOSYS(getname), OFI_ENOSYS(getpeer), OFI_ENOSYS(connect), \
	OFI_ENOSYS(listen), OFI_ENOSYS(accept), OFI_ENOSYS(reject), OFI_ENOSYS(shutdown), \
	OFI_ENOSYS(join)
#define OFI_CNTR_DEFAULTS sizeof(struct fi_ops_cntr), \
	OFI_ENOSYS(read), OFI_ENOSYS(readerr), OFI_ENOSYS(add), OFI_ENOSYS(set), \
	OFI_ENOSYS(wait), OFI_ENOSYS(adderr), OFI_ENOSYS(seterr), OFI_ENOSYS(export_xpu)
#define OFI_COLLECTIVE_DEFAULTS sizeof(struct fi_ops_collective), \
	OFI_ENOSYS(barrier), OFI_ENOSYS(broadcast), OFI_ENOSYS(alltoall), OFI_ENOSYS(allreduce), \
	OFI_ENOSYS(allgather), OFI_ENOSYS(reduce_scatter), OFI_ENOSYS(reduce), \
	OFI_ENOSYS(scatter), OFI_ENOSYS(gather), OFI_ENOSYS(msg), OFI_ENOSYS(barrier2)
#define OFI_CQ_DEFAULTS sizeof(struct fi_ops_cq), \
	OFI_ENOSYS(read), OFI_ENOSYS(readfrom), OFI_ENOSYS(readerr), OFI_ENOSYS(sread), \
	OFI_ENOSYS(sreadfrom), OFI_ENOSYS(signal), OFI_ENOSYS(export_xpu)
#define OFI_DOMAIN_DEFAULTS sizeof(struct fi_ops_domain), \
	OFI_ENOSYS(av_open), OFI_ENOSYS(cq_open), OFI_ENOSYS(endpoint), OFI_ENOSYS(scalable_ep), \
	OFI_ENOSYS(cntr_open), OFI_ENOSYS(poll_open), OFI_ENOSYS(stx_ctx), OFI_ENOSYS(srx_ctx), \
	OFI_ENOSYS(query_atomic), OFI_ENOSYS(query_collective), OFI_ENOSYS(endpoint2), \
	OFI_ENOSYS(xpu_ctx)
#define OFI_EP_DEFAULTS sizeof(struct fi_ops_ep), \
	OFI_ENOSYS(cancel), OFI_ENOSYS(getopt), OFI_ENOSYS(setopt), OFI_ENOSYS(tx_ctx), \
	OFI_ENOSYS(rx_ctx), OFI_ENOSYS(rx_size_left), OFI_ENOSYS(tx_size_left), \
	OFI_ENOSYS(export_xpu)
#define OFI_EQ_DEFAULTS sizeof(struct fi_ops_eq), \
	OFI_ENOSYS(read), OFI_ENOSYS(readerr), OFI_ENOSYS(write), OFI_ENOSYS(sread)
#define OFI_FABRIC_DEFAULTS sizeof(struct fi_ops_fabric), \
	OFI_ENOSYS(domain), OFI_ENOSYS(passive_ep), OFI_ENOSYS(eq_open), OFI_ENOSYS(wait_open), \
	OFI_ENOSYS(trywait), OFI_ENOSYS(domain2)
#define OFI_MR_DEFAULTS sizeof(struct fi_ops_mr), \
	OFI_ENOSYS(reg), OFI_ENOSYS(regv), OFI_ENOSYS(regattr)
#define OFI_MSG_DEFAULTS sizeof(struct fi_ops_msg), \
	OFI_ENOSYS(recv), OFI_ENOSYS(recvv), OFI_ENOSYS(recvmsg), OFI_ENOSYS(send), \
	OFI_ENOSYS(sendv), OFI_ENOSYS(sendmsg), OFI_ENOSYS(inject), OFI_ENOSYS(senddata), \
	OFI_ENOSYS(injectdata)
#define OFI_POLL_DEFAULTS sizeof(struct fi_ops_poll), \
	OFI_ENOSYS(poll), OFI_ENOSYS(poll_add), OFI_ENOSYS(poll_del)
#define OFI_RMA_DEFAULTS sizeof(struct fi_ops_rma), \
	OFI_ENOSYS(read), OFI_ENOSYS(readv), OFI_ENOSYS(readmsg), OFI_ENOSYS(write), \
	OFI_ENOSYS(writev), OFI_ENOSYS(writemsg), OFI_ENOSYS(inject), OFI_ENOSYS(writedata), \
	OFI_ENOSYS(injectdata)
#define OFI_TAGGED_DEFAULTS sizeof(struct fi_ops_tagged), \
	OFI_ENOSYS(recv), OFI_ENOSYS(recvv), OFI_ENOSYS(recvmsg), OFI_ENOSYS(send), \
	OFI_ENOSYS(sendv), OFI_ENOSYS(sendmsg), OFI_ENOSYS(inject), OFI_ENOSYS(senddata), \
	OFI_ENOSYS(injectdata)
#define OFI_WAIT_DEFAULTS sizeof(struct fi_ops_wait), \
	OFI_ENOSYS(wait)
/* clang-format on */

/*
 * Passes a constant table where the public structure wants a non-const one; the type is still
 * checked.
 */
#define ofi_ops(table) \
	_Generic((table), \
		const struct fi_ops *: (struct fi_ops *)(table), \
		const struct fi_ops_atomic *: (struct fi_ops_atomic *)(table), \
		const struct fi_ops_av *: (struct fi_ops_av *)(table), \
		const struct fi_ops_av_set *: (struct fi_ops_av_set *)(table), \
		const struct fi_ops_cm *: (struct fi_ops_cm *)(table), \
		const struct fi_ops_cntr *: (struct fi_ops_cntr *)(table), \
		const struct fi_ops_collective *: (struct fi_ops_collective *)(table), \
		const struct fi_ops_cq *: (struct fi_ops_cq *)(table), \
		const struct fi_ops_domain *: (struct fi_ops_domain *)(table), \
		const struct fi_ops_ep *: (struct fi_ops_ep *)(table), \
		const struct fi_ops_eq *: (struct fi_ops_eq *)(table), \
		const struct fi_ops_fabric *: (struct fi_ops_fabric *)(table), \
		const struct fi_ops_mr *: (struct fi_ops_mr *)(table), \
		const struct fi_ops_msg *: (struct fi_ops_msg *)(table), \
		const struct fi_ops_poll *: (struct fi_ops_poll *)(table), \
		const struct fi_ops_rma *: (struct fi_ops_rma *)(table), \
		const struct fi_ops_tagged *: (struct fi_ops_tagged *)(table), \
		const struct fi_ops_wait *: (struct fi_ops_wait *)(table))

/* Tables for capabilities that an endpoint was not opened with. */
extern const struct fi_ops_cm ofi_no_cm_ops;
extern const struct fi_ops_msg ofi_no_msg_ops;
extern const struct fi_ops_rma ofi_no_rma_ops;
extern const struct fi_ops_tagged ofi_no_tagged_ops;
extern const struct fi_ops_atomic ofi_no_atomic_ops;
extern const struct fi_ops_collective ofi_no_collective_ops;

/*
 * Initializes a fid all of whose transfers return -FI_ENOSYS. The caller then sets the tables of
 * the capabilities that it has.
 */
void ofi_ep_fid_init(struct fid_ep *fid, size_t fclass, void *context, const struct fi_ops *ops,
		     const struct fi_ops_ep *ep_ops, const struct fi_ops_cm *cm);

/*
 * Implements fi_open_ops of an object whose only extension is the statistics. Returns 0 or -FI_E*.
 */
int ofi_stats_open_ops(const struct fi_provider *prov, const char *name, uint64_t flags, void **ops,
		       struct fi_ops_stats *table);

#endif
