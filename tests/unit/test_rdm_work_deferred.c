/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Deferred work of reliable datagrams: every kind, its completions, and what is refused. */
#include "rdm_work_rig.h"
#include <string.h>
#include <rdma/fi_errno.h>
#include "capture.h"
#include "prov/base/hmem_copy.h"

static uint64_t words[2] = { 11, 22 }, compared = 33, fetched;
static struct iovec iov, sent = { words, 16 };
static struct fi_rma_iov rma_iov;
static struct fi_rma_ioc rma_ioc;
static struct fi_ioc ioc, compare, result;
static char marker;

/* One of each structure; op_type says which. */
static struct fi_op_msg msg;
static struct fi_op_tagged tagged;
static struct fi_op_rma rma;
static struct fi_op_atomic atomic;
static struct fi_op_fetch_atomic fetch;
static struct fi_op_compare_atomic swap;
static struct fi_deferred_work work;

static int begin(void **state)
{
	struct fi_msg_atomic operation = { &ioc, NULL,	    1,	      7,       &rma_ioc,
					   1,	 FI_UINT64, FI_CSWAP, &marker, 0 };
	struct fid_ep *ep = &work_ep.fid;

	work_begin(state);
	iov = sent;
	rma_iov = (struct fi_rma_iov){ 640, 16, 5 };
	rma_ioc = (struct fi_rma_ioc){ 640, 1, 5 };
	ioc = (struct fi_ioc){ words, 1 };
	compare = (struct fi_ioc){ &compared, 1 };
	result = (struct fi_ioc){ &fetched, 1 };
	msg = (struct fi_op_msg){ ep, { &iov, NULL, 1, 7, &marker, 99 }, 0 };
	tagged = (struct fi_op_tagged){ ep, { &iov, NULL, 1, 7, 0xab, 0xf, &marker, 99 }, 0 };
	rma = (struct fi_op_rma){ ep, { &iov, NULL, 1, 7, &rma_iov, 1, &marker, 99 }, 0 };
	atomic = (struct fi_op_atomic){ ep, operation, 0 };
	fetch = (struct fi_op_fetch_atomic){ ep, operation, { &result, NULL, 1 }, 0 };
	swap = (struct fi_op_compare_atomic){
		ep, operation, { &result, NULL, 1 }, { &compare, NULL, 1 }, 0
	};
	work = (struct fi_deferred_work){ .threshold = 1,
					  .triggering_cntr = &work_when.fid,
					  .completion_cntr = &work_to.fid };
	return 0;
}

static void set_type(enum fi_op_type type)
{
	work.op_type = type;
	if (type <= FI_OP_SEND)
		work.op.msg = &msg;
	else if (type <= FI_OP_TSEND)
		work.op.tagged = &tagged;
	else if (type <= FI_OP_WRITE)
		work.op.rma = &rma;
	else if (type == FI_OP_ATOMIC)
		work.op.atomic = &atomic;
	else if (type == FI_OP_FETCH_ATOMIC)
		work.op.fetch_atomic = &fetch;
	else
		work.op.compare_atomic = &swap;
}

static void set_flags(uint64_t flags)
{
	msg.flags = tagged.flags = rma.flags = flags;
	atomic.flags = fetch.flags = swap.flags = flags;
}

static ssize_t queue(enum fi_op_type type)
{
	set_type(type);
	return ofi_work_control(&work_domain, &ofi_rdm_work_ops, ofi_rdm_work_find, FI_QUEUE_WORK,
				&work);
}

static void *context(void)
{
	if (work_made.type <= FI_OP_TSEND)
		return work_made.msg.context;
	return work_made.type <= FI_OP_WRITE ? work_made.rma.context : work_made.atomic.msg.context;
}

/* As the progress of the endpoint does. */
static void complete(struct ofi_rdm_cq *cq, int err)
{
	struct ofi_cq_item item = { .context = context(),
				    .flags = FI_MSG | FI_SEND | OFI_RDM_DEFERRED,
				    .len = 16,
				    .err = err };

	ofi_rdm_work_done(&work_ep, cq, &item);
}

static void check_message(void)
{
	bool with_tag = work_made.type == FI_OP_TSEND || work_made.type == FI_OP_TRECV;

	assert_int_equal(work_made.msg.addr, 7);
	assert_int_equal(work_made.msg.data, 99);
	assert_int_equal(work_made.msg.tag, with_tag ? 0xab : 0);
	assert_int_equal(work_made.msg.ignore, with_tag ? 0xf : 0);
	assert_ptr_equal(work_made.iov[0].iov_base, words);
}

static void check_operation(void)
{
	bool swaps = work_made.type == FI_OP_COMPARE_ATOMIC;

	assert_ptr_equal(work_made.ioc[0].addr, words);
	assert_int_equal(work_made.rma_ioc[0].key, 5);
	assert_ptr_equal(work_made.compare[0].addr, swaps ? &compared : NULL);
	assert_int_equal(work_made.atomic.compare_count, swaps);
	assert_ptr_equal(work_made.result[0].addr,
			 work_made.type == FI_OP_ATOMIC ? NULL : &fetched);
}

/* Its structures are the work's until then, the arrays in them are not. */
static void every_kind_is_done(void **state)
{
	enum fi_op_type type;

	for (type = FI_OP_RECV; type <= FI_OP_COMPARE_ATOMIC; type++) {
		begin(state);
		set_flags(FI_FENCE);
		assert_int_equal(queue(type), 0);
		memset(&iov, 0xee, sizeof(iov));
		memset(&ioc, 0xee, sizeof(ioc));
		memset(&rma_iov, 0xee, sizeof(rma_iov));
		memset(&rma_ioc, 0xee, sizeof(rma_ioc));
		assert_int_equal(work_calls, 0);
		work_count(1);
		assert_int_equal(work_calls, 1);
		assert_int_equal(work_made.type, type);
		assert_true(work_made.flags == (FI_FENCE | FI_COMPLETION));
		assert_true(work_made.mark == OFI_RDM_DEFERRED);
		if (type <= FI_OP_TSEND)
			check_message();
		else if (type <= FI_OP_WRITE)
			assert_int_equal(work_made.rma_iov[0].addr, 640);
		else
			check_operation();
		assert_int_equal(work_to.value, 0);
		complete(work_ep.tx_cq, 0);
		assert_int_equal(work_to.value, 1);
		assert_int_equal(work_entries, 0);
		assert_int_equal(work_to.ref.children, 0);
	}
}

/* Errors of the counter count towards the threshold of deferred work. */
static void errors_are_counted_too(void **state)
{
	(void)state;
	work.threshold = 3;
	assert_int_equal(queue(FI_OP_SEND), 0);
	ofi_cntr_count_error(&work_when, 2);
	work_count(0);
	assert_int_equal(work_calls, 0);
	work_count(1);
	assert_int_equal(work_calls, 1);
	complete(work_ep.tx_cq, 0);
}

static void an_entry_is_had_for_the_asking(void **state)
{
	(void)state;
	set_flags(FI_COMPLETION);
	assert_int_equal(queue(FI_OP_SEND), 0);
	work_count(1);
	complete(work_ep.tx_cq, 0);
	assert_int_equal(work_entries, 1);
	assert_ptr_equal(work_put_to, work_ep.tx_cq);
	assert_ptr_equal(work_put.context, &marker);
	assert_true(work_put.flags == (FI_MSG | FI_SEND));
	assert_int_equal(work_put.len, 16);
	assert_int_equal(work_to.value, 1);
	/* There is no CQ. */
	assert_int_equal(queue(FI_OP_SEND), 0);
	complete(NULL, 0);
	assert_int_equal(work_entries, 1);
	assert_int_equal(work_to.value, 2);
}

static void an_error_is_always_told(void **state)
{
	(void)state;
	assert_int_equal(queue(FI_OP_WRITE), 0);
	work_count(1);
	complete(work_ep.tx_cq, FI_EKEYREJECTED);
	assert_int_equal(work_entries, 1);
	assert_int_equal(work_put.err, FI_EKEYREJECTED);
	assert_ptr_equal(work_put.context, &marker);
	assert_int_equal(work_to.value, 0);
	assert_int_equal(work_to.errors, 1);
}

static void it_may_count_nowhere(void **state)
{
	(void)state;
	work.completion_cntr = NULL;
	set_flags(FI_COMPLETION);
	assert_int_equal(queue(FI_OP_READ), 0);
	work_count(1);
	complete(work_ep.tx_cq, 0);
	assert_int_equal(work_entries, 1);
	assert_int_equal(queue(FI_OP_READ), 0);
	complete(work_ep.tx_cq, FI_EIO);
	assert_int_equal(work_entries, 2);
	assert_int_equal(work_to.value + work_to.errors, 0);
}

static void injected_bytes_are_copied(void **state)
{
	(void)state;
	set_flags(FI_INJECT);
	assert_int_equal(queue(FI_OP_SEND), 0);
	words[0] = 0;
	work_count(1);
	words[0] = 11;
	assert_memory_equal(work_made.bytes, words, 16);
	complete(work_ep.tx_cq, 0);
}

/* In the queue that an entry of such an operation comes from. */
static void a_late_failure_is_completed(void **state)
{
	enum fi_op_type type;
	bool receives;

	for (type = FI_OP_RECV; type <= FI_OP_COMPARE_ATOMIC; type++) {
		begin(state);
		receives = type == FI_OP_RECV || type == FI_OP_TRECV;
		assert_int_equal(queue(type), 0);
		work_call_ret = -FI_EHOSTUNREACH;
		work_count(1);
		assert_int_equal(work_calls, 1);
		assert_int_equal(work_entries, 1);
		assert_ptr_equal(work_put_to, receives ? work_ep.rx_cq : work_ep.tx_cq);
		assert_int_equal(work_put.err, FI_EHOSTUNREACH);
		assert_ptr_equal(work_put.context, &marker);
		assert_int_equal(work_to.errors, 1);
		assert_int_equal(work_received.errors, 0);
		assert_int_equal(work_completions, 0);
		assert_int_equal(work_to.ref.children, 0);
		assert_true(LIST_EMPTY(&work_ep.deferred.dones));
	}
}

static void it_is_tried_again(void **state)
{
	(void)state;
	assert_int_equal(queue(FI_OP_SEND), 0);
	work_call_ret = -FI_EAGAIN;
	work_count(1);
	assert_int_equal(work_calls, 1);
	assert_true(LIST_EMPTY(&work_ep.deferred.dones)); /* it is the work's again */
	work_call_ret = 0;
	work_count(0);
	assert_int_equal(work_calls, 2);
	assert_false(LIST_EMPTY(&work_ep.deferred.dones));
	complete(work_ep.tx_cq, 0);
	assert_true(LIST_EMPTY(&work_ep.deferred.dones));
}

/* By its name, or with the endpoint; what is under way when that closes is let go of. */
static void it_can_be_cancelled(void **state)
{
	struct ofi_trigger_match other = { .key = &other }, it = { .key = &work };
	struct ofi_trigger_match own = { .owner = &work_ep };

	(void)state;
	assert_int_equal(queue(FI_OP_SEND), 0);
	assert_int_equal(ofi_triggers_cancel(&work_domain.triggers, &other), 0);
	assert_int_equal(work_to.ref.children, 1);
	assert_int_equal(ofi_triggers_cancel(&work_domain.triggers, &it), 1);
	assert_int_equal(work_to.ref.children, 0);
	assert_int_equal(queue(FI_OP_COMPARE_ATOMIC), 0);
	assert_int_equal(ofi_triggers_cancel(&work_domain.triggers, &own), 1);
	work_count(1);
	assert_int_equal(work_calls, 0);
	assert_int_equal(queue(FI_OP_SEND), 0);
	assert_int_equal(queue(FI_OP_WRITE), 0);
	assert_int_equal(work_calls, 2);
	assert_int_equal(work_to.ref.children, 2);
	ofi_rdm_work_fini(&work_ep);
	assert_int_equal(work_to.ref.children, 0);
	assert_int_equal(work_to.value + work_to.errors, 0);
}

/* Its counter would ask an endpoint for progress that cannot make any. */
static void refused_work_is_not_watched(void **state)
{
	(void)state;
	work_ep.enabled = false;
	assert_int_equal(queue(FI_OP_RECV), -FI_EOPBADSTATE);
	work_ep.enabled = true;
	work_check_ret = -FI_EMSGSIZE;
	assert_int_equal(queue(FI_OP_SEND), -FI_EMSGSIZE);
	work_check_ret = 0;
	work_fail_at = 3; /* the copy of the data */
	set_flags(FI_INJECT);
	assert_int_equal(queue(FI_OP_SEND), -FI_ENOMEM);
	work_fail_at = 0;
	assert_int_equal(work_watches, 0);
	assert_int_equal(work_to.ref.children, 0);
	assert_int_equal(queue(FI_OP_SEND), 0);
	assert_int_equal(work_watches, 1);
}

static void the_endpoint_is_checked(void **state)
{
	struct fi_ops of_connections;
	struct fid_ep strange = { .fid = { .fclass = FI_CLASS_EP, .ops = &of_connections } };
	struct ofi_domain other;
	struct fid_ep *ep = &work_ep.fid;

	(void)state;
	assert_int_equal(queue(FI_OP_CNTR_SET), -FI_EINVAL); /* it has no completion */
	assert_int_equal(queue((enum fi_op_type)99), -FI_EOPNOTSUPP);
	msg.ep = NULL;
	assert_int_equal(queue(FI_OP_SEND), -FI_EINVAL);
	msg.ep = (struct fid_ep *)&work_to.fid;
	assert_int_equal(queue(FI_OP_SEND), -FI_EINVAL);
	msg.ep = &strange;
	capture_start();
	assert_int_equal(queue(FI_OP_SEND), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "not an endpoint of the domain"));
	msg.ep = ep;
	work_ep.domain = &other;
	assert_int_equal(queue(FI_OP_SEND), -FI_EINVAL);
	work_ep.domain = &work_domain;
	work_ep.enabled = false;
	assert_int_equal(queue(FI_OP_SEND), -FI_EOPBADSTATE);
	work_ep.enabled = true;
	work_info.caps = FI_MSG;
	capture_start();
	assert_int_equal(queue(FI_OP_SEND), -FI_EOPNOTSUPP);
	assert_non_null(strstr(capture_stop(), "FI_TRIGGER"));
	assert_int_equal(work_checks, 0);
}

/* An alias stands for its endpoint. */
static void an_alias_will_do(void **state)
{
	struct ofi_rdm_fid alias = { .fid.fid.fclass = FI_CLASS_EP, .endpoint = &work_ep };

	(void)state;
	msg.ep = &alias.fid;
	assert_int_equal(queue(FI_OP_SEND), 0);
	work_count(1);
	assert_int_equal(work_calls, 1);
	complete(work_ep.tx_cq, 0);
}

static void the_counter_is_checked(void **state)
{
	struct ofi_domain other;
	struct ofi_cntr foreign = work_to;

	(void)state;
	foreign.parent = &other.ref;
	work.completion_cntr = &foreign.fid;
	assert_int_equal(queue(FI_OP_SEND), -FI_EINVAL);
	work.completion_cntr = (struct fid_cntr *)&work_ep.fid;
	assert_int_equal(queue(FI_OP_SEND), -FI_EINVAL);
	work.completion_cntr = &work_to.fid;
	work_lend_ret = -FI_ENOMEM;
	assert_int_equal(queue(FI_OP_SEND), -FI_ENOMEM);
	assert_int_equal(work_to.ref.children, 0);
	assert_int_equal(work_when.ref.children, 0);
}

static void lists_are_checked(void **state)
{
	(void)state;
	msg.msg.iov_count = WORK_LISTS + 1;
	tagged.msg.msg_iov = NULL;
	rma.msg.rma_iov_count = WORK_LISTS + 1;
	atomic.msg.iov_count = WORK_LISTS + 1;
	fetch.fetch.iov_count = WORK_LISTS + 1;
	swap.compare.iov_count = WORK_LISTS + 1;
	for (work.op_type = FI_OP_RECV; work.op_type <= FI_OP_COMPARE_ATOMIC; work.op_type++)
		assert_int_equal(queue(work.op_type), -FI_EINVAL);
	assert_int_equal(work_checks, 0);
	assert_int_equal(work_to.ref.children, 0);
}

static void what_the_call_would_refuse_is_refused(void **state)
{
	(void)state;
	work_check_ret = -FI_EBADFLAGS;
	assert_int_equal(queue(FI_OP_TSEND), -FI_EBADFLAGS);
	assert_int_equal(queue(FI_OP_ATOMIC), -FI_EBADFLAGS);
	assert_int_equal(work_to.ref.children, 0);
}

/* The work, what becomes of it, the copy of what is injected. */
static void without_memory_nothing_is_queued(void **state)
{
	static const enum fi_op_type types[] = { FI_OP_SEND, FI_OP_WRITE, FI_OP_ATOMIC };
	unsigned int i;
	int at;

	(void)state;
	set_flags(FI_INJECT);
	for (i = 0; i < 3; i++)
		for (at = 1; at <= 3; at++) {
			work_fail_at = at;
			assert_int_equal(queue(types[i]), -FI_ENOMEM);
			assert_int_equal(work_fail_at, 0);
			assert_int_equal(work_to.ref.children, 0);
			assert_int_equal(work_when.ref.children, 0);
		}
}

static int copy_fails(void *to, const void *from, size_t len)
{
	(void)to;
	(void)from;
	(void)len;
	return -FI_EIO;
}

/* Everything is in device memory. */
static const struct ofi_hmem *find_device(const void *addr)
{
	static const struct ofi_hmem broken = { .copy_from = copy_fails };

	(void)addr;
	return &broken;
}

static void what_a_device_does_not_give_is_not_queued(void **state)
{
	enum fi_op_type type;

	(void)state;
	ofi_hmem_finder = find_device;
	work_info.caps |= FI_HMEM;
	set_flags(FI_INJECT);
	for (type = FI_OP_SEND; type <= FI_OP_COMPARE_ATOMIC; type++)
		if (type != FI_OP_TRECV && type != FI_OP_READ)
			assert_int_equal(queue(type), -FI_EIO);
	ofi_hmem_finder = NULL;
	assert_int_equal(work_calls, 0);
	assert_int_equal(work_to.ref.children, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, work_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_kind_is_done),
		TEST(errors_are_counted_too),
		TEST(an_entry_is_had_for_the_asking),
		TEST(an_error_is_always_told),
		TEST(it_may_count_nowhere),
		TEST(injected_bytes_are_copied),
		TEST(a_late_failure_is_completed),
		TEST(it_is_tried_again),
		TEST(it_can_be_cancelled),
		TEST(refused_work_is_not_watched),
		TEST(the_endpoint_is_checked),
		TEST(an_alias_will_do),
		TEST(the_counter_is_checked),
		TEST(lists_are_checked),
		TEST(what_the_call_would_refuse_is_refused),
		TEST(without_memory_nothing_is_queued),
		TEST(what_a_device_does_not_give_is_not_queued),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
