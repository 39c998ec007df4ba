/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asynchronous events of a device: which objects get them, and that each is acknowledged. */
#include "unit.h"
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <prov/verbs/provider/async.h>
#include <prov/verbs/queue/cq.h>
#include <prov/verbs/rdm/conn.h>
#include <prov/verbs/rdm/rc_conn.h>
#include <prov/verbs/msg/srx.h>
#include "fake_cm.h"

static struct fake_bed bed;
static struct vrb_ep *ep;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct ibv_async_event next;
static int pending, acked;
static int hangup; /* errno of a device that was cut off */

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *event)
{
	uint64_t count;
	int ret = -1;

	pthread_mutex_lock(&mutex);
	errno = EAGAIN;
	if (hangup) {
		errno = hangup;
	} else if (pending) {
		pending--;
		*event = next;
		ret = 0;
	} else {
		(void)!read(ctx->async_fd, &count, sizeof(count));
		errno = EAGAIN;
	}
	pthread_mutex_unlock(&mutex);
	return ret;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
	pthread_mutex_lock(&mutex);
	acked++;
	pthread_mutex_unlock(&mutex);
}

static int setup(void **state)
{
	(void)state;
	fake_init(&bed);
	bed.ctx.async_fd = eventfd(0, EFD_CLOEXEC);
	ep = fake_ep(&bed);
	assert_int_equal(vrb_conn_init(ep, ep->info), 0);
	LIST_INSERT_HEAD(&bed.domain.eps, ep, siblings);
	bed.domain.base.eq = ofi_eq(bed.eq);
	pending = acked = hangup = 0;
	assert_int_equal(vrb_async_open(&bed.domain), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vrb_async_close(&bed.domain);
	fake_ep_close(ep);
	fake_fini(&bed);
	close(bed.ctx.async_fd);
	return 0;
}

static void kick(void)
{
	const uint64_t one = 1;

	assert_int_equal(write(bed.ctx.async_fd, &one, sizeof(one)), sizeof(one));
}

static void happen(struct ibv_async_event event)
{
	int i, done = 0;

	pthread_mutex_lock(&mutex);
	next = event;
	pending = 1;
	acked = 0;
	pthread_mutex_unlock(&mutex);
	kick();
	for (i = 0; i < 5000 && !done; i++) {
		usleep(1000);
		pthread_mutex_lock(&mutex);
		done = acked;
		pthread_mutex_unlock(&mutex);
	}
	assert_int_equal(done, 1);
}

static struct ibv_async_event of_qp(enum ibv_event_type type)
{
	return (struct ibv_async_event){ .event_type = type, .element.qp = ep->qp };
}

static void up(void)
{
	ep->conn.state = VRB_CONN_UP;
	ep->conn.shutdown_due = true;
}

static void expect_notify(enum ibv_event_type event, uint32_t port)
{
	struct fi_eq_entry entry;
	uint32_t type;

	assert_int_equal(fi_eq_read(bed.eq, &type, &entry, sizeof(entry), 0), sizeof(entry));
	assert_int_equal(type, FI_NOTIFY);
	assert_ptr_equal(entry.fid, &bed.domain.fid.fid);
	assert_int_equal(entry.data, (uint64_t)event << 32 | port);
}

static void ports_are_notified(void **state)
{
	static const enum ibv_event_type types[] = {
		IBV_EVENT_PORT_ERR,	     IBV_EVENT_PORT_ACTIVE, IBV_EVENT_LID_CHANGE,
		IBV_EVENT_PKEY_CHANGE,	     IBV_EVENT_GID_CHANGE,  IBV_EVENT_SM_CHANGE,
		IBV_EVENT_CLIENT_REREGISTER,
	};
	struct ibv_async_event event = { .element.port_num = 2 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		event.event_type = types[i];
		happen(event);
		expect_notify(types[i], 2);
	}
}

/* Another path is no end of a connection. */
static void paths_are_notified(void **state)
{
	(void)state;
	up();
	happen(of_qp(IBV_EVENT_PATH_MIG));
	expect_notify(IBV_EVENT_PATH_MIG, 0);
	happen(of_qp(IBV_EVENT_PATH_MIG_ERR));
	expect_notify(IBV_EVENT_PATH_MIG_ERR, 0);
	assert_int_equal(ep->conn.state, VRB_CONN_UP);
}

static void nobody_is_told_who_did_not_ask(void **state)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_SM_CHANGE, .element.port_num = 1 };

	(void)state;
	bed.domain.base.eq = NULL;
	happen(event);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
}

static void queue_pairs_break(void **state)
{
	static const struct {
		enum ibv_event_type type;
		int err;
	} rows[] = {
		{ IBV_EVENT_QP_FATAL, FI_EIO },
		{ IBV_EVENT_QP_REQ_ERR, FI_EREMOTEIO },
		{ IBV_EVENT_QP_ACCESS_ERR, FI_EKEYREJECTED },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		up();
		happen(of_qp(rows[i].type));
		assert_int_equal(fake_read(bed.eq, NULL, NULL), -rows[i].err);
		assert_int_equal(fake_read(bed.eq, NULL, NULL), FI_SHUTDOWN);
		assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
	}
}

static void the_rest_of_queue_pairs(void **state)
{
	(void)state;
	ep->conn.state = VRB_CONN_ACCEPTING;
	happen(of_qp(IBV_EVENT_COMM_EST));
	assert_non_null(strstr(fake.calls, "notify"));
	happen(of_qp(IBV_EVENT_SQ_DRAINED));
	happen(of_qp(IBV_EVENT_QP_LAST_WQE_REACHED));
	assert_int_equal(ep->conn.state, VRB_CONN_ACCEPTING);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
}

/* Whose queue pair it is says what begins its context. */
static void reliable_datagrams(void **state)
{
	static struct ofi_rdm_ep rdm = { .closing = true };
	struct vrb_rc_conn conn = { .owner.ops = &vrb_rc_conn_ops, .ep = &rdm };
	struct ibv_qp qp = { .qp_context = &conn.owner };
	struct ibv_async_event event = { .event_type = IBV_EVENT_QP_FATAL, .element.qp = &qp };

	(void)state;
	up();
	happen(event);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
	assert_int_equal(conn.state, VRB_RC_CONN_NEW);
}

static void completion_queues_overrun(void **state)
{
	struct vrb_cq cq = { .bunch = 1 }, other = { .bunch = 1 };
	struct ibv_cq ibv = { .cq_context = &cq };
	struct ibv_async_event event = { .event_type = IBV_EVENT_CQ_ERR, .element.cq = &ibv };

	(void)state;
	up();
	ep->tx_cq = ep->rx_cq = &other;
	happen(event);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
	ep->rx_cq = &cq;
	happen(event);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), -FI_EOVERRUN);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), FI_SHUTDOWN);
}

static int failed; /* 1 if the domain's lock was free and no endpoint could go, else -1 */

static void fatal(struct vrb_owner *owner, int err)
{
	bool is_free = ofi_trylock(&bed.domain.lock);
	bool stays = !ofi_trylock(&bed.domain.fail_lock);

	(void)owner;
	(void)err;
	if (is_free)
		ofi_unlock(&bed.domain.lock);
	__atomic_store_n(&failed, is_free && stays ? 1 : -1, __ATOMIC_RELEASE);
}

/*
 * An endpoint that fails waits for a thread that posts to it. That thread may find that a closed
 * queue is no longer used, and then it waits for the domain's lock.
 */
static void failing_leaves_the_lock(void **state)
{
	static const struct vrb_owner_ops ops = { .fatal = fatal };
	const struct vrb_owner_ops *own = ep->owner.ops;
	struct vrb_cq cq = { .bunch = 1 };
	struct ibv_cq ibv = { .cq_context = &cq };

	(void)state;
	ep->tx_cq = ep->rx_cq = &cq;
	ep->owner.ops = &ops;
	happen((struct ibv_async_event){ .event_type = IBV_EVENT_CQ_ERR, .element.cq = &ibv });
	assert_int_equal(__atomic_load_n(&failed, __ATOMIC_ACQUIRE), 1);
	ep->owner.ops = own;
}

static struct vrb_srq srq;
static struct vrb_srx srx = { .srq = &srq, .domain = &bed.domain };

static struct ibv_async_event of_srq(enum ibv_event_type type)
{
	static struct ibv_srq ibv = { .srq_context = &srx };

	srx.fid.fid.context = &ibv;
	srx.eq = ofi_eq(bed.eq);
	return (struct ibv_async_event){ .event_type = type, .element.srq = &ibv };
}

static void shared_receives_run_low(void **state)
{
	struct ibv_async_event event = of_srq(IBV_EVENT_SRQ_LIMIT_REACHED);
	struct fi_eq_entry entry;
	uint32_t type;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		happen(event);
		assert_int_equal(fi_eq_read(bed.eq, &type, &entry, sizeof(entry), 0),
				 sizeof(entry));
		assert_int_equal(type, FI_NOTIFY);
		assert_ptr_equal(entry.fid, &srx.fid.fid);
		assert_ptr_equal(entry.context, event.element.srq);
		assert_int_equal(entry.data, (uint64_t)IBV_EVENT_SRQ_LIMIT_REACHED << 32);
		srx.eq = NULL; /* then it is for the domain's */
	}
	bed.domain.base.eq = NULL;
	happen(event);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
}

static void shared_receives_fail(void **state)
{
	(void)state;
	srq = (struct vrb_srq){ 0 };
	up();
	happen(of_srq(IBV_EVENT_SRQ_ERR));
	assert_int_equal(fake_read(bed.eq, NULL, NULL), -FI_EIO);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
	assert_int_equal(srq.down_err, -FI_EIO);
	assert_true(vrb_wq_special(&srq.wq) & VRB_WQ_SHUT);
	ep->srx = &srx;
	happen(of_srq(IBV_EVENT_SRQ_ERR));
	assert_int_equal(fake_read(bed.eq, NULL, NULL), -FI_EIO);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), -FI_EIO);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), FI_SHUTDOWN);
	happen(of_qp(IBV_EVENT_QP_LAST_WQE_REACHED));
	assert_true(__atomic_load_n(&ep->last_wqe, __ATOMIC_ACQUIRE));
}

static void expect_lost(void)
{
	assert_true(__atomic_load_n(&bed.domain.dead, __ATOMIC_ACQUIRE));
	assert_int_equal(fake_read(bed.eq, NULL, NULL), -FI_ENODEV);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), -FI_ENODEV);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), FI_SHUTDOWN);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
	assert_int_equal(fake.down_err, -FI_ENODEV);
}

static void the_device_fails(void **state)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_DEVICE_FATAL };

	(void)state;
	srq = (struct vrb_srq){ 0 };
	LIST_INSERT_HEAD(&bed.domain.srxs, &srx, siblings);
	up();
	happen(event);
	expect_lost();
	assert_int_equal(srq.down_err, -FI_ENODEV);
	LIST_REMOVE(&srx, siblings);
	fake_event(ep->conn.id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	happen(event);
	fake_settle();
	assert_int_equal(fake_read(bed.eq, NULL, NULL), 0);
}

static void the_device_is_removed(void **state)
{
	(void)state;
	up();
	fake_event(ep->conn.id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	fake_settle();
	expect_lost();
}

static void the_device_is_cut_off(void **state)
{
	int i;

	(void)state;
	up();
	pthread_mutex_lock(&mutex);
	hangup = EIO;
	pthread_mutex_unlock(&mutex);
	kick();
	for (i = 0; i < 5000 && !__atomic_load_n(&bed.domain.dead, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	fake_settle();
	usleep(20000);
	expect_lost();
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(ports_are_notified),
		test(paths_are_notified),
		test(nobody_is_told_who_did_not_ask),
		test(queue_pairs_break),
		test(the_rest_of_queue_pairs),
		test(completion_queues_overrun),
		test(failing_leaves_the_lock),
		test(reliable_datagrams),
		test(the_device_fails),
		test(the_device_is_removed),
		test(the_device_is_cut_off),
		test(shared_receives_run_low),
		test(shared_receives_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
