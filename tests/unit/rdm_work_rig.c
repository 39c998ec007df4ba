/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint whose work waits for a counter, and whose calls are only recorded. */
#include "rdm_work_rig.h"
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/objects.h"
#include "prov/rdm/cntr.h"
#include "prov/rdm/ep.h"
#include "prov/rdm/op.h"
#include "prov/rdm/complete.h"

struct fi_provider vrb_prov = { .name = "verbs" };
struct ofi_rdm_ep work_ep;
struct ofi_domain work_domain;
struct fi_info work_info;
struct ofi_cntr work_when, work_to, work_received;
struct work_call work_made;
unsigned int work_checks, work_calls;
ssize_t work_check_ret, work_call_ret;
int work_lend_ret;
unsigned int work_watches;
struct ofi_cq_item work_put;
struct ofi_rdm_cq *work_put_to;
unsigned int work_entries, work_completions;
int work_fail_at;

static char cqs[2]; /* only passed on */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool fails(void)
{
	return work_fail_at && !--work_fail_at;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

/* Those of the others have operations. */
bool ofi_rdm_is_ep(const struct fid *fid)
{
	return fid->fclass == FI_CLASS_EP && !fid->ops;
}

void ofi_rdm_put(struct ofi_rdm_ep *ep, struct ofi_rdm_cq *cq, const struct ofi_cq_item *item)
{
	assert_ptr_equal(ep, &work_ep);
	work_put = *item;
	work_put_to = cq;
	work_entries++;
}

void ofi_rdm_complete_tx(struct ofi_rdm_ep *ep, void *context, uint64_t flags, int err,
			 int wc_status)
{
	assert_ptr_equal(ep, &work_ep);
	assert_int_equal(wc_status, 0);
	assert_int_equal(ep->lock.word, 1);
	work_put = (struct ofi_cq_item){ .context = context, .flags = flags, .err = err };
	work_completions++;
}

int ofi_rdm_cntr_watch_work(struct ofi_rdm_ep *ep, struct ofi_cntr *cntr)
{
	assert_ptr_equal(ep, &work_ep);
	assert_ptr_equal(cntr, &work_to);
	work_watches++;
	return work_lend_ret;
}

static ssize_t note(struct ofi_rdm_ep *ep, enum fi_op_type type, uint64_t flags, uint64_t mark)
{
	assert_ptr_equal(ep, &work_ep);
	assert_int_equal(ep->lock.word, 0);
	memset(&work_made, 0, sizeof(work_made));
	work_made.type = type;
	work_made.flags = flags;
	work_made.mark = mark;
	work_calls++;
	return work_call_ret;
}

static ssize_t checked(void)
{
	work_checks++;
	return work_check_ret;
}

#define NOTE_LIST(to, from, count)                                 \
	do {                                                       \
		assert_true((count) <= WORK_LISTS);                \
		if (count)                                         \
			memcpy(to, from, (count) * sizeof(*(to))); \
	} while (0)

static void note_sent(const struct iovec *iov, void **desc, size_t count)
{
	NOTE_LIST(work_made.iov, iov, count);
	NOTE_LIST(work_made.desc, desc, count);
	ofi_rdm_proto_load(work_made.bytes, iov, count, false);
}

ssize_t ofi_rdm_send_work(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
			  bool tagged, uint64_t mark, bool check)
{
	ssize_t ret = check ? checked() : note(ep, tagged ? FI_OP_TSEND : FI_OP_SEND, flags, mark);

	if (check)
		return ret;
	work_made.msg = *msg;
	note_sent(msg->msg_iov, msg->desc, msg->iov_count);
	return ret;
}

ssize_t ofi_rdm_recv_work(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
			  bool tagged, uint64_t mark, bool check)
{
	ssize_t ret = check ? checked() : note(ep, tagged ? FI_OP_TRECV : FI_OP_RECV, flags, mark);

	if (check)
		return ret;
	work_made.msg = *msg;
	note_sent(msg->msg_iov, msg->desc, msg->iov_count);
	return ret;
}

ssize_t ofi_rdm_rma_work(struct ofi_rdm_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
			 bool read, uint64_t mark, bool check)
{
	ssize_t ret = check ? checked() : note(ep, read ? FI_OP_READ : FI_OP_WRITE, flags, mark);

	if (check)
		return ret;
	work_made.rma = *msg;
	note_sent(msg->msg_iov, msg->desc, msg->iov_count);
	NOTE_LIST(work_made.rma_iov, msg->rma_iov, msg->rma_iov_count);
	return ret;
}

static uint8_t *note_operands(uint8_t *to, const struct fi_ioc *ioc, size_t count)
{
	for (; count--; ioc++) {
		assert_true(ioc->count * sizeof(uint64_t) <=
			    sizeof(work_made.bytes) - (size_t)(to - work_made.bytes));
		memcpy(to, ioc->addr, ioc->count * sizeof(uint64_t));
		to += ioc->count * sizeof(uint64_t);
	}
	return to;
}

ssize_t ofi_rdm_atomic_work(struct ofi_rdm_ep *ep, enum fi_op_type type,
			    const struct ofi_atomic_args *args, uint64_t flags, uint64_t mark,
			    bool check)
{
	ssize_t ret = check ? checked() : note(ep, type, flags, mark);
	const struct fi_msg_atomic *msg = &args->msg;
	bool reads = type == FI_OP_FETCH_ATOMIC && msg->op == FI_ATOMIC_READ;
	uint8_t *to;

	if (check)
		return ret;
	work_made.atomic = *args;
	if (msg->desc)
		NOTE_LIST(work_made.desc, msg->desc, msg->iov_count);
	NOTE_LIST(work_made.rma_ioc, msg->rma_iov, msg->rma_iov_count);
	NOTE_LIST(work_made.result, args->result, args->result_count);
	if (reads)
		return ret;
	NOTE_LIST(work_made.ioc, msg->msg_iov, msg->iov_count);
	NOTE_LIST(work_made.compare, args->compare, args->compare_count);
	to = note_operands(work_made.bytes, msg->msg_iov, msg->iov_count);
	note_operands(to, args->compare, args->compare_count);
	return ret;
}

static const struct ofi_rdm_work_calls calls = {
	.send = ofi_rdm_send_work,
	.recv = ofi_rdm_recv_work,
	.rma = ofi_rdm_rma_work,
	.atomic = ofi_rdm_atomic_work,
};

static void set_cntr(struct ofi_cntr *cntr)
{
	*cntr = (struct ofi_cntr){
		.fid.fid.fclass = FI_CLASS_CNTR,
		.parent = &work_domain.ref,
		.triggers = &work_domain.triggers,
	};
	TAILQ_INIT(&cntr->waiting);
}

static void drop_all(void)
{
	struct ofi_trigger_match all = { 0 };

	ofi_triggers_cancel(&work_domain.triggers, &all);
	ofi_rdm_work_fini(&work_ep);
}

int work_begin(void **state)
{
	(void)state;
	if (work_ep.domain)
		drop_all();
	memset(&work_ep, 0, sizeof(work_ep));
	ofi_triggers_init(&work_domain.triggers);
	set_cntr(&work_when);
	set_cntr(&work_to);
	set_cntr(&work_received);
	work_info = (struct fi_info){ .caps = FI_MSG | FI_TRIGGER };
	work_ep.fid.fid.fclass = FI_CLASS_EP;
	work_ep.endpoint = &work_ep;
	work_ep.deferred.calls = &calls;
	work_domain.info = &work_info;
	work_ep.domain = &work_domain;
	work_ep.info = &work_info;
	work_ep.enabled = true;
	work_ep.tx_cq = (struct ofi_rdm_cq *)&cqs[0];
	work_ep.rx_cq = (struct ofi_rdm_cq *)&cqs[1];
	work_ep.cntrs[OFI_RDM_RECV] = &work_received;
	work_checks = work_calls = work_entries = work_completions = 0;
	work_check_ret = work_call_ret = 0;
	work_watches = 0;
	work_lend_ret = work_fail_at = 0;
	memset(&work_put, 0, sizeof(work_put));
	return 0;
}

int work_end(void **state)
{
	(void)state;
	drop_all();
	assert_int_equal(work_when.ref.children, 0);
	assert_int_equal(work_to.ref.children, 0);
	return 0;
}

void work_count(uint64_t n)
{
	if (n)
		ofi_cntr_count(&work_when, n);
	ofi_triggers_run(&work_domain.triggers);
}
