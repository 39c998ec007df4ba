/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues: opening, formats, order of successes and errors. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/provider/prov.h"
#include "verbs_rig.h"

static char context[64];

static void post_sends(struct rig *rig, int first, int count)
{
	int i;

	for (i = first; i < first + count; i++)
		assert_int_equal(rig_send(rig->ep, &context[i]), 0);
}

static void post_recv(struct fid_ep *ep, void *to)
{
	assert_int_equal(fi_recv(ep, NULL, 0, NULL, 0, to), 0);
}

static void arrive(struct rig *rig, enum ibv_wc_opcode opcode, const uint32_t *imm)
{
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, opcode, 77, imm);
}

/* Formats: every field, and not a byte behind the entry. */

union any_entry {
	struct fi_cq_tagged_entry tagged;
	struct fi_cq_data_entry data;
	struct fi_cq_msg_entry msg;
	struct fi_cq_entry context;
};

static void check_format(struct rig *rig, enum fi_cq_format format, size_t size)
{
	const uint32_t imm = 0xdeadbeef;
	union any_entry entries[3];
	const unsigned char *bytes = (const unsigned char *)entries;
	size_t i;

	memset(entries, 0x5a, sizeof(entries));
	rig->cq_attr.format = format;
	rig_connect(rig);
	post_recv(rig->ep, &context[1]);
	post_recv(rig->ep, &context[2]);
	arrive(rig, IBV_WC_RECV, NULL);
	arrive(rig, IBV_WC_RECV, &imm);
	assert_int_equal(fi_cq_read(rig->cq[1], entries, 1), 1);
	for (i = size; i < sizeof(entries); i++)
		assert_int_equal(bytes[i], 0x5a);
	assert_ptr_equal(entries[0].context.op_context, &context[1]);
	if (size >= sizeof(struct fi_cq_msg_entry)) {
		assert_int_equal(entries[0].msg.flags, FI_MSG | FI_RECV);
		assert_int_equal(entries[0].msg.len, 77);
	}
	if (size >= sizeof(struct fi_cq_data_entry)) {
		assert_null(entries[0].data.buf);
		assert_int_equal(entries[0].data.data, 0);
	}

	memset(entries, 0x5a, sizeof(entries));
	assert_int_equal(fi_cq_read(rig->cq[1], entries, 3), 1);
	for (i = size; i < sizeof(entries); i++)
		assert_int_equal(bytes[i], 0x5a);
	if (size >= sizeof(struct fi_cq_msg_entry))
		assert_int_equal(entries[0].msg.flags, FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA);
	if (size >= sizeof(struct fi_cq_data_entry))
		assert_int_equal(entries[0].data.data, imm);
	if (size >= sizeof(struct fi_cq_tagged_entry))
		assert_int_equal(entries[0].tagged.tag, 0);
}

static void test_format_unspec(void **state)
{
	check_format(*state, FI_CQ_FORMAT_UNSPEC, sizeof(struct fi_cq_entry));
}

static void test_format_context(void **state)
{
	check_format(*state, FI_CQ_FORMAT_CONTEXT, sizeof(struct fi_cq_entry));
}

static void test_format_msg(void **state)
{
	check_format(*state, FI_CQ_FORMAT_MSG, sizeof(struct fi_cq_msg_entry));
}

static void test_format_data(void **state)
{
	check_format(*state, FI_CQ_FORMAT_DATA, sizeof(struct fi_cq_data_entry));
}

static void test_format_tagged(void **state)
{
	check_format(*state, FI_CQ_FORMAT_TAGGED, sizeof(struct fi_cq_tagged_entry));
}

/* An RMA write with data consumes a receive and is reported whatever that receive asked. */
static void test_remote_write(void **state)
{
	struct fi_msg msg = { .context = &context[3] };
	struct fi_cq_data_entry entry;
	const uint32_t imm = 9;
	struct rig *rig = *state;

	rig->rx_bind = FI_SELECTIVE_COMPLETION;
	rig_connect(rig);
	assert_int_equal(fi_recvmsg(rig->ep, &msg, 0), 0);
	arrive(rig, IBV_WC_RECV_RDMA_WITH_IMM, &imm);
	entry = rig_entry(rig->cq[1]);
	assert_int_equal(entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	assert_int_equal(entry.data, 9);
	assert_int_equal(entry.len, 77);
}

/* Makes the slots belong to another queue, of which they are the only ones. */
static void move_slots(struct vrb_wq *from, struct vrb_wq *to)
{
	uint32_t i;

	for (i = 0; i <= from->size; i++)
		from->slots[i].wq = to;
}

static char *posting_side;
static size_t page;
static bool has_fault;

static void on_fault(int signal)
{
	(void)signal;
	has_fault = true;
	if (mprotect(posting_side, page, PROT_READ | PROT_WRITE))
		abort();
}

/* Reading does not touch the cache lines that the posting thread writes: here, they fault. */
static void test_reader_stays_off_the_posting_side(void **state)
{
	struct sigaction catch = { .sa_handler = on_fault }, before;
	const size_t side = offsetof(struct vrb_wq, tail);
	struct rig *rig = *state;
	struct vrb_wq *wq, *copy;

	rig_connect(rig);
	wq = ((struct vrb_ep *)rig->ep)->rq;
	page = (size_t)sysconf(_SC_PAGESIZE);
	posting_side =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(posting_side, MAP_FAILED);
	copy = memcpy(posting_side + page - side, wq, sizeof(*wq));
	move_slots(wq, copy);
	post_recv(rig->ep, &context[1]);
	arrive(rig, IBV_WC_RECV, NULL);
	assert_int_equal(sigaction(SIGSEGV, &catch, &before), 0);
	assert_int_equal(mprotect(posting_side, page, PROT_NONE), 0);
	assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &context[1]);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	move_slots(wq, wq);
	wq->tail = copy->tail;
	assert_int_equal(munmap(posting_side, 2 * page), 0);
	assert_false(has_fault);
}

static void test_readfrom(void **state)
{
	struct fi_cq_data_entry entries[4];
	fi_addr_t from[4] = { 1, 1, 1, 1 };
	struct rig *rig = *state;

	rig_connect(rig);
	assert_int_equal(fi_cq_readfrom(rig->cq[0], entries, 4, from), -FI_EAGAIN);
	post_sends(rig, 0, 3);
	fake_complete_sends(rig_qp(rig), 3, IBV_WC_SUCCESS);
	assert_int_equal(fi_cq_readfrom(rig->cq[0], entries, 2, from), 2);
	assert_true(from[1] == FI_ADDR_NOTAVAIL && from[2] == 1);
	assert_int_equal(fi_cq_readfrom(rig->cq[0], entries, 2, NULL), 1);
}

static void expect_contexts(struct rig *rig, int count)
{
	int i;

	for (i = 0; i < count; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[i]);
}

/* Nowhere to put what there is: it stays, in its order, also when it is an error. */
static void test_no_array(void **state)
{
	struct rig *rig = *state;
	struct fid_cq *cq;
	fi_addr_t from;
	int i;

	rig_connect(rig);
	cq = rig->cq[0];
	assert_int_equal(fi_cq_read(cq, NULL, 1), -FI_EAGAIN);
	for (i = 1; i <= 3; i++) {
		post_sends(rig, 0, i);
		fake_complete_sends(rig_qp(rig), i, IBV_WC_SUCCESS);
		assert_int_equal(fi_cq_read(cq, NULL, 0), -FI_EAGAIN);
		assert_int_equal(fi_cq_read(cq, NULL, 4), -FI_EINVAL);
		assert_int_equal(fi_cq_read(cq, NULL, 1), -FI_EINVAL);
		assert_int_equal(fi_cq_readfrom(cq, NULL, 1, &from), -FI_EINVAL);
		expect_contexts(rig, i);
	}
	post_sends(rig, 0, 2);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_REM_OP_ERR);
	assert_int_equal(fi_cq_read(cq, NULL, 4), -FI_EINVAL);
	expect_contexts(rig, 1);
	assert_int_equal(fi_cq_read(cq, NULL, 4), -FI_EINVAL);
	assert_ptr_equal(rig_error(cq).op_context, &context[1]);
}

/* Any number of entries at once, whatever the device is asked for at a time. */
static void test_counts(void **state)
{
	struct fi_cq_data_entry entries[64];
	struct rig *rig = *state;
	int bunch, count, i, n;

	for (bunch = 1; bunch <= 64; bunch *= 2) {
		rig->info->tx_attr->size = 64;
		vrb_params.cqread_bunch_size = bunch;
		rig_connect(rig);
		for (count = 1; count <= 64; count = count * 3 / 2 + 1) {
			post_sends(rig, 0, count);
			fake_complete_sends(rig_qp(rig), count, IBV_WC_SUCCESS);
			assert_int_equal(fi_cq_read(rig->cq[0], entries, 0), -FI_EAGAIN);
			assert_int_equal(fi_cq_read(rig->cq[0], entries, 1), 1);
			for (i = 1; i < count; i += n) {
				n = (int)fi_cq_read(rig->cq[0], entries + i, 64 - i);
				assert_in_range(n, bunch < count - i ? bunch : 1, count - i);
			}
			for (i = 0; i < count; i++)
				assert_ptr_equal(entries[i].op_context, &context[i]);
			rig_no_entry(rig->cq[0]);
		}
		rig_close(rig);
		rig_init(rig);
	}
}

/* An error in the middle: the successes before it, the error, the rest. Wherever it is. */
static void check_error_at(struct rig *rig, int total, int at, int second, size_t count)
{
	struct fi_cq_data_entry entries[16];
	struct fi_cq_err_entry error = { 0 };
	int next = 0, i;
	ssize_t n;

	post_sends(rig, 0, total);
	for (i = 0; i < total; i++)
		fake_complete_sends(rig_qp(rig), 1,
				    i == at || i == second ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS);
	while (next < total) {
		n = fi_cq_read(rig->cq[0], entries, count);
		if (n == -FI_EAVAIL) {
			assert_true(next == at || next == second);
			assert_int_equal(fi_cq_read(rig->cq[0], entries, count), -FI_EAVAIL);
			assert_int_equal(fi_cq_readerr(rig->cq[0], &error, 0), 1);
			assert_ptr_equal(error.op_context, &context[next++]);
			error.err_data_size = 0;
			continue;
		}
		assert_in_range(n, 1, count);
		for (i = 0; i < n; i++, next++) {
			assert_true(next != at && next != second);
			assert_ptr_equal(entries[i].op_context, &context[next]);
		}
	}
	rig_no_entry(rig->cq[0]);
}

static void test_error_order(void **state)
{
	struct rig *rig = *state;
	int at, second;
	size_t count;

	rig->info->tx_attr->size = 16;
	rig_connect(rig);
	for (count = 1; count <= 16; count += 5)
		for (at = 0; at < 13; at += 3)
			for (second = at; second < 13; second += 4)
				check_error_at(rig, 13, at, second, count);
}

/* What completes without an entry does not end a read. */
static void test_silent(void **state)
{
	struct fi_cq_data_entry entries[8];
	struct fi_msg msg = { .context = &context[5] };
	struct rig *rig = *state;
	int i;

	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	rig->info->tx_attr->size = 64;
	vrb_params.cqread_bunch_size = 1;
	rig_connect(rig);
	for (i = 0; i < 40; i++)
		assert_int_equal(rig_send(rig->ep, NULL), 0);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_COMPLETION), 0);
	fake_complete_sends(rig_qp(rig), 41, IBV_WC_SUCCESS);
	assert_int_equal(fi_cq_read(rig->cq[0], entries, 8), 1);
	assert_ptr_equal(entries[0].op_context, &context[5]);
	assert_int_equal(fi_tx_size_left(rig->ep), 64);
}

static void test_poll_fails(void **state)
{
	struct fi_cq_data_entry entry;
	struct rig *rig = *state;

	rig_connect(rig);
	fake.poll_err = 1;
	assert_int_equal(fi_cq_read(rig->cq[0], &entry, 1), -FI_EIO);
	fake.poll_err = 0;
	rig_no_entry(rig->cq[0]);
}

/* An endpoint that closed while the CQ is never read again. */
static void test_closed_cq(void **state)
{
	struct rig *rig = *state;

	rig->one_cq = true;
	rig_connect(rig);
	post_sends(rig, 0, 4);
	post_recv(rig->ep, NULL);
	fake_flush(rig_qp(rig));
}

/* The device is removed: each operation completes once, with its result if it has one. */
static void test_lost(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i;

	rig->one_cq = true;
	rig_connect(rig);
	other = rig_another_ep(rig);
	fake_qp(rig_qp(rig))->deaf = true;
	post_sends(rig, 0, 8);
	post_recv(rig->ep, &context[8]);
	fake_complete_sends(rig_qp(rig), 2, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[0]);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	assert_int_equal(rig_send(rig->ep, NULL), -FI_ENODEV);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[1]);
	assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	fake_flush(rig_qp(rig));
	for (i = 0; i < 6; i++)
		assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	rig_no_entry(rig->cq[0]);

	/* Others on the same CQ go on. */
	assert_int_equal(rig_send(other, &context[9]), 0);
	fake_complete_sends(vrb_ep(other)->qp, 1, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[9]);
	assert_int_equal(fi_close(&other->fid), 0);
}

static void test_unread_of_lost_is_dropped(void **state)
{
	struct rig *rig = *state;

	rig->one_cq = true;
	rig_connect(rig);
	fake_qp(rig_qp(rig))->deaf = true;
	post_recv(rig->ep, &context[0]);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	rig_no_entry(rig->cq[0]);
}

static void test_lost_poll_fails(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_err_entry error;

	rig_connect(rig);
	fake_qp(rig_qp(rig))->deaf = true;
	post_sends(rig, 0, 1);
	fake.poll_err = 1;
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	error = rig_error(rig->cq[0]);
	assert_ptr_equal(error.op_context, &context[0]);
	fake.poll_err = 0;
}

static void test_open_attr(void **state)
{
	struct fi_cq_attr attr = { 0 };
	struct rig *rig = *state;
	struct fid_cq *cq = NULL;

	rig_open_domain(rig);
	assert_int_equal(fi_cq_open(rig->domain, &attr, NULL, NULL), -FI_EINVAL);
	attr.flags = FI_MORE;
	assert_int_equal(fi_cq_open(rig->domain, &attr, &cq, NULL), -FI_EBADFLAGS);
	attr.flags = 0;
	attr.format = FI_CQ_FORMAT_TAGGED + 1;
	assert_int_equal(fi_cq_open(rig->domain, &attr, &cq, NULL), -FI_EINVAL);
	attr.format = 0;
	attr.size = fake.attr.max_cqe + 1;
	assert_int_equal(fi_cq_open(rig->domain, &attr, &cq, NULL), -FI_EINVAL);
	attr.size = SIZE_MAX;
	assert_int_equal(fi_cq_open(rig->domain, &attr, &cq, NULL), -FI_EINVAL);
	attr.size = 0;
	attr.flags = FI_AFFINITY;
	attr.signaling_vector = -1;
	assert_int_equal(fi_cq_open(rig->domain, &attr, &cq, NULL), -FI_EINVAL);
	assert_null(cq);
	assert_int_equal(fi_cq_open(rig->domain, NULL, &cq, NULL), 0);
	assert_int_equal(fi_close(&cq->fid), 0);
	attr.signaling_vector = 4001; /* of a processor; the device has 4 vectors */
	assert_int_equal(fi_cq_open(rig->domain, &attr, &cq, NULL), 0);
	assert_int_equal(fake_cq(vrb_cq(cq)->ibv)->vector, 1);
	assert_int_equal(fi_close(&cq->fid), 0);

	attr.signaling_vector = 3;
	assert_int_equal(fi_cq_open(rig->domain, &attr, &cq, rig), 0);
	assert_ptr_equal(cq->fid.context, rig);
	assert_int_equal(cq->fid.fclass, FI_CLASS_CQ);
	assert_int_equal(fake_cq(vrb_cq(cq)->ibv)->vector, 3);
	assert_int_equal(fi_close(&rig->domain->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&cq->fid), 0);
	attr = (struct fi_cq_attr){ .signaling_vector = 77, .size = 1 };
	assert_int_equal(fi_cq_open(rig->domain, &attr, &cq, rig), 0);
	assert_int_equal(fake_cq(vrb_cq(cq)->ibv)->vector, 0);
	assert_int_equal(fake_cq(vrb_cq(cq)->ibv)->requested, 1);
	assert_int_equal(fi_close(&cq->fid), 0);
}

/* Every call of the opening fails in turn. */
static void test_open_fails(void **state)
{
	struct fi_cq_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fid_cq *cq = NULL;
	struct rig *rig = *state;
	int ret, n = 0;

	rig_open_domain(rig);
	do {
		fake.fail_at = fake.calls + ++n;
		fake.fail_errno = EMFILE;
		fake.failed = NULL;
		ret = fi_cq_open(rig->domain, &attr, &cq, NULL);
		assert_int_equal(ret, fake.failed ? -FI_EMFILE : 0);
		assert_int_equal(fake.cqs, !ret);
		assert_int_equal(fake.channels, !ret);
	} while (ret);
	assert_int_equal(n, 3);
	assert_int_equal(fi_close(&cq->fid), 0);
}

static void test_busy(void **state)
{
	struct rig *rig = *state;

	rig_open_ep(rig);
	assert_int_equal(fi_close(&rig->cq[0]->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&rig->cq[1]->fid), -FI_EBUSY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_format_unspec),
		RIG_TEST(test_format_context),
		RIG_TEST(test_format_msg),
		RIG_TEST(test_format_data),
		RIG_TEST(test_format_tagged),
		RIG_TEST(test_remote_write),
		RIG_TEST(test_reader_stays_off_the_posting_side),
		RIG_TEST(test_readfrom),
		RIG_TEST(test_counts),
		RIG_TEST(test_no_array),
		RIG_TEST(test_error_order),
		RIG_TEST(test_silent),
		RIG_TEST(test_poll_fails),
		RIG_TEST(test_closed_cq),
		RIG_TEST(test_lost),
		RIG_TEST(test_open_attr),
		RIG_TEST(test_unread_of_lost_is_dropped),
		RIG_TEST(test_lost_poll_fails),
		RIG_TEST(test_open_fails),
		RIG_TEST(test_busy),
	};

	return RIG_RUN("verbs_cq", tests);
}
