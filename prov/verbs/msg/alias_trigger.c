/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of an alias whose default flags include FI_TRIGGER. A call without flags becomes the
 * endpoint's call with flags, so that the fast path need not look for FI_TRIGGER.
 */
#include "alias_trigger.h"
#include "prov/verbs/queue/post.h"

ssize_t vrb_call_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest,
		      void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };

	return fid->msg->sendv(fid, &iov, &desc, 1, dest, context);
}

ssize_t vrb_call_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			  uint64_t data, fi_addr_t dest, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg msg = vrb_msg_of_iov(&iov, &desc, 1, dest, context);

	msg.data = data;
	return fid->msg->sendmsg(fid, &msg, vrb_ep(fid)->tx_op_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t alias_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			  void *context)
{
	const struct iovec iov = { buf, len };

	return fid->msg->recvv(fid, &iov, &desc, 1, src, context);
}

static ssize_t alias_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			  uint64_t addr, uint64_t key, void *context)
{
	const struct iovec iov = { buf, len };

	return fid->rma->readv(fid, &iov, &desc, 1, src, addr, key, context);
}

ssize_t vrb_call_write(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest,
		       uint64_t addr, uint64_t key, void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };

	return fid->rma->writev(fid, &iov, &desc, 1, dest, addr, key, context);
}

ssize_t vrb_call_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
			   void *context)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	const struct fi_rma_iov to = { addr, len, key };
	const struct fi_msg_rma msg = { &iov, &desc, 1, dest, &to, 1, context, data };

	return fid->rma->writemsg(fid, &msg, vrb_ep(fid)->tx_op_flags | FI_REMOTE_CQ_DATA);
}

/*
 * Atomics have a single element; the endpoint's call checks the count. The calls with vectors come
 * here through the fid's table.
 */
ssize_t vrb_call_atomic_write(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			      fi_addr_t dest, uint64_t addr, uint64_t key,
			      enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	const struct fi_rma_ioc to = { addr, count, key };
	const struct fi_msg_atomic msg = { &ioc, &desc, 1, dest, &to, 1, datatype, op, context, 0 };

	return fid->atomic->writemsg(fid, &msg, vrb_ep(fid)->tx_op_flags);
}

ssize_t vrb_call_fetch(struct fid_ep *fid, const void *buf, size_t count, void *desc, void *result,
		       void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key,
		       enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	const struct fi_rma_ioc from = { addr, count, key };
	const struct fi_msg_atomic msg = {
		&ioc, &desc, 1, dest, &from, 1, datatype, op, context, 0
	};
	struct fi_ioc to = { result, count };

	return fid->atomic->readwritemsg(fid, &msg, &to, &result_desc, 1, vrb_ep(fid)->tx_op_flags);
}

ssize_t vrb_call_compare(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			 const void *compare, void *compare_desc, void *result, void *result_desc,
			 fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
			 enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	const struct fi_ioc with = { (void *)(uintptr_t)compare, count };
	const struct fi_rma_ioc from = { addr, count, key };
	const struct fi_msg_atomic msg = {
		&ioc, &desc, 1, dest, &from, 1, datatype, op, context, 0
	};
	struct fi_ioc to = { result, count };

	return fid->atomic->compwritemsg(fid, &msg, &with, &compare_desc, 1, &to, &result_desc, 1,
					 vrb_ep(fid)->tx_op_flags);
}

static void set_triggering(struct vrb_msg_alias *alias)
{
	const struct fid_ep *self = &alias->ep.self->fid;

	alias->msg = *self->msg;
	alias->msg.send = vrb_call_send;
	alias->msg.senddata = vrb_call_senddata;
	alias->msg.recv = alias_recv;
	alias->rma = *self->rma;
	alias->rma.read = alias_read;
	alias->rma.write = vrb_call_write;
	alias->rma.writedata = vrb_call_writedata;
	alias->atomic = *self->atomic;
	alias->atomic.write = vrb_call_atomic_write;
	alias->atomic.readwrite = vrb_call_fetch;
	alias->atomic.compwrite = vrb_call_compare;
	alias->ep.fid.msg = &alias->msg;
	alias->ep.fid.rma = &alias->rma;
	alias->ep.fid.atomic = &alias->atomic;
}

void vrb_alias_set_tables(struct vrb_ep *alias)
{
	const struct fid_ep *self = &alias->self->fid;

	if ((alias->tx_op_flags | alias->rx_op_flags) & FI_TRIGGER) {
		set_triggering((struct vrb_msg_alias *)alias);
		return;
	}
	alias->fid.msg = self->msg;
	alias->fid.rma = self->rma;
	alias->fid.atomic = self->atomic;
}
