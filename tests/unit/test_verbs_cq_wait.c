/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Waiting on completion queues: kinds of wait objects, blocking reads, signals, fi_trywait. */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>
#include <rdma/fi_trigger.h>
#include "prov/base/waitset.h"
#include "prov/verbs/provider/prov.h"
#include "capture.h"
#include "verbs_rig.h"

enum { SHORT = 30, LONG = 4000 }; /* ms */

static char context[64];

static void open_all(struct rig *rig, enum fi_wait_obj obj)
{
	rig->cq_attr.wait_obj = obj;
	rig_connect(rig);
}

static void complete_one(struct rig *rig, int i)
{
	assert_int_equal(rig_send(rig->ep, &context[i]), 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
}

static ssize_t sread(struct rig *rig, int timeout)
{
	struct fi_cq_data_entry entry;

	return fi_cq_sread(rig->cq[0], &entry, 1, NULL, timeout);
}

static bool readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void test_none(void **state)
{
	struct rig *rig = *state;
	int fd;

	open_all(rig, FI_WAIT_NONE);
	complete_one(rig, 0);
	assert_int_equal(sread(rig, 0), -FI_ENOSYS);
	assert_int_equal(fi_cq_signal(rig->cq[0]), -FI_ENOSYS);
	assert_true(fi_control(&rig->cq[0]->fid, FI_GETWAIT, &fd) < 0);
	assert_int_equal(ofi_cq_trywait(&vrb_cq(rig->cq[0])->base.fid.fid), -FI_EINVAL);
	rig_entry(rig->cq[0]);
}

static void test_refused(void **state)
{
	static const enum fi_wait_obj kinds[] = { FI_WAIT_MUTEX_COND, 77 };
	struct fi_cq_attr attr = { 0 };
	struct rig *rig = *state;
	struct fid_cq *cq;
	unsigned int i;

	rig_open_domain(rig);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		attr.wait_obj = kinds[i];
		assert_int_equal(fi_cq_open(rig->domain, &attr, &cq, NULL), -FI_ENOSYS);
	}
}

/* Not every device has events. */
static void test_no_events(void **state)
{
	static const enum fi_wait_obj kinds[] = { FI_WAIT_UNSPEC, FI_WAIT_FD };
	struct fi_cq_attr attr = { 0 };
	struct rig *rig = *state;
	struct fid_cq *cq;
	unsigned int i;

	fake.no_events = true;
	open_all(rig, FI_WAIT_YIELD);
	complete_one(rig, 0);
	assert_int_equal(sread(rig, LONG), 1);
	for (i = 0; i < 2; i++) {
		attr.wait_obj = kinds[i];
		capture_start();
		assert_int_equal(fi_cq_open(rig->domain, &attr, &cq, NULL), -FI_ENOSYS);
		assert_non_null(strstr(capture_stop(), "has no completion events"));
	}
	rig_close(rig);
	rig_init(rig);
	fake.no_events = true;
	open_all(rig, FI_WAIT_NONE);
	complete_one(rig, 0);
	rig_entry(rig->cq[0]);
}

static void test_wait_set(void **state)
{
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_FD };
	struct ofi_ref other = { 0 };
	struct rig *rig = *state;
	struct fid_wait *set;
	struct fid_cq *cq;
	int fd;

	rig->cq_attr.wait_obj = FI_WAIT_SET;
	rig_open_domain(rig);
	assert_int_equal(fi_cq_open(rig->domain, &rig->cq_attr, &cq, NULL), -FI_EINVAL);
	assert_int_equal(ofi_waitset_open(&vrb_prov, &other, &attr, &rig->cq_attr.wait_set), 0);
	assert_int_equal(fi_cq_open(rig->domain, &rig->cq_attr, &cq, NULL), -FI_EINVAL);
	assert_int_equal(fi_close(&rig->cq_attr.wait_set->fid), 0);

	assert_int_equal(ofi_waitset_open(&vrb_prov, &rig_fabric.ref, &attr, &set), 0);
	rig->cq_attr.wait_set = set;
	rig_connect(rig);
	assert_int_equal(fi_wait(set, SHORT), -FI_ETIMEDOUT);
	complete_one(rig, 0);
	assert_int_equal(fi_wait(set, LONG), 0);
	assert_int_equal(sread(rig, 0), -FI_EINVAL);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAIT, &fd), -FI_ENODATA);
	rig_entry(rig->cq[0]);
	assert_int_equal(fi_wait(set, 0), -FI_ETIMEDOUT);
	assert_int_equal(fi_close(&set->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	assert_int_equal(fi_close(&rig->cq[1]->fid), 0);
	assert_int_equal(fi_close(&rig->cq[0]->fid), 0);
	rig->ep = NULL;
	rig->cq[0] = rig->cq[1] = NULL;
	assert_int_equal(fi_close(&set->fid), 0);
}

static void test_poll_set(void **state)
{
	struct rig *rig = *state;
	struct fid_poll *set;
	void *found;

	rig_connect(rig);
	assert_int_equal(fi_poll_open(rig->domain, NULL, &set), 0);
	assert_int_equal(fi_poll_add(set, &rig->cq[1]->fid, 0), 0);
	assert_int_equal(fi_poll_add(set, &rig->cq[0]->fid, 0), 0);
	assert_int_equal(fi_poll(set, &found, 1), 0);
	assert_int_equal(fi_recv(rig->ep, context, 8, NULL, 0, context), 0);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, 8, NULL);
	found = rig;
	assert_int_equal(fi_poll(set, &found, 1), 1);
	assert_ptr_equal(found, (void *)1);
	assert_int_equal(fi_poll(set, &found, 1), 1);
	assert_ptr_equal(rig_entry(rig->cq[1]).op_context, context);
	assert_int_equal(fi_poll(set, &found, 1), 0);
	assert_int_equal(fi_poll_del(set, &rig->cq[1]->fid, 0), 0);
	assert_int_equal(fi_poll_del(set, &rig->cq[0]->fid, 0), 0);
	assert_int_equal(fi_close(&set->fid), 0);
}

static void test_getwait(void **state)
{
	struct rig *rig = *state;
	struct pollfd pfd = { .fd = -1 };
	struct fi_wait_pollfd arg = { .nfds = 1, .fd = &pfd };
	enum fi_wait_obj obj;
	int fd = -1;

	open_all(rig, FI_WAIT_UNSPEC);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAIT, &fd), 0);
	assert_true(fd >= 0);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAITOBJ, &obj), 0);
	assert_int_equal(obj, FI_WAIT_FD);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAIT, NULL), -FI_EINVAL);
	rig_close(rig);
	rig_init(rig);
	open_all(rig, FI_WAIT_POLLFD);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAIT, &arg), 0);
	assert_true(pfd.fd >= 0);
}

static void test_sread(void **state)
{
	static const enum fi_wait_obj kinds[] = { FI_WAIT_FD, FI_WAIT_UNSPEC, FI_WAIT_POLLFD,
						  FI_WAIT_YIELD };
	struct rig *rig = *state;
	uint64_t start;
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		open_all(rig, kinds[i]);
		assert_int_equal(sread(rig, 0), -FI_EAGAIN);
		start = ofi_now_ms();
		assert_int_equal(sread(rig, SHORT), -FI_EAGAIN);
		assert_in_range(ofi_now_ms() - start, SHORT - 1, LONG / 2);
		complete_one(rig, 0);
		assert_int_equal(sread(rig, -1), 1);
		complete_one(rig, 0);
		complete_one(rig, 0);
		assert_int_equal(sread(rig, 0), 1);
		assert_int_equal(sread(rig, LONG), 1);
		assert_int_equal(sread(rig, 0), -FI_EAGAIN);
		rig_close(rig);
		rig_init(rig);
	}
}

static void *complete_later(void *arg)
{
	usleep(SHORT * 1000);
	complete_one(arg, 7);
	return NULL;
}

static void *signal_later(void *arg)
{
	struct rig *rig = arg;

	usleep(SHORT * 1000);
	assert_int_equal(fi_cq_signal(rig->cq[0]), 0);
	return NULL;
}

static void *lose_later(void *arg)
{
	struct rig *rig = arg;

	usleep(SHORT * 1000);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	return NULL;
}

/* What sread gives when that happens meanwhile; it must not take until the time-out. */
static ssize_t sread_while(struct rig *rig, void *(*what)(void *))
{
	uint64_t start = ofi_now_ms();
	pthread_t thread;
	ssize_t ret;

	assert_int_equal(pthread_create(&thread, NULL, what, rig), 0);
	ret = sread(rig, LONG);
	pthread_join(thread, NULL);
	assert_true(ofi_now_ms() - start < LONG / 2);
	return ret;
}

static void test_woken(void **state)
{
	static const enum fi_wait_obj kinds[] = { FI_WAIT_FD, FI_WAIT_YIELD };
	struct rig *rig = *state;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		open_all(rig, kinds[i]);
		if (kinds[i] == FI_WAIT_FD) /* the fake CQ has no lock */
			assert_int_equal(sread_while(rig, complete_later), 1);
		assert_int_equal(sread_while(rig, signal_later), -FI_EAGAIN);
		assert_int_equal(sread(rig, 0), -FI_EAGAIN);
		rig_close(rig);
		rig_init(rig);
	}
}

/* A removed device wakes whoever waits for something that it will never do. */
static void test_lost(void **state)
{
	struct rig *rig = *state;

	open_all(rig, FI_WAIT_FD);
	fake_qp(rig_qp(rig))->deaf = true;
	assert_int_equal(rig_send(rig->ep, &context[3]), 0);
	assert_int_equal(sread_while(rig, lose_later), -FI_EAVAIL);
	assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
}

/* A signal that came before the wait ends it; signals do not add up to several wakes. */
static void test_signal(void **state)
{
	struct rig *rig = *state;
	int i;

	open_all(rig, FI_WAIT_FD);
	for (i = 0; i < 10; i++)
		assert_int_equal(fi_cq_signal(rig->cq[0]), 0);
	assert_int_equal(sread(rig, LONG), -FI_EAGAIN);
	complete_one(rig, 0);
	assert_int_equal(fi_cq_signal(rig->cq[0]), 0);
	assert_int_equal(sread(rig, LONG), 1);
}

/* Armed and empty: the descriptor becomes readable with the next completion. */
static void test_trywait(void **state)
{
	struct rig *rig = *state;
	struct vrb_cq *cq;
	int fd = -1;

	open_all(rig, FI_WAIT_FD);
	cq = vrb_cq(rig->cq[0]);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAIT, &fd), 0);
	assert_int_equal(ofi_cq_trywait(&cq->base.fid.fid), 0);
	assert_false(readable(fd));
	complete_one(rig, 1);
	assert_true(readable(fd));
	assert_int_equal(ofi_cq_trywait(&cq->base.fid.fid), -FI_EAGAIN);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[1]);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(ofi_cq_trywait(&cq->base.fid.fid), 0);
	assert_false(readable(fd));

	/* There before: may not sleep, and the entries keep their order. */
	complete_one(rig, 2);
	complete_one(rig, 3);
	assert_int_equal(ofi_cq_trywait(&cq->base.fid.fid), -FI_EAGAIN);
	assert_int_equal(ofi_cq_trywait(&cq->base.fid.fid), -FI_EAGAIN);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[2]);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[3]);
	fake.notify_err = ENOMEM;
	assert_int_equal(ofi_cq_trywait(&cq->base.fid.fid), -FI_ENOMEM);
	fake.notify_err = 0;
}

/* Who takes the event leaves the descriptor readable for others, until the queue is empty. */
static void test_others(void **state)
{
	struct rig *rig = *state;
	struct vrb_cq *cq;
	int fd = -1;

	open_all(rig, FI_WAIT_FD);
	cq = vrb_cq(rig->cq[0]);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAIT, &fd), 0);
	assert_int_equal(ofi_cq_trywait(&cq->base.fid.fid), 0);
	complete_one(rig, 1);
	complete_one(rig, 2);
	assert_int_equal(ofi_cq_trywait(&cq->base.fid.fid), -FI_EAGAIN);
	rig_entry(rig->cq[0]);
	assert_true(readable(fd));
	assert_int_equal(ofi_cq_trywait(&cq->base.fid.fid), -FI_EAGAIN);
	assert_true(readable(fd));
	rig_entry(rig->cq[0]);
	assert_int_equal(ofi_cq_trywait(&cq->base.fid.fid), 0);
	assert_false(readable(fd));
}

/* Acknowledging is put off, not forgotten. */
static void test_acks(void **state)
{
	struct rig *rig = *state;
	struct fake_cq *cq;
	int i;

	open_all(rig, FI_WAIT_FD);
	cq = fake_cq(vrb_cq(rig->cq[0])->ibv);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(ofi_cq_trywait(&vrb_cq(rig->cq[0])->base.fid.fid), 0);
		complete_one(rig, 0);
		rig_entry(rig->cq[0]);
	}
	assert_int_equal(cq->events, 1000);
	assert_in_range(cq->acked, 900, 1000);
}

static void test_threshold(void **state)
{
	struct fi_cq_data_entry entries[4];
	struct rig *rig = *state;
	struct fid_cq *cq;

	rig->cq_attr.wait_cond = FI_CQ_COND_THRESHOLD;
	open_all(rig, FI_WAIT_FD);
	cq = rig->cq[0];
	complete_one(rig, 0);
	assert_int_equal(fi_cq_sread(cq, entries, 4, (void *)2, SHORT), 1);
	complete_one(rig, 1);
	complete_one(rig, 2);
	complete_one(rig, 3);
	assert_int_equal(fi_cq_sread(cq, entries, 2, (void *)3, LONG), 2);
	assert_ptr_equal(entries[1].op_context, &context[2]);
	assert_int_equal(fi_cq_sread(cq, entries, 4, NULL, LONG), 1);
	assert_int_equal(fi_cq_sread(cq, entries, 0, NULL, SHORT), -FI_EAGAIN);
}

static void test_sreadfrom(void **state)
{
	struct fi_cq_data_entry entries[2];
	fi_addr_t from[2] = { 1, 1 };
	struct rig *rig = *state;

	open_all(rig, FI_WAIT_FD);
	complete_one(rig, 0);
	assert_int_equal(fi_cq_sreadfrom(rig->cq[0], entries, 2, from, NULL, LONG), 1);
	assert_true(from[0] == FI_ADDR_NOTAVAIL && from[1] == 1);
	assert_int_equal(fi_cq_sreadfrom(rig->cq[0], entries, 2, from, NULL, 0), -FI_EAGAIN);
}

/* Queues a send that is due at once. */
static struct fid_cntr *queue_send(struct rig *rig)
{
	struct fi_op_msg op = { .msg.context = context, .ep = rig->ep };
	struct fi_deferred_work work = { .op_type = FI_OP_SEND, .op.msg = &op };

	assert_int_equal(fi_cntr_open(rig->domain, NULL, &work.triggering_cntr, NULL), 0);
	assert_int_equal(fi_control(&rig->domain->fid, FI_QUEUE_WORK, &work), 0);
	return work.triggering_cntr;
}

/* A thread sleeps while a send waits only for the connection. Returns the queue's descriptor. */
static int sleep_unconnected(struct rig *rig, struct fid_cntr **cntr)
{
	int fd;

	rig->info->caps |= FI_TRIGGER;
	rig->cq_attr.wait_obj = FI_WAIT_FD;
	rig_enable(rig);
	*cntr = queue_send(rig);
	assert_int_equal(ofi_cq_trywait(&rig->cq[0]->fid), 0);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAIT, &fd), 0);
	assert_false(readable(fd));
	return fd;
}

static void test_work_connected(void **state)
{
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	int fd = sleep_unconnected(rig, &cntr);

	vrb_ep_ready(vrb_ep(rig->ep));
	assert_true(readable(fd));
	assert_int_equal(sread(rig, 0), -FI_EAGAIN);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, 1);
	assert_int_equal(ofi_cq_trywait(&rig->cq[0]->fid), 0);
	assert_false(readable(fd));
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static void test_work_rejected(void **state)
{
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	int fd = sleep_unconnected(rig, &cntr);

	vrb_ep_down(vrb_ep(rig->ep), -FI_ECONNREFUSED);
	assert_true(readable(fd));
	assert_int_equal(sread(rig, LONG), -FI_EAVAIL);
	assert_ptr_equal(rig_error(rig->cq[0]).op_context, context);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

/*
 * The send queue is full of silent sends, whose completion queue nobody reads. No thread sleeps
 * while there is work that only its look can post.
 */
static void test_work_full(void **state)
{
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	int posted = 0, fd;

	rig->info->caps |= FI_TRIGGER;
	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	open_all(rig, FI_WAIT_FD);
	while (!rig_send(rig->ep, context))
		posted++;
	assert_int_equal(fi_control(&rig->cq[1]->fid, FI_GETWAIT, &fd), 0);
	assert_int_equal(ofi_cq_trywait(&rig->cq[1]->fid), 0);
	assert_false(readable(fd));
	cntr = queue_send(rig);
	assert_true(readable(fd));
	assert_int_equal(ofi_cq_trywait(&rig->cq[1]->fid), 0);
	assert_true(readable(fd));
	fake_complete_sends(rig_qp(rig), posted, IBV_WC_SUCCESS);
	assert_int_equal(ofi_cq_trywait(&rig->cq[1]->fid), 0);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, posted + 1);
	assert_false(readable(fd));
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	assert_int_equal(fi_close(&cntr->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_none),	      RIG_TEST(test_refused),
		RIG_TEST(test_wait_set),      RIG_TEST(test_poll_set),
		RIG_TEST(test_getwait),	      RIG_TEST(test_sread),
		RIG_TEST(test_woken),	      RIG_TEST(test_lost),
		RIG_TEST(test_signal),	      RIG_TEST(test_trywait),
		RIG_TEST(test_acks),	      RIG_TEST(test_threshold),
		RIG_TEST(test_sreadfrom),     RIG_TEST(test_others),
		RIG_TEST(test_no_events),     RIG_TEST(test_work_connected),
		RIG_TEST(test_work_rejected), RIG_TEST(test_work_full),
	};

	return RIG_RUN("verbs_cq_wait", tests);
}
