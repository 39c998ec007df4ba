/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Triggered operations of reliable datagrams: what is stored of a call, when it is made, and what
 * is refused.
 */
#include "rdm_work_rig.h"
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/base/desc.h"

static struct fi_triggered_context contexts[3];
static uint64_t words[4] = { 11, 22, 33, 44 }, results[2];
static struct iovec iov[WORK_LISTS + 1];
static void *desc[WORK_LISTS + 1];
static struct fi_rma_iov rma_iov[WORK_LISTS + 1];
static struct fi_rma_ioc rma_ioc[WORK_LISTS + 1];
static struct fi_ioc ioc[WORK_LISTS + 1], compare[WORK_LISTS + 1], result[WORK_LISTS + 1];

static int begin(void **state)
{
	uint64_t i;

	work_begin(state);
	for (i = 0; i < 3; i++)
		contexts[i] = (struct fi_triggered_context){
			.event_type = FI_TRIGGER_THRESHOLD,
			.trigger.threshold = { &work_when.fid, i + 1 },
		};
	for (i = 0; i < 2; i++) {
		iov[i] = (struct iovec){ &words[i], 8 };
		desc[i] = &words[i + 2];
		rma_iov[i] = (struct fi_rma_iov){ 640 + i, 8, 5 + i };
		rma_ioc[i] = (struct fi_rma_ioc){ 640 + i, 1, 5 + i };
		ioc[i] = (struct fi_ioc){ &words[i], 1 };
		compare[i] = (struct fi_ioc){ &words[i + 2], 1 };
		result[i] = (struct fi_ioc){ &results[i], 1 };
	}
	return 0;
}

static struct fi_msg_tagged message(int i)
{
	return (struct fi_msg_tagged){ iov, desc, 2, 7, 0xab, 0xf, &contexts[i], 99 };
}

static struct fi_msg_rma transfer(int i)
{
	return (struct fi_msg_rma){ iov, desc, 2, 7, rma_iov, 2, &contexts[i], 99 };
}

static struct ofi_atomic_args operation(int i)
{
	return (struct ofi_atomic_args){
		.msg = { ioc, desc, 2, 7, rma_ioc, 2, FI_UINT64, FI_CSWAP, &contexts[i], 99 },
		.compare = compare,
		.compare_count = 2,
		.result = result,
		.result_count = 2,
	};
}

/* What the caller has back when its call returns. */
static void reuse_arrays(void)
{
	memset(iov, 0xee, sizeof(iov));
	memset(desc, 0xee, sizeof(desc));
	memset(rma_iov, 0xee, sizeof(rma_iov));
	memset(rma_ioc, 0xee, sizeof(rma_ioc));
	memset(ioc, 0xee, sizeof(ioc));
	memset(compare, 0xee, sizeof(compare));
	memset(result, 0xee, sizeof(result));
}

static ssize_t trigger_msg(enum fi_op_type type, const struct fi_msg_tagged *msg, uint64_t flags)
{
	return ofi_rdm_trigger(&work_ep, &(struct ofi_call){ type, flags, .msg = *msg });
}

static ssize_t trigger_rma(enum fi_op_type type, const struct fi_msg_rma *msg, uint64_t flags)
{
	return ofi_rdm_trigger(&work_ep, &(struct ofi_call){ type, flags, .rma = *msg });
}

static ssize_t trigger_atomic(enum fi_op_type type, const struct ofi_atomic_args *args,
			      uint64_t flags)
{
	return ofi_rdm_trigger(&work_ep, &(struct ofi_call){ type, flags, .atomic = *args });
}

static ssize_t post(int i, uint64_t flags)
{
	struct fi_msg_tagged msg = message(i);

	return trigger_msg(FI_OP_SEND, &msg, flags);
}

static void thresholds_are_waited_for(void **state)
{
	(void)state;
	assert_int_equal(post(2, FI_TRIGGER), 0);
	assert_int_equal(post(0, FI_TRIGGER), 0);
	assert_int_equal(post(1, FI_TRIGGER), 0);
	assert_int_equal(work_checks, 3);
	work_count(0);
	assert_int_equal(work_calls, 0);
	work_count(1);
	assert_int_equal(work_calls, 1);
	assert_ptr_equal(work_made.msg.context, &contexts[0]);
	/* Errors are nothing that triggered operations wait for. */
	ofi_cntr_count_error(&work_when, 5);
	work_count(0);
	assert_int_equal(work_calls, 1);
	work_count(1);
	assert_ptr_equal(work_made.msg.context, &contexts[1]);
	work_count(7);
	assert_int_equal(work_calls, 3);
	assert_ptr_equal(work_made.msg.context, &contexts[2]);
	/* It is there already. */
	assert_int_equal(post(1, FI_TRIGGER), 0);
	assert_int_equal(work_calls, 4);
	assert_int_equal(work_when.ref.children, 0);
}

static void messages_are_kept(void **state)
{
	static const enum fi_op_type types[] = { FI_OP_SEND, FI_OP_RECV, FI_OP_TSEND, FI_OP_TRECV };
	struct fi_msg_tagged msg = message(0);
	int i;

	for (i = 0; i < 4; i++) {
		begin(state);
		work_info.caps |= FI_HMEM;
		assert_int_equal(trigger_msg(types[i], &msg, FI_TRIGGER | FI_MORE | FI_COMPLETION),
				 0);
		reuse_arrays();
		work_count(1);
		assert_int_equal(work_calls, 1);
		assert_int_equal(work_made.type, types[i]);
		assert_true(work_made.flags == FI_COMPLETION);
		assert_int_equal(work_made.mark, 0);
		assert_int_equal(work_made.msg.iov_count, 2);
		assert_ptr_equal(work_made.iov[1].iov_base, &words[1]);
		assert_ptr_equal(work_made.desc[1], &words[3]);
		assert_int_equal(work_made.msg.addr, 7);
		assert_int_equal(work_made.msg.tag, 0xab);
		assert_int_equal(work_made.msg.ignore, 0xf);
		assert_int_equal(work_made.msg.data, 99);
		assert_ptr_equal(work_made.msg.context, &contexts[0]);
	}
}

static void a_message_may_be_empty(void **state)
{
	struct fi_msg_tagged msg = { .addr = 7, .context = &contexts[0] };

	(void)state;
	assert_int_equal(trigger_msg(FI_OP_SEND, &msg, FI_TRIGGER), 0);
	assert_int_equal(trigger_msg(FI_OP_SEND, &msg, FI_TRIGGER | FI_INJECT), 0);
	work_count(1);
	assert_int_equal(work_calls, 2);
	assert_int_equal(work_made.iov[0].iov_len, 0);
}

static void transfers_are_kept(void **state)
{
	static const enum fi_op_type types[] = { FI_OP_READ, FI_OP_WRITE };
	struct fi_msg_rma msg = transfer(0);
	int i;

	for (i = 0; i < 2; i++) {
		begin(state);
		assert_int_equal(trigger_rma(types[i], &msg, FI_TRIGGER | FI_FENCE), 0);
		reuse_arrays();
		work_count(1);
		assert_int_equal(work_made.type, types[i]);
		assert_true(work_made.flags == FI_FENCE);
		assert_int_equal(work_made.rma.iov_count, 2);
		assert_ptr_equal(work_made.iov[1].iov_base, &words[1]);
		assert_ptr_equal(work_made.desc[0], &words[2]);
		assert_int_equal(work_made.rma.rma_iov_count, 2);
		assert_int_equal(work_made.rma_iov[1].addr, 641);
		assert_int_equal(work_made.rma_iov[1].key, 6);
		assert_int_equal(work_made.rma.addr, 7);
		assert_int_equal(work_made.rma.data, 99);
	}
}

static void operands_are_kept(void **state)
{
	static const enum fi_op_type types[] = { FI_OP_ATOMIC, FI_OP_FETCH_ATOMIC,
						 FI_OP_COMPARE_ATOMIC };
	struct ofi_atomic_args args = operation(0);
	int i;

	for (i = 0; i < 3; i++) {
		begin(state);
		work_info.caps |= FI_HMEM;
		assert_int_equal(trigger_atomic(types[i], &args, FI_TRIGGER), 0);
		reuse_arrays();
		work_count(1);
		assert_int_equal(work_made.type, types[i]);
		assert_ptr_equal(work_made.ioc[1].addr, &words[1]);
		assert_ptr_equal(work_made.desc[1], &words[3]);
		assert_ptr_equal(work_made.compare[1].addr, &words[3]);
		assert_ptr_equal(work_made.result[1].addr, &results[1]);
		assert_int_equal(work_made.rma_ioc[1].key, 6);
		assert_int_equal(work_made.atomic.msg.datatype, FI_UINT64);
		assert_int_equal(work_made.atomic.msg.op, FI_CSWAP);
		assert_ptr_equal(work_made.atomic.msg.context, &contexts[0]);
	}
}

/* As without FI_MR_LOCAL, which reliable datagrams never ask for. */
static void descriptors_may_be_any_pointer(void **state)
{
	struct fi_msg_tagged msg = message(0);
	struct ofi_atomic_args args = operation(0);

	(void)state;
	msg.desc = args.msg.desc = args.result_desc = (void **)1;
	assert_int_equal(trigger_msg(FI_OP_TSEND, &msg, FI_TRIGGER), 0);
	assert_int_equal(trigger_atomic(FI_OP_FETCH_ATOMIC, &args, FI_TRIGGER), 0);
	work_count(1);
	assert_int_equal(work_calls, 2);
	assert_null(work_made.desc[0]);
}

static void a_descriptor_is_no_list(void **state)
{
	struct fi_msg_tagged msg = message(0);
	struct fi_msg_rma rma = transfer(0);

	(void)state;
	work_info.caps |= FI_HMEM;
	msg.desc = rma.desc = ofi_desc(1, FI_HMEM_SYSTEM, true);
	assert_int_equal(trigger_msg(FI_OP_TSEND, &msg, FI_TRIGGER), 0);
	assert_int_equal(trigger_rma(FI_OP_WRITE, &rma, FI_TRIGGER), 0);
	work_count(1);
	assert_int_equal(work_calls, 2);
	assert_null(work_made.desc[0]);
}

/* FI_INJECT has no effect on a receive. */
static void injected_receives_keep_their_buffers(void **state)
{
	struct fi_msg_tagged msg = message(0);

	(void)state;
	assert_int_equal(trigger_msg(FI_OP_TRECV, &msg, FI_TRIGGER | FI_INJECT), 0);
	work_count(1);
	assert_int_equal(work_made.msg.iov_count, 2);
	assert_ptr_equal(work_made.iov[0].iov_base, iov[0].iov_base);
}

/* The bytes of the call, which may change before it is made. */
static void injected_bytes_are_copied(void **state)
{
	uint64_t sent[2] = { 11, 22 };
	struct fi_msg_tagged msg = message(0);
	struct fi_msg_rma rma = transfer(1);

	(void)state;
	assert_int_equal(trigger_msg(FI_OP_TSEND, &msg, FI_TRIGGER | FI_INJECT), 0);
	assert_int_equal(trigger_rma(FI_OP_WRITE, &rma, FI_TRIGGER | FI_INJECT), 0);
	words[0] = words[1] = 0;
	reuse_arrays();
	work_count(1);
	assert_int_equal(work_made.msg.iov_count, 1);
	assert_int_equal(work_made.iov[0].iov_len, 16);
	assert_null(work_made.desc[0]);
	assert_memory_equal(work_made.bytes, sent, 16);
	work_count(1);
	assert_int_equal(work_made.rma.iov_count, 1);
	assert_int_equal(work_made.iov[0].iov_len, 16);
	assert_memory_equal(work_made.bytes, sent, 16);
	words[0] = 11;
	words[1] = 22;
}

static void injected_operands_are_copied(void **state)
{
	uint64_t before[4] = { 11, 22, 33, 44 };
	struct ofi_atomic_args args = operation(0);

	(void)state;
	assert_int_equal(trigger_atomic(FI_OP_COMPARE_ATOMIC, &args, FI_TRIGGER | FI_INJECT), 0);
	memset(words, 0, sizeof(words));
	reuse_arrays();
	work_count(1);
	assert_memory_equal(work_made.bytes, before, sizeof(before));
	assert_ptr_equal(work_made.result[1].addr, &results[1]);
	memcpy(words, before, sizeof(words));
}

/* Of what is only read no operand is looked at, however wrong. */
static void a_fetch_has_no_operands(void **state)
{
	struct ofi_atomic_args args = operation(0);
	struct fi_ioc wrong[] = { { NULL, 1000 }, { NULL, 1 } };

	(void)state;
	args.msg.op = FI_ATOMIC_READ;
	args.compare = NULL;
	args.compare_count = 0;
	args.msg.msg_iov = wrong;
	assert_int_equal(trigger_atomic(FI_OP_FETCH_ATOMIC, &args, FI_TRIGGER | FI_INJECT), 0);
	args.msg.iov_count = WORK_LISTS + 1;
	assert_int_equal(trigger_atomic(FI_OP_FETCH_ATOMIC, &args, FI_TRIGGER), 0);
	args.msg.msg_iov = NULL;
	args.msg.iov_count = 0;
	assert_int_equal(trigger_atomic(FI_OP_FETCH_ATOMIC, &args, FI_TRIGGER | FI_INJECT), 0);
	work_count(1);
	assert_int_equal(work_calls, 3);
	assert_ptr_equal(work_made.result[0].addr, &results[0]);
}

static void it_is_tried_again(void **state)
{
	(void)state;
	assert_int_equal(post(0, FI_TRIGGER), 0);
	work_call_ret = -FI_EAGAIN;
	work_count(1);
	assert_int_equal(work_calls, 1);
	work_count(0);
	assert_int_equal(work_calls, 2);
	work_call_ret = 0;
	work_count(0);
	work_count(0);
	assert_int_equal(work_calls, 3);
	assert_int_equal(work_entries + work_completions, 0);
}

static ssize_t any(enum fi_op_type type)
{
	struct fi_msg_tagged msg = message(0);
	struct fi_msg_rma rma = transfer(0);
	struct ofi_atomic_args args = operation(0);

	if (type <= FI_OP_TSEND)
		return trigger_msg(type, &msg, FI_TRIGGER);
	if (type <= FI_OP_WRITE)
		return trigger_rma(type, &rma, FI_TRIGGER);
	return trigger_atomic(type, &args, FI_TRIGGER);
}

/* Nobody is there to whom the call could return it. */
static void a_late_failure_is_completed(void **state)
{
	static const uint64_t classes[] = {
		[FI_OP_RECV] = FI_MSG | FI_RECV,
		[FI_OP_SEND] = FI_MSG | FI_SEND,
		[FI_OP_TRECV] = FI_TAGGED | FI_RECV,
		[FI_OP_TSEND] = FI_TAGGED | FI_SEND,
		[FI_OP_READ] = FI_RMA | FI_READ,
		[FI_OP_WRITE] = FI_RMA | FI_WRITE,
		[FI_OP_ATOMIC] = FI_ATOMIC | FI_WRITE,
		[FI_OP_FETCH_ATOMIC] = FI_ATOMIC | FI_READ,
		[FI_OP_COMPARE_ATOMIC] = FI_ATOMIC | FI_READ,
	};
	enum fi_op_type type;

	for (type = FI_OP_RECV; type <= FI_OP_COMPARE_ATOMIC; type++) {
		begin(state);
		assert_int_equal(any(type), 0);
		work_call_ret = -FI_EHOSTUNREACH;
		work_count(1);
		assert_int_equal(work_calls, 1);
		assert_int_equal(work_put.err, FI_EHOSTUNREACH);
		assert_ptr_equal(work_put.context, &contexts[0]);
		assert_true(work_put.flags == classes[type]);
		if (type == FI_OP_RECV || type == FI_OP_TRECV) {
			assert_int_equal(work_entries, 1);
			assert_ptr_equal(work_put_to, work_ep.rx_cq);
			assert_int_equal(work_received.errors, 1);
		} else {
			assert_int_equal(work_completions, 1);
		}
		assert_int_equal(work_when.ref.children, 0);
	}
}

static void a_receive_may_fail_unseen(void **state)
{
	(void)state;
	work_ep.rx_cq = NULL;
	work_ep.cntrs[OFI_RDM_RECV] = NULL;
	assert_int_equal(any(FI_OP_RECV), 0);
	work_call_ret = -FI_ENOMEM;
	work_count(1);
	assert_int_equal(work_entries + work_received.errors, 0);
}

static void conditions_are_checked(void **state)
{
	struct ofi_domain other;
	struct ofi_cntr foreign = work_when;
	struct fi_msg_tagged msg = message(0);

	(void)state;
	foreign.parent = &other.ref;
	assert_int_equal(post(0, 0), -FI_EBADFLAGS);
	assert_int_equal(post(0, FI_MULTICAST), -FI_EBADFLAGS);
	work_info.caps = FI_MSG;
	assert_int_equal(post(0, FI_TRIGGER), -FI_EBADFLAGS);
	work_info.caps |= FI_TRIGGER;
	msg.context = NULL;
	assert_int_equal(trigger_msg(FI_OP_SEND, &msg, FI_TRIGGER), -FI_EINVAL);
	contexts[0].event_type = FI_TRIGGER_XPU;
	assert_int_equal(post(0, FI_TRIGGER), -FI_ENOSYS);
	contexts[0].event_type = FI_TRIGGER_THRESHOLD;
	contexts[0].trigger.threshold.cntr = NULL;
	assert_int_equal(post(0, FI_TRIGGER), -FI_EINVAL);
	contexts[0].trigger.threshold.cntr = &foreign.fid;
	assert_int_equal(post(0, FI_TRIGGER), -FI_EINVAL);
	contexts[0].trigger.threshold.cntr = (struct fid_cntr *)&work_ep.fid;
	assert_int_equal(post(0, FI_TRIGGER), -FI_EINVAL);
	assert_int_equal(work_checks, 0);
	assert_int_equal(work_when.ref.children, 0);
}

static void lists_are_checked(void **state)
{
	size_t n = WORK_LISTS + 1;
	struct fi_msg_tagged msgs[] = { message(0), message(0) };
	struct fi_msg_rma rmas[] = { transfer(0), transfer(0), transfer(0), transfer(0) };
	struct ofi_atomic_args args[8];
	int i;

	(void)state;
	msgs[0].iov_count = rmas[0].iov_count = rmas[1].rma_iov_count = n;
	msgs[1].msg_iov = rmas[2].msg_iov = NULL;
	rmas[3].rma_iov = NULL;
	for (i = 0; i < 2; i++)
		assert_int_equal(trigger_msg(FI_OP_RECV, &msgs[i], FI_TRIGGER), -FI_EINVAL);
	for (i = 0; i < 4; i++)
		assert_int_equal(trigger_rma(FI_OP_READ, &rmas[i], FI_TRIGGER), -FI_EINVAL);
	for (i = 0; i < 8; i++)
		args[i] = operation(0);
	args[0].msg.iov_count = args[1].msg.rma_iov_count = n;
	args[2].compare_count = args[3].result_count = n;
	args[4].msg.rma_iov = NULL;
	args[5].compare = NULL;
	args[6].result = NULL;
	args[7].msg.msg_iov = NULL;
	args[7].msg.iov_count = n;
	for (i = 0; i < 8; i++)
		assert_int_equal(trigger_atomic(FI_OP_COMPARE_ATOMIC, &args[i], FI_TRIGGER),
				 -FI_EINVAL);
	/* As many as there may be are no fault. */
	msgs[0].iov_count = n - 1;
	assert_int_equal(trigger_msg(FI_OP_RECV, &msgs[0], FI_TRIGGER), 0);
	assert_int_equal(work_checks, 1);
	assert_int_equal(work_when.ref.children, 1);
}

static void what_the_call_would_refuse_is_refused(void **state)
{
	enum fi_op_type type;

	(void)state;
	work_check_ret = -FI_EMSGSIZE;
	for (type = FI_OP_RECV; type <= FI_OP_COMPARE_ATOMIC; type++)
		assert_int_equal(any(type), -FI_EMSGSIZE);
	assert_int_equal(work_checks, FI_OP_COMPARE_ATOMIC + 1);
	work_count(1);
	assert_int_equal(work_calls, 0);
	assert_int_equal(work_when.ref.children, 0);
}

static void without_memory_nothing_is_queued(void **state)
{
	struct ofi_atomic_args args = operation(0);
	struct fi_msg_rma rma = transfer(0);
	int i;

	(void)state;
	for (i = 1; i <= 2; i++) {
		work_fail_at = i;
		assert_int_equal(post(0, FI_TRIGGER | FI_INJECT), -FI_ENOMEM);
		work_fail_at = i;
		assert_int_equal(trigger_rma(FI_OP_WRITE, &rma, FI_TRIGGER | FI_INJECT),
				 -FI_ENOMEM);
		work_fail_at = i;
		assert_int_equal(trigger_atomic(FI_OP_ATOMIC, &args, FI_TRIGGER | FI_INJECT),
				 -FI_ENOMEM);
	}
	work_fail_at = 3;
	assert_int_equal(post(0, FI_TRIGGER | FI_INJECT), 0);
	assert_int_equal(work_when.ref.children, 1);
	work_fail_at = 0;
}

/* What closing the endpoint does. */
static void an_endpoint_takes_its_own_along(void **state)
{
	struct ofi_trigger_match another = { .owner = &another }, own = { .owner = &work_ep };

	(void)state;
	assert_int_equal(post(0, FI_TRIGGER | FI_INJECT), 0);
	assert_int_equal(any(FI_OP_COMPARE_ATOMIC), 0);
	work_call_ret = -FI_EAGAIN;
	work_count(1);
	assert_int_equal(post(2, FI_TRIGGER), 0);
	assert_int_equal(ofi_triggers_cancel(&work_domain.triggers, &another), 0);
	assert_int_equal(ofi_triggers_cancel(&work_domain.triggers, &own), 3);
	assert_int_equal(work_when.ref.children, 0);
	work_call_ret = 0;
	work_calls = 0;
	work_count(9);
	assert_int_equal(work_calls, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, work_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(thresholds_are_waited_for),
		TEST(messages_are_kept),
		TEST(a_message_may_be_empty),
		TEST(transfers_are_kept),
		TEST(operands_are_kept),
		TEST(descriptors_may_be_any_pointer),
		TEST(a_descriptor_is_no_list),
		TEST(injected_receives_keep_their_buffers),
		TEST(injected_bytes_are_copied),
		TEST(injected_operands_are_copied),
		TEST(a_fetch_has_no_operands),
		TEST(it_is_tried_again),
		TEST(a_late_failure_is_completed),
		TEST(a_receive_may_fail_unseen),
		TEST(conditions_are_checked),
		TEST(lists_are_checked),
		TEST(what_the_call_would_refuse_is_refused),
		TEST(without_memory_nothing_is_queued),
		TEST(an_endpoint_takes_its_own_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
