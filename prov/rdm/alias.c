/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Aliases of reliable-datagram endpoints: their objects, and the calls without a flags argument. */
#include "alias.h"

#include <stdlib.h>
#include "prov/base/ops.h"
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include "prov/base/ep.h"
#include "ep.h"
#include "work.h"
#include "prov/base/refuse.h"

#define COMMON                                                                  \
	(FI_COMPLETION | FI_FENCE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE | FI_TRIGGER)

struct alias {
	struct fid_ep fid;
	struct ofi_rdm_ep *endpoint; /* as in ofi_rdm_fid */
	uint64_t tx_op_flags, rx_op_flags;
};

static struct alias *alias(struct fid_ep *fid)
{
	return (struct alias *)fid;
}

static struct fid_ep *self(struct fid_ep *fid)
{
	return &alias(fid)->endpoint->fid;
}

uint64_t ofi_rdm_alias_tx_flags(struct fid_ep *fid, uint64_t allowed)
{
	const struct alias *a = alias(fid);

	return (a->tx_op_flags & allowed) | (a->endpoint->tx_selective ? 0 : FI_COMPLETION);
}

static ssize_t alias_send_any(struct fid_ep *fid, const struct fi_msg_tagged *msg, bool tagged,
			      uint64_t flags)
{
	return ofi_rdm_send_work(alias(fid)->endpoint, msg,
				 ofi_rdm_alias_tx_flags(fid, OFI_RDM_TX_OP_FLAGS | FI_TRIGGER) |
					 flags,
				 tagged, 0, false);
}

static ssize_t recv_any(struct fid_ep *fid, const struct fi_msg_tagged *msg, bool tagged)
{
	const struct alias *a = alias(fid);
	uint64_t flags = a->rx_op_flags | (a->endpoint->rx_selective ? 0 : FI_COMPLETION);

	if (tagged)
		flags &= ~FI_MULTI_RECV;
	return ofi_rdm_recv_work(a->endpoint, msg, flags, tagged, 0, false);
}

static ssize_t alias_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			   fi_addr_t addr, void *context)
{
	return alias_send_any(
		fid, &(struct fi_msg_tagged){ iov, desc, count, addr, 0, 0, context, 0 }, false, 0);
}

static ssize_t alias_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			  fi_addr_t addr, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };

	return alias_sendv(fid, &iov, &desc, 1, addr, context);
}

static ssize_t alias_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			      uint64_t data, fi_addr_t addr, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };

	return alias_send_any(fid,
			      &(struct fi_msg_tagged){ &iov, &desc, 1, addr, 0, 0, context, data },
			      false, FI_REMOTE_CQ_DATA);
}

static ssize_t alias_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	return fi_sendmsg(self(fid), msg, flags);
}

static ssize_t alias_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	return fi_inject(self(fid), buf, len, addr);
}

static ssize_t alias_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
				fi_addr_t addr)
{
	return fi_injectdata(self(fid), buf, len, data, addr);
}

static ssize_t alias_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			   fi_addr_t addr, void *context)
{
	return recv_any(fid, &(struct fi_msg_tagged){ iov, desc, count, addr, 0, 0, context, 0 },
			false);
}

static ssize_t alias_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			  void *context)
{
	const struct iovec iov = { buf, len };

	return alias_recvv(fid, &iov, &desc, 1, addr, context);
}

static ssize_t alias_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	return fi_recvmsg(self(fid), msg, flags);
}

static const struct fi_ops_msg msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	OFI_MSG_DEFAULTS,
	.recv = alias_recv,
	.recvv = alias_recvv,
	.recvmsg = alias_recvmsg,
	.send = alias_send,
	.sendv = alias_sendv,
	.sendmsg = alias_sendmsg,
	.inject = alias_inject,
	.senddata = alias_senddata,
	.injectdata = alias_injectdata,
};

static ssize_t alias_tsendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t addr, uint64_t tag, void *context)
{
	return alias_send_any(fid,
			      &(struct fi_msg_tagged){ iov, desc, count, addr, tag, 0, context, 0 },
			      true, 0);
}

static ssize_t alias_tsend(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   fi_addr_t addr, uint64_t tag, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };

	return alias_tsendv(fid, &iov, &desc, 1, addr, tag, context);
}

static ssize_t alias_tsenddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t addr, uint64_t tag, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };

	return alias_send_any(
		fid, &(struct fi_msg_tagged){ &iov, &desc, 1, addr, tag, 0, context, data }, true,
		FI_REMOTE_CQ_DATA);
}

static ssize_t alias_tsendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return fi_tsendmsg(self(fid), msg, flags);
}

static ssize_t alias_tinject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			     uint64_t tag)
{
	return fi_tinject(self(fid), buf, len, addr, tag);
}

static ssize_t alias_tinjectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
				 fi_addr_t addr, uint64_t tag)
{
	return fi_tinjectdata(self(fid), buf, len, data, addr, tag);
}

static ssize_t alias_trecvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context)
{
	return recv_any(fid,
			&(struct fi_msg_tagged){ iov, desc, count, addr, tag, ignore, context, 0 },
			true);
}

static ssize_t alias_trecv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			   uint64_t tag, uint64_t ignore, void *context)
{
	const struct iovec iov = { buf, len };

	return alias_trecvv(fid, &iov, &desc, 1, addr, tag, ignore, context);
}

static ssize_t alias_trecvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return fi_trecvmsg(self(fid), msg, flags);
}

static const struct fi_ops_tagged tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	OFI_TAGGED_DEFAULTS,
	.recv = alias_trecv,
	.recvv = alias_trecvv,
	.recvmsg = alias_trecvmsg,
	.send = alias_tsend,
	.sendv = alias_tsendv,
	.sendmsg = alias_tsendmsg,
	.inject = alias_tinject,
	.senddata = alias_tsenddata,
	.injectdata = alias_tinjectdata,
};

static ssize_t transfer(struct fid_ep *fid, bool read, const struct iovec *iov, void **desc,
			size_t count, fi_addr_t addr, uint64_t remote, uint64_t key, void *context,
			uint64_t data, uint64_t flags)
{
	struct fi_rma_iov rma_iov = { .addr = remote, .key = key };
	const struct fi_msg_rma msg = { iov, desc, count, addr, &rma_iov, 1, context, data };
	size_t i;

	if (count > OFI_RDM_PROTO_IOV || (count && !iov))
		return -FI_EINVAL;
	for (i = 0; i < count; i++)
		if (__builtin_add_overflow(rma_iov.len, iov[i].iov_len, &rma_iov.len))
			return -FI_EINVAL;
	return ofi_rdm_rma_work(alias(fid)->endpoint, &msg,
				ofi_rdm_alias_tx_flags(fid, COMMON) | flags, read, 0, false);
}

static ssize_t alias_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			   fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return transfer(fid, true, iov, desc, count, addr, remote, key, context, 0, 0);
}

static ssize_t alias_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			  uint64_t remote, uint64_t key, void *context)
{
	const struct iovec iov = { buf, len };

	return alias_readv(fid, &iov, &desc, 1, addr, remote, key, context);
}

static ssize_t alias_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return fi_readmsg(self(fid), msg, flags);
}

static ssize_t alias_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return transfer(fid, false, iov, desc, count, addr, remote, key, context, 0, 0);
}

static ssize_t alias_write(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };

	return alias_writev(fid, &iov, &desc, 1, addr, remote, key, context);
}

static ssize_t alias_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t addr, uint64_t remote, uint64_t key,
			       void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };

	return transfer(fid, false, &iov, &desc, 1, addr, remote, key, context, data,
			FI_REMOTE_CQ_DATA);
}

static ssize_t alias_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return fi_writemsg(self(fid), msg, flags);
}

static ssize_t alias_inject_write(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
				  uint64_t remote, uint64_t key)
{
	return fi_inject_write(self(fid), buf, len, addr, remote, key);
}

static ssize_t alias_inject_writedata(struct fid_ep *fid, const void *buf, size_t len,
				      uint64_t data, fi_addr_t addr, uint64_t remote, uint64_t key)
{
	return fi_inject_writedata(self(fid), buf, len, data, addr, remote, key);
}

static const struct fi_ops_rma rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	OFI_RMA_DEFAULTS,
	.read = alias_read,
	.readv = alias_readv,
	.readmsg = alias_readmsg,
	.write = alias_write,
	.writev = alias_writev,
	.writemsg = alias_writemsg,
	.inject = alias_inject_write,
	.writedata = alias_writedata,
	.injectdata = alias_inject_writedata,
};

/* The alias object. */

static struct ofi_ep_op_flags op_flags_of(struct alias *a)
{
	uint64_t trigger = a->endpoint->info->caps & FI_TRIGGER;

	return (struct ofi_ep_op_flags){ &a->tx_op_flags, &a->rx_op_flags,
					 OFI_RDM_TX_OP_FLAGS | trigger,
					 OFI_RDM_RX_OP_FLAGS | trigger };
}

static int alias_close(struct fid *fid)
{
	struct alias *a = (struct alias *)fid;
	int ret = ofi_rdm_close(a->endpoint);

	if (!ret)
		free(a);
	return ret;
}

static int alias_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	return ofi_rdm_bind(&((struct alias *)fid)->endpoint->fid.fid, bfid, flags);
}

static int alias_control(struct fid *fid, int command, void *arg)
{
	struct alias *a = (struct alias *)fid;
	struct fid *own = &a->endpoint->fid.fid;
	struct ofi_ep_op_flags of = op_flags_of(a);

	switch (command) {
	case FI_ALIAS:
		return ofi_rdm_alias_open(a->endpoint, a->tx_op_flags, a->rx_op_flags, arg);
	case FI_GETOPSFLAG:
		return ofi_ep_get_op_flags(a->endpoint->domain->prov, &of, arg);
	case FI_SETOPSFLAG:
		return ofi_ep_set_op_flags(a->endpoint->domain->prov, &of, arg);
	default:
		return own->ops->control(own, command, arg);
	}
}

static int alias_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops,
			  void *context)
{
	struct fid *own = &((struct alias *)fid)->endpoint->fid.fid;

	return own->ops->ops_open(own, name, flags, ops, context);
}

static const struct fi_ops fid_ops = {
	.size = sizeof(struct fi_ops),
	OFI_FID_DEFAULTS,
	.close = alias_close,
	.bind = alias_bind,
	.control = alias_control,
	.ops_open = alias_ops_open,
};

static ssize_t alias_cancel(struct fid *fid, void *context)
{
	return fi_cancel(&((struct alias *)fid)->endpoint->fid.fid, context);
}

static int alias_getopt(struct fid *fid, int level, int name, void *value, size_t *len)
{
	return fi_getopt(&((struct alias *)fid)->endpoint->fid.fid, level, name, value, len);
}

static int alias_setopt(struct fid *fid, int level, int name, const void *value, size_t len)
{
	return fi_setopt(&((struct alias *)fid)->endpoint->fid.fid, level, name, value, len);
}

static ssize_t alias_tx_size_left(struct fid_ep *fid)
{
	return fi_tx_size_left(self(fid));
}

static ssize_t alias_rx_size_left(struct fid_ep *fid)
{
	return fi_rx_size_left(self(fid));
}

static const struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	OFI_EP_DEFAULTS,
	.cancel = alias_cancel,
	.getopt = alias_getopt,
	.setopt = alias_setopt,
	.rx_size_left = alias_rx_size_left,
	.tx_size_left = alias_tx_size_left,
};

static int alias_getname(struct fid *fid, void *addr, size_t *len)
{
	return fi_getname(&((struct alias *)fid)->endpoint->fid.fid, addr, len);
}

static const struct fi_ops_cm cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	OFI_CM_DEFAULTS,
	.getname = alias_getname,
};

bool ofi_rdm_is_alias(const struct fid *fid)
{
	return fid->ops == &fid_ops;
}

int ofi_rdm_alias_open(struct ofi_rdm_ep *ep, uint64_t tx_op_flags, uint64_t rx_op_flags,
		       const struct fi_alias *arg)
{
	uint64_t caps = ep->info->caps;
	struct ofi_ep_op_flags of;
	struct alias *a;
	int ret;

	if (!arg || !arg->fid)
		return ofi_refuse_null(ep->domain->prov, FI_LOG_EP_CTRL, "fi_ep_alias", "alias_ep");
	a = calloc(1, sizeof(*a));
	if (!a)
		return -FI_ENOMEM;
	a->endpoint = ep;
	a->tx_op_flags = tx_op_flags;
	a->rx_op_flags = rx_op_flags;
	of = op_flags_of(a);
	ret = ofi_ep_set_op_flags(a->endpoint->domain->prov, &of, &arg->flags);
	if (ret) {
		free(a);
		return ret;
	}
	a->fid = (struct fid_ep){
		.fid = { .fclass = FI_CLASS_EP,
			 .context = ep->fid.fid.context,
			 .ops = ofi_ops(&fid_ops) },
		.ops = ofi_ops(&ep_ops),
		.cm = ofi_ops(&cm_ops),
		.msg = caps & FI_MSG ? ofi_ops(&msg_ops) : ofi_ops(&ofi_no_msg_ops),
		.tagged = caps & FI_TAGGED ? ofi_ops(&tagged_ops) : ofi_ops(&ofi_no_tagged_ops),
		.rma = caps & FI_RMA ? ofi_ops(&rma_ops) : ofi_ops(&ofi_no_rma_ops),
		.atomic = caps & FI_ATOMIC ? ofi_ops(&ofi_rdm_alias_atomic_ops)
					   : ofi_ops(&ofi_no_atomic_ops),
		.collective = ofi_ops(&ofi_no_collective_ops),
	};
	ofi_ref_get(&ep->fids);
	*arg->fid = &a->fid.fid;
	return 0;
}
