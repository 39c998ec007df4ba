/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Aliases of reliable-datagram endpoints: the flags of a call, what is passed to the endpoint,
 * closing.
 */
#include "unit.h"
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_errno.h>
#include "prov/base/ops.h"
#include "prov/rdm/alias.h"
#include "prov/rdm/atomic.h"
#include "prov/rdm/calls.h"
#include "prov/rdm/ep.h"
#include "prov/rdm/stats.h"
#include "prov/rdm/work.h"

static const struct fi_provider prov = { .name = "test" };
static struct ofi_domain domain = { .prov = &prov };

enum { PASSED_ON = 1000, DONE = 7, PEER = 3, KEY = 9, DATA = 77, TAG = 0xab, IGNORE = 0xf };

#define TX FI_DELIVERY_COMPLETE /* of the alias */

static struct ofi_rdm_ep ep;
static struct fi_info info;
static struct fid_ep *alias;
static char buf[16], context;
static uint64_t words[2];
static int close_ret;
static unsigned int closed;

/* The last call. */
static struct fi_msg_tagged msg;
static struct fi_msg_rma rma;
static struct ofi_atomic_args atomic;
static struct iovec iov;
static struct fi_rma_iov rma_iov;
static struct fi_rma_ioc rma_ioc;
static uint64_t flags;
static bool tagged, read_not_write;
static enum fi_op_type type;

ssize_t ofi_rdm_send_work(struct ofi_rdm_ep *on, const struct fi_msg_tagged *with,
			  uint64_t its_flags, bool is_tagged, uint64_t mark, bool check)
{
	assert_ptr_equal(on, &ep);
	assert_true(!mark && !check);
	msg = *with;
	iov = *msg.msg_iov;
	flags = its_flags;
	tagged = is_tagged;
	return DONE;
}

ssize_t ofi_rdm_recv_work(struct ofi_rdm_ep *on, const struct fi_msg_tagged *with,
			  uint64_t its_flags, bool is_tagged, uint64_t mark, bool check)
{
	return ofi_rdm_send_work(on, with, its_flags, is_tagged, mark, check);
}

ssize_t ofi_rdm_rma_work(struct ofi_rdm_ep *on, const struct fi_msg_rma *with, uint64_t its_flags,
			 bool read, uint64_t mark, bool check)
{
	assert_ptr_equal(on, &ep);
	assert_true(!mark && !check);
	rma = *with;
	if (rma.iov_count)
		iov = *rma.msg_iov;
	assert_int_equal(rma.rma_iov_count, 1);
	rma_iov = *rma.rma_iov;
	flags = its_flags;
	read_not_write = read;
	return DONE;
}

ssize_t ofi_rdm_atomic_work(struct ofi_rdm_ep *on, enum fi_op_type its_type,
			    const struct ofi_atomic_args *args, uint64_t its_flags, uint64_t mark,
			    bool check)
{
	assert_ptr_equal(on, &ep);
	assert_true(!mark && !check);
	atomic = *args;
	assert_int_equal(args->msg.rma_iov_count, 1);
	rma_ioc = *args->msg.rma_iov;
	flags = its_flags;
	type = its_type;
	return DONE;
}

int ofi_rdm_close(struct ofi_rdm_ep *which)
{
	assert_ptr_equal(which, &ep);
	closed++;
	return close_ret;
}

int ofi_rdm_bind(struct fid *fid, struct fid *bfid, uint64_t its_flags)
{
	assert_ptr_equal(ofi_rdm_self((struct fid_ep *)fid), &ep);
	assert_ptr_equal(bfid, &context);
	return (int)its_flags;
}

int ofi_rdm_stats_open_ops(struct fid *fid, const char *name, uint64_t its_flags, void **ops,
			   void *arg)
{
	assert_ptr_equal(ofi_rdm_self((struct fid_ep *)fid), &ep);
	assert_string_equal(name, "stats");
	assert_ptr_equal(arg, &context);
	*ops = buf;
	return (int)its_flags;
}

/* The endpoint's own calls. */

static int own_control(struct fid *fid, int command, void *arg)
{
	assert_ptr_equal(fid, &ep.fid.fid);
	assert_ptr_equal(arg, &context);
	return PASSED_ON + command;
}

static ssize_t own_cancel(struct fid *fid, void *arg)
{
	assert_ptr_equal(ofi_rdm_self((struct fid_ep *)fid), &ep);
	return arg == &context ? PASSED_ON : 0;
}

static int own_getopt(struct fid *fid, int level, int name, void *value, size_t *len)
{
	assert_ptr_equal(ofi_rdm_self((struct fid_ep *)fid), &ep);
	assert_true(value == buf && *len == 4);
	return PASSED_ON + level + name;
}

static int own_setopt(struct fid *fid, int level, int name, const void *value, size_t len)
{
	return own_getopt(fid, level, name, (void *)(uintptr_t)value, &len);
}

static int own_getname(struct fid *fid, void *addr, size_t *len)
{
	return own_getopt(fid, 0, 0, addr, len);
}

ssize_t ofi_rdm_recv_probe(struct ofi_rdm_ep *on, const struct fi_msg_tagged *with,
			   uint64_t its_flags)
{
	assert_ptr_equal(on, &ep);
	assert_ptr_equal(with, &msg);
	return (ssize_t)its_flags;
}

size_t ofi_rdm_atomic_count(size_t payload, enum fi_datatype datatype, enum fi_op op)
{
	assert_int_equal(payload, PASSED_ON);
	assert_true(datatype == FI_UINT64);
	return op == FI_SUM || op == FI_CSWAP ? 5 : 0;
}

static struct fi_ops own_fid = { .control = own_control };
static struct fi_ops_ep own_ep = { .cancel = own_cancel,
				   .getopt = own_getopt,
				   .setopt = own_setopt };
static struct fi_ops_cm own_cm = { .getname = own_getname };
static struct fid_ep *open_alias(uint64_t its_flags)
{
	struct fid *fid = NULL;
	struct fi_alias arg = { &fid, its_flags };

	assert_int_equal(ofi_rdm_alias_open(&ep, FI_INJECT_COMPLETE, FI_COMPLETION, &arg), 0);
	return (struct fid_ep *)fid;
}

static int begin(void **state)
{
	(void)state;
	memset(&ep, 0, sizeof(ep));
	info.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	ep.endpoint = &ep;
	ep.info = &info;
	ep.domain = &domain;
	ep.fid = (struct fid_ep){ .fid = { FI_CLASS_EP, &words, &own_fid },
				  .ops = &own_ep,
				  .cm = &own_cm };
	ep.proto.eager = PASSED_ON;
	ep.tx_selective = ep.rx_selective = true;
	ep.tx_op_flags = FI_TRANSMIT_COMPLETE;
	close_ret = 0;
	closed = 0;
	alias = open_alias(FI_TRANSMIT | TX);
	return 0;
}

static int end(void **state)
{
	(void)state;
	return fi_close(&alias->fid);
}

static void check_msg(ssize_t ret, uint64_t its_flags, bool is_tagged)
{
	assert_int_equal(ret, DONE);
	assert_true(flags == its_flags);
	assert_int_equal(tagged, is_tagged);
	assert_int_equal(msg.iov_count, 1);
	assert_ptr_equal(iov.iov_base, buf);
	assert_int_equal(iov.iov_len, 4);
	assert_int_equal(msg.addr, PEER);
	assert_ptr_equal(msg.context, &context);
	assert_int_equal(msg.tag, is_tagged ? TAG : 0);
	assert_int_equal(msg.data, its_flags & FI_REMOTE_CQ_DATA ? DATA : 0);
}

static void messages_have_its_flags(void **state)
{
	const struct iovec one = { buf, 4 };

	(void)state;
	check_msg(fi_send(alias, buf, 4, NULL, PEER, &context), TX, false);
	check_msg(fi_sendv(alias, &one, NULL, 1, PEER, &context), TX, false);
	check_msg(fi_senddata(alias, buf, 4, NULL, DATA, PEER, &context), TX | FI_REMOTE_CQ_DATA,
		  false);
	check_msg(fi_tsend(alias, buf, 4, NULL, PEER, TAG, &context), TX, true);
	check_msg(fi_tsendv(alias, &one, NULL, 1, PEER, TAG, &context), TX, true);
	check_msg(fi_tsenddata(alias, buf, 4, NULL, DATA, PEER, TAG, &context),
		  TX | FI_REMOTE_CQ_DATA, true);
	ep.tx_selective = false;
	check_msg(fi_send(alias, buf, 4, NULL, PEER, &context), TX | FI_COMPLETION, false);
}

static void receives_have_its_flags(void **state)
{
	const struct iovec one = { buf, 4 };
	struct fid_ep *multi = open_alias(FI_RECV | FI_MULTI_RECV);

	(void)state;
	check_msg(fi_recv(alias, buf, 4, NULL, PEER, &context), FI_COMPLETION, false);
	check_msg(fi_recv(multi, buf, 4, NULL, PEER, &context), FI_MULTI_RECV, false);
	check_msg(fi_recvv(multi, &one, NULL, 1, PEER, &context), FI_MULTI_RECV, false);
	/* A tagged receive is of one message. */
	check_msg(fi_trecv(multi, buf, 4, NULL, PEER, TAG, IGNORE, &context), 0, true);
	assert_int_equal(msg.ignore, IGNORE);
	ep.rx_selective = false;
	check_msg(fi_trecvv(multi, &one, NULL, 1, PEER, TAG, IGNORE, &context), FI_COMPLETION,
		  true);
	assert_int_equal(fi_close(&multi->fid), 0);
}

static void check_rma(ssize_t ret, bool read, uint64_t its_flags, size_t len)
{
	assert_int_equal(ret, DONE);
	assert_int_equal(read_not_write, read);
	assert_true(flags == its_flags);
	assert_ptr_equal(iov.iov_base, buf);
	assert_int_equal(rma.addr, PEER);
	assert_int_equal(rma_iov.addr, 640);
	assert_int_equal(rma_iov.len, len);
	assert_int_equal(rma_iov.key, KEY);
	assert_ptr_equal(rma.context, &context);
	assert_int_equal(rma.data, its_flags & FI_REMOTE_CQ_DATA ? DATA : 0);
}

static void transfers_have_its_flags(void **state)
{
	struct iovec two[] = { { buf, 4 }, { buf + 4, 6 } };

	(void)state;
	check_rma(fi_read(alias, buf, 4, NULL, PEER, 640, KEY, &context), true, TX, 4);
	check_rma(fi_readv(alias, two, NULL, 2, PEER, 640, KEY, &context), true, TX, 10);
	check_rma(fi_write(alias, buf, 4, NULL, PEER, 640, KEY, &context), false, TX, 4);
	check_rma(fi_writev(alias, two, NULL, 2, PEER, 640, KEY, &context), false, TX, 10);
	check_rma(fi_writedata(alias, buf, 4, NULL, DATA, PEER, 640, KEY, &context), false,
		  TX | FI_REMOTE_CQ_DATA, 4);
	/* They are added up before anybody else looks at them. */
	assert_int_equal(fi_readv(alias, two, NULL, OFI_RDM_PROTO_IOV + 1, PEER, 640, KEY, NULL),
			 -FI_EINVAL);
	assert_int_equal(fi_writev(alias, NULL, NULL, 1, PEER, 640, KEY, NULL), -FI_EINVAL);
	two[1].iov_len = SIZE_MAX;
	assert_int_equal(fi_writev(alias, two, NULL, 2, PEER, 640, KEY, NULL), -FI_EINVAL);
}

static void check_atomic(ssize_t ret, enum fi_op_type its_type)
{
	assert_int_equal(ret, DONE);
	assert_int_equal(type, its_type);
	assert_true(flags == TX);
	assert_int_equal(rma_ioc.addr, 640);
	assert_int_equal(rma_ioc.count, 2);
	assert_int_equal(rma_ioc.key, KEY);
	assert_int_equal(atomic.msg.addr, PEER);
	assert_int_equal(atomic.msg.op, FI_SUM);
	assert_int_equal(atomic.msg.datatype, FI_UINT64);
	assert_ptr_equal(atomic.msg.context, &context);
	assert_int_equal(atomic.result_count, its_type != FI_OP_ATOMIC);
	assert_int_equal(atomic.compare_count, its_type == FI_OP_COMPARE_ATOMIC);
}

static void atomics_have_its_flags(void **state)
{
	struct fi_ioc both = { words, 2 };
	void *one = &words[0];

	(void)state;
	check_atomic(fi_atomic(alias, words, 2, NULL, PEER, 640, KEY, FI_UINT64, FI_SUM, &context),
		     FI_OP_ATOMIC);
	check_atomic(fi_fetch_atomic(alias, NULL, 2, NULL, one, NULL, PEER, 640, KEY, FI_UINT64,
				     FI_SUM, &context),
		     FI_OP_FETCH_ATOMIC);
	check_atomic(fi_compare_atomic(alias, words, 2, NULL, one, NULL, one, NULL, PEER, 640, KEY,
				       FI_UINT64, FI_SUM, &context),
		     FI_OP_COMPARE_ATOMIC);
	/* The region is as large as what is fetched, where there are no operands. */
	check_atomic(fi_fetch_atomicv(alias, NULL, NULL, 0, &both, NULL, 1, PEER, 640, KEY,
				      FI_UINT64, FI_SUM, &context),
		     FI_OP_FETCH_ATOMIC);
	assert_int_equal(fi_fetch_atomicv(alias, NULL, NULL, 0, NULL, NULL, 1, PEER, 640, KEY,
					  FI_UINT64, FI_SUM, NULL),
			 -FI_EINVAL);
	assert_int_equal(fi_compare_atomicv(alias, NULL, NULL, 0, NULL, NULL, 0, NULL, NULL, 1,
					    PEER, 640, KEY, FI_UINT64, FI_SUM, NULL),
			 -FI_EINVAL);
}

/* Of the calls that have flags. */
static void flags_of_a_call_are_the_calls(void **state)
{
	struct iovec one = { buf, 4 };
	struct fi_rma_iov remote = { 640, 4, KEY };
	struct fi_rma_ioc two = { 640, 2, KEY };
	struct fi_msg_rma transfer = { &one, NULL, 1, PEER, &remote, 1, &context, 0 };
	struct fi_msg_atomic operation = { NULL, NULL,	    0,	    PEER,     &two,
					   1,	 FI_UINT64, FI_SUM, &context, 0 };
	struct fi_msg untagged = { &one, NULL, 1, PEER, &context, 0 };
	struct fi_msg_tagged with_tag = { &one, NULL, 1, PEER, TAG, 0, &context, 0 };

	(void)state;
	check_msg(fi_sendmsg(alias, &untagged, FI_FENCE), FI_FENCE, false);
	check_msg(fi_recvmsg(alias, &untagged, FI_MULTI_RECV), FI_MULTI_RECV, false);
	check_msg(fi_tsendmsg(alias, &with_tag, FI_MORE), FI_MORE, true);
	check_msg(fi_trecvmsg(alias, &with_tag, FI_COMPLETION), FI_COMPLETION, true);
	assert_int_equal(fi_trecvmsg(alias, &msg, FI_PEEK), FI_PEEK);
	check_rma(fi_readmsg(alias, &transfer, FI_FENCE), true, FI_FENCE, 4);
	check_rma(fi_writemsg(alias, &transfer, FI_MORE), false, FI_MORE, 4);
	check_atomic(fi_atomicmsg(alias, &operation, TX), FI_OP_ATOMIC);
	ep.tx_selective = ep.rx_selective = false;
	check_msg(fi_sendmsg(alias, &untagged, 0), FI_COMPLETION, false);
	check_msg(fi_recvmsg(alias, &untagged, 0), FI_COMPLETION, false);
	assert_int_equal(fi_sendmsg(alias, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_recvmsg(alias, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_tsendmsg(alias, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_trecvmsg(alias, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_readmsg(alias, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_atomicmsg(alias, NULL, 0), -FI_EINVAL);
}

static void check_inject(ssize_t ret, uint64_t its_flags, bool is_tagged)
{
	assert_ptr_equal(msg.context, NULL);
	msg.context = &context;
	check_msg(ret, its_flags, is_tagged);
}

/* None of the alias's flags, and no completion. */
static void injected_is_injected(void **state)
{
	(void)state;
	check_inject(fi_inject(alias, buf, 4, PEER), FI_INJECT, false);
	check_inject(fi_injectdata(alias, buf, 4, DATA, PEER), FI_INJECT | FI_REMOTE_CQ_DATA,
		     false);
	check_inject(fi_tinject(alias, buf, 4, PEER, TAG), FI_INJECT, true);
	check_inject(fi_tinjectdata(alias, buf, 4, DATA, PEER, TAG), FI_INJECT | FI_REMOTE_CQ_DATA,
		     true);
	assert_int_equal(fi_inject_write(alias, buf, 4, PEER, 640, KEY), DONE);
	assert_true(flags == FI_INJECT && !read_not_write && !rma.context);
	assert_int_equal(fi_inject_writedata(alias, buf, 4, DATA, PEER, 640, KEY), DONE);
	assert_true(flags == (FI_INJECT | FI_REMOTE_CQ_DATA) && rma.data == DATA);
	assert_int_equal(fi_inject_atomic(alias, words, 2, PEER, 640, KEY, FI_UINT64, FI_SUM),
			 DONE);
	assert_true(flags == FI_INJECT && type == FI_OP_ATOMIC && rma_ioc.count == 2);
}

static void the_rest_is_the_endpoints(void **state)
{
	size_t n = 4;
	void *ops;

	(void)state;
	assert_int_equal(fi_atomicvalid(alias, FI_UINT64, FI_SUM, &n), 0);
	assert_int_equal(n, 5);
	assert_int_equal(fi_fetch_atomicvalid(alias, FI_UINT64, FI_SUM, &n), 0);
	assert_int_equal(fi_compare_atomicvalid(alias, FI_UINT64, FI_CSWAP, &n), 0);
	assert_int_equal(fi_atomicvalid(alias, FI_UINT64, FI_CSWAP, &n), -FI_EOPNOTSUPP);
	assert_int_equal(fi_compare_atomicvalid(alias, FI_UINT64, FI_SUM, &n), -FI_EOPNOTSUPP);
	assert_int_equal(fi_fetch_atomicvalid(alias, FI_UINT64, FI_SUM, NULL), -FI_EINVAL);
	n = 4;
	assert_int_equal(fi_cancel(&alias->fid, &context), PASSED_ON);
	assert_int_equal(fi_getopt(&alias->fid, 1, 2, buf, &n), PASSED_ON + 3);
	assert_int_equal(fi_setopt(&alias->fid, 2, 2, buf, n), PASSED_ON + 4);
	assert_int_equal(fi_getname(&alias->fid, buf, &n), PASSED_ON);
	assert_int_equal(alias->fid.ops->bind(&alias->fid, (struct fid *)&context, 21), 21);
	assert_int_equal(fi_control(&alias->fid, FI_ENABLE, &context), PASSED_ON + FI_ENABLE);
	assert_int_equal(fi_open_ops(&alias->fid, "stats", 22, &ops, &context), 22);
	assert_ptr_equal(ops, buf);
}

static uint64_t flags_of(struct fid_ep *fid, uint64_t which)
{
	assert_int_equal(fi_control(&fid->fid, FI_GETOPSFLAG, &which), 0);
	return which;
}

static int set_flags(struct fid_ep *fid, uint64_t to)
{
	return fi_control(&fid->fid, FI_SETOPSFLAG, &to);
}

/* Of which an alias of it has a copy. */
static void its_flags_are_its_own(void **state)
{
	struct fid *fid = NULL;
	struct fi_alias arg = { &fid, FI_RECV };
	const struct iovec one = { buf, 4 };
	struct fid_ep *second;

	(void)state;
	assert_true(flags_of(alias, FI_TRANSMIT) == TX);
	assert_true(flags_of(alias, FI_RECV) == FI_COMPLETION);
	assert_int_equal(set_flags(alias, FI_TRANSMIT | FI_FENCE | FI_INJECT), 0);
	assert_true(ep.tx_op_flags == FI_TRANSMIT_COMPLETE);
	assert_int_equal(fi_control(&alias->fid, FI_ALIAS, &arg), 0);
	second = (struct fid_ep *)fid;
	assert_true(flags_of(second, FI_TRANSMIT) == (FI_FENCE | FI_INJECT));
	assert_true(flags_of(second, FI_RECV) == 0);
	assert_int_equal(set_flags(second, FI_RECV | FI_MULTI_RECV), 0);
	assert_true(flags_of(alias, FI_RECV) == FI_COMPLETION);
	/* A read has no buffer that FI_INJECT could return at once. */
	assert_int_equal(fi_read(second, buf, 4, NULL, PEER, 640, KEY, NULL), DONE);
	assert_true(flags == FI_FENCE);
	assert_int_equal(fi_readv(second, &one, NULL, 1, PEER, 640, KEY, NULL), DONE);
	assert_true(flags == FI_FENCE);
	assert_int_equal(fi_write(second, buf, 4, NULL, PEER, 640, KEY, NULL), DONE);
	assert_true(flags == (FI_FENCE | FI_INJECT));
	assert_int_equal(fi_writev(second, &one, NULL, 1, PEER, 640, KEY, NULL), DONE);
	assert_true(flags == (FI_FENCE | FI_INJECT));
	assert_int_equal(fi_writedata(second, buf, 4, NULL, DATA, PEER, 640, KEY, NULL), DONE);
	assert_true(flags == (FI_FENCE | FI_INJECT | FI_REMOTE_CQ_DATA));
	assert_int_equal(fi_atomic(second, words, 2, NULL, PEER, 640, KEY, FI_UINT64, FI_SUM, NULL),
			 DONE);
	assert_true(flags == (FI_FENCE | FI_INJECT));
	assert_int_equal(fi_send(second, buf, 4, NULL, PEER, NULL), DONE);
	assert_true(flags == (FI_FENCE | FI_INJECT));
	assert_int_equal(fi_close(fid), 0);
}

static void wrong_flags_are_refused(void **state)
{
	struct fid *fid = NULL;
	struct fi_alias arg = { &fid, 0 };

	(void)state;
	assert_int_equal(set_flags(alias, FI_INJECT), -FI_EINVAL);
	assert_int_equal(set_flags(alias, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	assert_int_equal(set_flags(alias, FI_TRANSMIT | FI_MULTI_RECV), -FI_EBADFLAGS);
	assert_int_equal(set_flags(alias, FI_RECV | FI_INJECT), -FI_EBADFLAGS);
	assert_int_equal(set_flags(alias, FI_RECV | FI_TRANSMIT_COMPLETE), 0);
	assert_int_equal(fi_control(&alias->fid, FI_SETOPSFLAG, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(&alias->fid, FI_GETOPSFLAG, NULL), -FI_EINVAL);
	assert_true(flags_of(alias, FI_TRANSMIT) == TX);
	assert_int_equal(ofi_rdm_alias_open(&ep, 0, 0, &arg), -FI_EINVAL);
	arg.flags = FI_RECV | FI_FENCE;
	assert_int_equal(ofi_rdm_alias_open(&ep, 0, 0, &arg), -FI_EBADFLAGS);
	assert_int_equal(ofi_rdm_alias_open(&ep, 0, 0, NULL), -FI_EINVAL);
	arg.fid = NULL;
	assert_int_equal(ofi_rdm_alias_open(&ep, 0, 0, &arg), -FI_EINVAL);
	assert_null(fid);
	assert_int_equal(ep.fids.children, 1);
}

/* It stays where the endpoint would have to go and can't. */
static void it_keeps_the_endpoint(void **state)
{
	struct fid_ep *second = open_alias(FI_TRANSMIT);

	(void)state;
	assert_int_equal(ep.fids.children, 2);
	assert_int_equal(fi_close(&second->fid), 0);
	assert_int_equal(closed, 1);
	close_ret = -FI_EBUSY;
	assert_int_equal(fi_close(&alias->fid), -FI_EBUSY);
	close_ret = 0;
	assert_int_equal(fi_send(alias, buf, 4, NULL, PEER, &context), DONE);
	assert_int_equal(closed, 2);
}

static void it_can_what_the_endpoint_can(void **state)
{
	struct fid_ep *bare;

	(void)state;
	assert_int_equal(alias->fid.fclass, FI_CLASS_EP);
	assert_ptr_equal(alias->ops, ep.fid.ops); /* by which deferred work knows it */
	assert_ptr_equal(alias->fid.context, &words);
	assert_int_equal(fi_barrier(alias, 0, NULL), -FI_ENOSYS);
	info.caps = 0;
	bare = open_alias(FI_TRANSMIT);
	assert_int_equal(fi_send(bare, buf, 4, NULL, PEER, NULL), -FI_ENOSYS);
	assert_int_equal(fi_tsend(bare, buf, 4, NULL, PEER, TAG, NULL), -FI_ENOSYS);
	assert_int_equal(fi_read(bare, buf, 4, NULL, PEER, 640, KEY, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_atomic(bare, words, 2, NULL, PEER, 640, KEY, FI_UINT64, FI_SUM, &context),
		-FI_ENOSYS);
	assert_int_equal(fi_close(&bare->fid), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(messages_have_its_flags),	     TEST(receives_have_its_flags),
		TEST(transfers_have_its_flags),	     TEST(atomics_have_its_flags),
		TEST(flags_of_a_call_are_the_calls), TEST(injected_is_injected),
		TEST(the_rest_is_the_endpoints),     TEST(its_flags_are_its_own),
		TEST(wrong_flags_are_refused),	     TEST(it_keeps_the_endpoint),
		TEST(it_can_what_the_endpoint_can),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
