/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * All forms of the fi_msg, fi_tagged and fi_rma calls. Each call becomes one operation with flags.
 * A call without a flags argument takes the defaults of its fid, which is an endpoint or an alias.
 */
#include "calls.h"

#include <rdma/fi_errno.h>
#include "prov/base/ep.h"
#include "objects.h"
#include "work.h"

#define DATA (FI_INJECT | FI_REMOTE_CQ_DATA)

/* Default flags that apply to RMA. */
#define RMA_FLAGS                                                               \
	(FI_COMPLETION | FI_FENCE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE | FI_TRIGGER)

/* FI_INJECT does not apply to reads, which cannot give their buffers back at once. */
static uint64_t rma_flags(struct fid_ep *fid, bool read)
{
	return ofi_rdm_tx_flags(fid, read ? RMA_FLAGS : RMA_FLAGS | FI_INJECT);
}

static uint64_t send_flags(struct fid_ep *fid)
{
	return ofi_rdm_tx_flags(fid, ~0ULL);
}

/* As a default flag, FI_MULTI_RECV applies to untagged receives only. */
static uint64_t recv_flags(struct fid_ep *fid, bool tagged)
{
	const struct ofi_rdm_fid *head = ofi_rdm_head(fid);

	return (head->rx_op_flags & ~(tagged ? FI_MULTI_RECV : 0)) |
	       (head->endpoint->rx_selective ? 0 : FI_COMPLETION);
}

/* Messages. */

static inline ssize_t send_one(struct fid_ep *fid, const void *buf, size_t len, void **desc,
			       uint64_t data, fi_addr_t addr, uint64_t tag, void *context,
			       bool tagged, uint64_t flags)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	const struct fi_msg_tagged msg = { &iov, desc, 1, addr, tag, 0, context, data };

	return ofi_rdm_send_work(ofi_rdm_self(fid), &msg, flags, tagged, 0, false);
}

OFI_OUTLINE ssize_t ofi_rdm_send_one(struct fid_ep *fid, const void *buf, size_t len,
				     fi_addr_t addr, uint64_t tag, void *context, bool tagged)
{
	return send_one(fid, buf, len, NULL, 0, addr, tag, context, tagged, send_flags(fid));
}

OFI_OUTLINE ssize_t ofi_rdm_inject_one(struct fid_ep *fid, const void *buf, size_t len,
				       fi_addr_t addr, uint64_t tag, bool tagged)
{
	return send_one(fid, buf, len, NULL, 0, addr, tag, NULL, tagged, FI_INJECT);
}

static ssize_t calls_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			  fi_addr_t addr, void *context)
{
	return send_one(fid, buf, len, &desc, 0, addr, 0, context, false, send_flags(fid));
}

ssize_t ofi_rdm_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t addr, void *context)
{
	const struct fi_msg_tagged msg = { iov, desc, count, addr, 0, 0, context, 0 };

	return ofi_rdm_send_work(ofi_rdm_self(fid), &msg, send_flags(fid), false, 0, false);
}

ssize_t ofi_rdm_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self(fid);
	struct fi_msg_tagged untagged;

	if (!msg)
		return -FI_EINVAL;
	untagged = ofi_untagged(msg);
	return ofi_rdm_send_work(ep, &untagged, ofi_rdm_msg_flags(ep, flags), false, 0, false);
}

ssize_t ofi_rdm_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data,
			 fi_addr_t addr, void *context)
{
	return send_one(fid, buf, len, &desc, data, addr, 0, context, false,
			send_flags(fid) | FI_REMOTE_CQ_DATA);
}

static ssize_t calls_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	return ofi_rdm_inject_one(fid, buf, len, addr, 0, false);
}

ssize_t ofi_rdm_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			   fi_addr_t addr)
{
	return send_one(fid, buf, len, NULL, data, addr, 0, NULL, false, DATA);
}

static ssize_t calls_tsend(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   fi_addr_t addr, uint64_t tag, void *context)
{
	return send_one(fid, buf, len, &desc, 0, addr, tag, context, true, send_flags(fid));
}

ssize_t ofi_rdm_tsendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		       fi_addr_t addr, uint64_t tag, void *context)
{
	const struct fi_msg_tagged msg = { iov, desc, count, addr, tag, 0, context, 0 };

	return ofi_rdm_send_work(ofi_rdm_self(fid), &msg, send_flags(fid), true, 0, false);
}

ssize_t ofi_rdm_tsendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self(fid);

	if (!msg)
		return -FI_EINVAL;
	return ofi_rdm_send_work(ep, msg, ofi_rdm_msg_flags(ep, flags), true, 0, false);
}

ssize_t ofi_rdm_tsenddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			  uint64_t data, fi_addr_t addr, uint64_t tag, void *context)
{
	return send_one(fid, buf, len, &desc, data, addr, tag, context, true,
			send_flags(fid) | FI_REMOTE_CQ_DATA);
}

static ssize_t calls_tinject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			     uint64_t tag)
{
	return ofi_rdm_inject_one(fid, buf, len, addr, tag, true);
}

ssize_t ofi_rdm_tinjectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			    fi_addr_t addr, uint64_t tag)
{
	return send_one(fid, buf, len, NULL, data, addr, tag, NULL, true, DATA);
}

/* Receives. */

ssize_t ofi_rdm_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t addr, void *context)
{
	const struct fi_msg_tagged msg = { iov, desc, count, addr, 0, 0, context, 0 };

	return ofi_rdm_recv_work(ofi_rdm_self(fid), &msg, recv_flags(fid, false), false, 0, false);
}

ssize_t ofi_rdm_trecvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		       fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context)
{
	const struct fi_msg_tagged msg = { iov, desc, count, addr, tag, ignore, context, 0 };

	return ofi_rdm_recv_work(ofi_rdm_self(fid), &msg, recv_flags(fid, true), true, 0, false);
}

/*
 * Slow paths. Functions with the same arguments call them last. They are not static so that the
 * compiler keeps the arguments in their registers.
 */
OFI_OUTLINE ssize_t ofi_rdm_recv_any(struct fid_ep *fid, void *buf, size_t len, void *desc,
				     fi_addr_t addr, void *context)
{
	const struct iovec iov = { buf, len };

	return ofi_rdm_recvv(fid, &iov, &desc, 1, addr, context);
}

OFI_OUTLINE ssize_t ofi_rdm_trecv_any(struct fid_ep *fid, void *buf, size_t len, void *desc,
				      fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context)
{
	const struct iovec iov = { buf, len };

	return ofi_rdm_trecvv(fid, &iov, &desc, 1, addr, tag, ignore, context);
}

ssize_t ofi_rdm_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self(fid);
	struct fi_msg_tagged untagged;

	if (!msg)
		return -FI_EINVAL;
	untagged = ofi_untagged(msg);
	flags |= ep->rx_selective ? 0 : FI_COMPLETION;
	return ofi_rdm_recv_work(ep, &untagged, flags, false, 0, false);
}

ssize_t ofi_rdm_trecvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self(fid);

	if (!msg)
		return -FI_EINVAL;
	flags |= ep->rx_selective ? 0 : FI_COMPLETION;
	if (flags & OFI_RDM_PROBE_FLAGS)
		return ofi_rdm_recv_probe(ep, msg, flags);
	return ofi_rdm_recv_work(ep, msg, flags, true, 0, false);
}

/* RMA. */

static ssize_t rma_one(struct fid_ep *fid, bool read, const void *buf, size_t len, void *desc,
		       fi_addr_t addr, uint64_t remote, uint64_t key, void *context, uint64_t flags,
		       uint64_t data)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	const struct fi_rma_iov rma_iov = { .addr = remote, .len = len, .key = key };
	const struct fi_msg_rma msg = { &iov, &desc, 1, addr, &rma_iov, 1, context, data };

	return ofi_rdm_rma_work(ofi_rdm_self(fid), &msg, flags, read, 0, false);
}

static ssize_t many(struct fid_ep *fid, bool read, const struct iovec *iov, void **desc,
		    size_t count, fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	struct fi_rma_iov rma_iov = { .addr = remote, .key = key };
	const struct fi_msg_rma msg = { iov, desc, count, addr, &rma_iov, 1, context, 0 };

	if (ofi_rdm_iov_total(iov, count, &rma_iov.len))
		return -FI_EINVAL;
	return ofi_rdm_rma_work(ofi_rdm_self(fid), &msg, rma_flags(fid, read), read, 0, false);
}

static ssize_t by_msg(struct fid_ep *fid, bool read, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self(fid);

	if (!msg)
		return -FI_EINVAL;
	return ofi_rdm_rma_work(ep, msg, ofi_rdm_msg_flags(ep, flags), read, 0, false);
}

OFI_OUTLINE ssize_t ofi_rdm_read_one(struct fid_ep *fid, void *buf, size_t len, void *desc,
				     fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return rma_one(fid, true, buf, len, desc, addr, remote, key, context, rma_flags(fid, true),
		       0);
}

ssize_t ofi_rdm_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return many(fid, true, iov, desc, count, addr, remote, key, context);
}

ssize_t ofi_rdm_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return by_msg(fid, true, msg, flags);
}

OFI_OUTLINE ssize_t ofi_rdm_write_one(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				      fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return rma_one(fid, false, buf, len, desc, addr, remote, key, context,
		       rma_flags(fid, false), 0);
}

ssize_t ofi_rdm_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		       fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return many(fid, false, iov, desc, count, addr, remote, key, context);
}

ssize_t ofi_rdm_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return by_msg(fid, false, msg, flags);
}

ssize_t ofi_rdm_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			  uint64_t data, fi_addr_t addr, uint64_t remote, uint64_t key,
			  void *context)
{
	return rma_one(fid, false, buf, len, desc, addr, remote, key, context,
		       rma_flags(fid, false) | FI_REMOTE_CQ_DATA, data);
}

OFI_OUTLINE ssize_t ofi_rdm_inject_write_one(struct fid_ep *fid, const void *buf, size_t len,
					     fi_addr_t addr, uint64_t remote, uint64_t key)
{
	return rma_one(fid, false, buf, len, NULL, addr, remote, key, NULL, FI_INJECT, 0);
}

ssize_t ofi_rdm_inject_writedata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
				 fi_addr_t addr, uint64_t remote, uint64_t key)
{
	return rma_one(fid, false, buf, len, NULL, addr, remote, key, NULL, DATA, data);
}

static const struct fi_ops_msg msg_ops = {
	.size = OFI_MSG_DEFAULTS,
	OFI_RDM_MSG_CALLS,
	.recv = ofi_rdm_recv_any,
	.send = calls_send,
	.inject = calls_inject,
};

static const struct fi_ops_tagged tagged_ops = {
	.size = OFI_TAGGED_DEFAULTS,
	OFI_RDM_TAGGED_CALLS,
	.recv = ofi_rdm_trecv_any,
	.send = calls_tsend,
	.inject = calls_tinject,
};

static const struct fi_ops_rma rma_ops = {
	.size = OFI_RMA_DEFAULTS,
	OFI_RDM_RMA_CALLS,
	.read = ofi_rdm_read_one,
	.write = ofi_rdm_write_one,
	.inject = ofi_rdm_inject_write_one,
};

const struct ofi_rdm_calls ofi_rdm_calls = { &msg_ops, &tagged_ops, &rma_ops };

/* Returns the tables of one direction. Calls of the other direction return -FI_ENOSYS. */
static struct ofi_rdm_one_way one_way(const struct ofi_rdm_calls *both, bool sends)
{
	const struct fi_ops_msg *msg = sends ? &ofi_no_msg_ops : both->msg;
	const struct fi_ops_tagged *tagged = sends ? &ofi_no_tagged_ops : both->tagged;
	struct ofi_rdm_one_way own = {
		.msg = sends ? *both->msg : ofi_no_msg_ops,
		.tagged = sends ? *both->tagged : ofi_no_tagged_ops,
	};

	own.msg.recv = msg->recv;
	own.msg.recvv = msg->recvv;
	own.msg.recvmsg = msg->recvmsg;
	own.tagged.recv = tagged->recv;
	own.tagged.recvv = tagged->recvv;
	own.tagged.recvmsg = tagged->recvmsg;
	return own;
}

void ofi_rdm_set_calls(struct fid_ep *fid, struct ofi_rdm_one_way *own, uint64_t ways,
		       uint64_t caps, const struct ofi_rdm_calls *calls)
{
	bool one = !(ways & FI_SEND) != !(ways & FI_RECV);

	if (one)
		*own = one_way(calls, ways & FI_SEND);
	if (caps & FI_MSG)
		fid->msg = one ? &own->msg : ofi_ops(calls->msg);
	if (caps & FI_TAGGED)
		fid->tagged = one ? &own->tagged : ofi_ops(calls->tagged);
	/* Without FI_RMA, endpoints may forbid access to device memory, which RMA requires. */
	if (caps & FI_RMA || (ofi_ep_writes(caps) && !(caps & FI_HMEM)))
		fid->rma = ofi_ops(calls->rma);
	if (caps & FI_ATOMIC)
		fid->atomic = ofi_ops(&ofi_rdm_atomic_ops);
}
