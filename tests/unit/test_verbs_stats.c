/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The provider's counts, compared with known traffic. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/stats_read.h"
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_stats.h>
#include "verbs_rig.h"

static char buf[4096];

static uint64_t item_of(const struct fi_stats_item *items, ssize_t n, const char *name)
{
	ssize_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(items[i].name, name))
			return items[i].value;
	fail_msg("no item %s", name);
	return 0;
}

static uint64_t stat_of(struct fid *fid, const char *name)
{
	struct fi_stats_item items[FI_STATS_MAX];
	struct fi_ops_stats *ops;
	ssize_t n;

	assert_int_equal(fi_open_ops(fid, FI_STATS_OPS, 0, (void **)&ops, NULL), 0);
	assert_true(ops->size >= sizeof(*ops));
	n = ops->read(fid, items, FI_STATS_MAX);
	assert_true(n > 0 && n <= FI_STATS_MAX);
	return item_of(items, n, name);
}

#define EP(rig, name)	  stat_of(&(rig)->ep->fid, name)
#define CQ(rig, i, name)  stat_of(&(rig)->cq[i]->fid, name)
#define DOMAIN(rig, name) stat_of(&(rig)->domain->fid, name)

static void complete_sends(struct rig *rig, unsigned int n)
{
	unsigned int i;

	fake_complete_sends(rig_qp(rig), n, IBV_WC_SUCCESS);
	for (i = 0; i < n; i++)
		rig_entry(rig->cq[0]);
}

static void test_sends(void **state)
{
	struct rig *rig = *state;
	uint64_t i, bytes = 0;

	rig_connect(rig);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(EP(rig, "sends"), i);
		assert_int_equal(EP(rig, "send_bytes"), bytes);
		assert_int_equal(fi_send(rig->ep, buf, i, NULL, 0, NULL), 0);
		bytes += i;
		assert_int_equal(EP(rig, "tx_outstanding"), 1);
		complete_sends(rig, 1);
		assert_int_equal(EP(rig, "tx_completed"), i + 1);
	}
	assert_int_equal(EP(rig, "doorbells"), 1000);
	assert_int_equal(CQ(rig, 0, "completed"), 1000);
	assert_int_equal(CQ(rig, 1, "completed"), 0);
	assert_int_equal(EP(rig, "writes") + EP(rig, "reads") + EP(rig, "atomics"), 0);
}

static void test_receives(void **state)
{
	struct rig *rig = *state;
	uint64_t i, bytes = 0;
	uint32_t imm = 7;

	rig_connect(rig);
	for (i = 0; i < 100; i++) {
		assert_int_equal(fi_recv(rig->ep, buf, sizeof(buf), NULL, 0, NULL), 0);
		fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, i,
				   i % 2 ? &imm : NULL);
		bytes += i;
		rig_entry(rig->cq[1]);
		assert_int_equal(EP(rig, "receives"), i + 1);
		assert_int_equal(EP(rig, "rx_completed"), i + 1);
		assert_int_equal(EP(rig, "receive_bytes"), bytes);
	}
	assert_int_equal(CQ(rig, 1, "completed"), 100);
	assert_int_equal(EP(rig, "rx_outstanding"), 0);
}

/* Receives without an entry count too, whoever takes their completions. */
static void test_silent(void **state)
{
	struct rig *rig = *state;
	int i;

	rig->rx_bind = FI_SELECTIVE_COMPLETION;
	rig_connect(rig);
	for (i = 0; i < 3; i++)
		assert_int_equal(fi_recv(rig->ep, buf, 64, NULL, 0, NULL), 0);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, 10, NULL);
	rig_no_entry(rig->cq[1]);
	assert_int_equal(EP(rig, "receive_bytes"), 10);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, 20, NULL);
	vrb_cq_reclaim(vrb_cq(rig->cq[1]));
	assert_int_equal(EP(rig, "receive_bytes"), 30);
	assert_int_equal(EP(rig, "rx_completed"), 2);
	assert_int_equal(CQ(rig, 1, "completed"), 2);
}

/* Read in batches of each format. */
static void test_formats(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_tagged_entry entries[8];
	enum fi_cq_format format;
	int i;

	for (format = FI_CQ_FORMAT_CONTEXT; format <= FI_CQ_FORMAT_TAGGED; format++) {
		rig_teardown(state);
		rig_setup(state);
		rig->cq_attr.format = format;
		rig_connect(rig);
		for (i = 0; i < 6; i++)
			assert_int_equal(fi_recv(rig->ep, buf, 64, NULL, 0, NULL), 0);
		for (i = 0; i < 6; i++)
			fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, 10, NULL);
		assert_int_equal(fi_cq_read(rig->cq[1], entries, 1), 1);
		assert_int_equal(EP(rig, "receive_bytes"), 10);
		assert_int_equal(fi_cq_read(rig->cq[1], entries, 8), 5);
		assert_int_equal(EP(rig, "receive_bytes"), 60);
		assert_int_equal(CQ(rig, 1, "completed"), 6);
	}
}

static void test_kinds(void **state)
{
	struct rig *rig = *state;
	uint64_t word = 1;

	rig_connect(rig);
	assert_int_equal(fi_write(rig->ep, buf, 100, NULL, 0, 0, 1, NULL), 0);
	assert_int_equal(fi_inject_write(rig->ep, buf, 8, 0, 0, 1), 0);
	assert_int_equal(fi_read(rig->ep, buf, 300, NULL, 0, 0, 1, NULL), 0);
	assert_int_equal(fi_atomic(rig->ep, &word, 1, NULL, 0, 0, 1, FI_UINT64, FI_SUM, NULL), 0);
	assert_int_equal(fi_inject(rig->ep, buf, 5, 0), 0);
	assert_int_equal(fi_senddata(rig->ep, buf, 6, NULL, 1, 0, NULL), 0);
	assert_int_equal(EP(rig, "sends"), 2);
	assert_int_equal(EP(rig, "send_bytes"), 11);
	assert_int_equal(EP(rig, "writes"), 2);
	assert_int_equal(EP(rig, "write_bytes"), 108);
	assert_int_equal(EP(rig, "reads"), 1);
	assert_int_equal(EP(rig, "read_bytes"), 300);
	assert_int_equal(EP(rig, "atomics"), 1);
	assert_int_equal(EP(rig, "atomic_bytes"), 8);
	assert_int_equal(EP(rig, "tx_outstanding"), 6);
}

static void test_refused(void **state)
{
	struct rig *rig = *state;
	int i;

	rig_connect(rig);
	fake_qp(rig_qp(rig))->post_err = EINVAL;
	assert_int_equal(fi_write(rig->ep, buf, 100, NULL, 0, 0, 1, NULL), -FI_EINVAL);
	fake_qp(rig_qp(rig))->post_err = EINVAL;
	assert_int_equal(fi_send(rig->ep, buf, 100, NULL, 0, NULL), -FI_EINVAL);
	fake_qp(rig_qp(rig))->post_err = EINVAL;
	assert_int_equal(fi_recv(rig->ep, buf, 100, NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(EP(rig, "tx_refused"), 2);
	assert_int_equal(EP(rig, "rx_refused"), 1);
	assert_int_equal(EP(rig, "writes") + EP(rig, "write_bytes") + EP(rig, "send_bytes"), 0);
	assert_int_equal(EP(rig, "sends") + EP(rig, "receives"), 0);
	for (i = 0; i < 8; i++) {
		assert_int_equal(fi_send(rig->ep, buf, 10, NULL, 0, NULL), 0);
		assert_int_equal(fi_recv(rig->ep, buf, 10, NULL, 0, NULL), 0);
	}
	for (i = 0; i < 3; i++)
		assert_int_equal(fi_send(rig->ep, buf, 10, NULL, 0, NULL), -FI_EAGAIN);
	assert_int_equal(fi_recv(rig->ep, buf, 10, NULL, 0, NULL), -FI_EAGAIN);
	assert_int_equal(EP(rig, "tx_eagain"), 3);
	assert_int_equal(EP(rig, "rx_eagain"), 1);
	assert_int_equal(EP(rig, "sends"), 8);
	assert_int_equal(EP(rig, "send_bytes"), 80);
}

static void test_doorbells(void **state)
{
	struct rig *rig = *state;
	struct iovec iov = { buf, 16 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct fake_qp *qp;
	int i;

	rig_connect(rig);
	qp = fake_qp(rig_qp(rig));
	for (i = 0; i < 4; i++) {
		assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MORE), 0);
		assert_int_equal(EP(rig, "doorbells"), qp->doorbells);
	}
	assert_int_equal(fi_sendmsg(rig->ep, &msg, 0), 0);
	assert_int_equal(qp->doorbells, 1);
	assert_int_equal(EP(rig, "doorbells"), 1);
	assert_int_equal(EP(rig, "sends"), 5);
	assert_int_equal(EP(rig, "send_bytes"), 80);
	complete_sends(rig, 5);
	assert_int_equal(fi_send(rig->ep, buf, 1, NULL, 0, NULL), 0);
	assert_int_equal(EP(rig, "doorbells"), qp->doorbells);
}

static void test_errors(void **state)
{
	struct rig *rig = *state;

	rig_connect(rig);
	assert_int_equal(fi_send(rig->ep, buf, 1, NULL, 0, NULL), 0);
	assert_int_equal(fi_send(rig->ep, buf, 1, NULL, 0, NULL), 0);
	assert_int_equal(fi_recv(rig->ep, buf, 1, NULL, 0, NULL), 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_RNR_RETRY_EXC_ERR);
	rig_error(rig->cq[0]);
	assert_int_equal(EP(rig, "rnr_exceeded"), 1);
	assert_int_equal(EP(rig, "tx_errors"), 1);
	fake_flush(rig_qp(rig));
	rig_error(rig->cq[0]);
	rig_error(rig->cq[1]);
	assert_int_equal(EP(rig, "rnr_exceeded"), 1);
	assert_int_equal(EP(rig, "tx_errors"), 2);
	assert_int_equal(EP(rig, "rx_errors"), 1);
	assert_int_equal(CQ(rig, 0, "errors"), 2);
	assert_int_equal(CQ(rig, 0, "completed"), 2);
	assert_int_equal(CQ(rig, 1, "errors"), 1);
}

static void test_regions(void **state)
{
	struct rig *rig = *state;
	struct fid_mr *mr[2];

	rig_open_domain(rig);
	assert_int_equal(fi_mr_reg(rig->domain, buf, 100, FI_SEND, 0, 0, 0, &mr[0], NULL), 0);
	assert_int_equal(fi_mr_reg(rig->domain, buf, 200, FI_SEND, 0, 0, 0, &mr[1], NULL), 0);
	assert_int_equal(DOMAIN(rig, "regions"), 2);
	assert_int_equal(DOMAIN(rig, "registered_bytes"), 300);
	fi_close(&mr[0]->fid);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = ENOMEM;
	assert_int_equal(fi_mr_reg(rig->domain, buf, 100, FI_SEND, 0, 0, 0, &mr[0], NULL),
			 -FI_ENOMEM);
	assert_int_equal(DOMAIN(rig, "registration_errors"), 1);
	assert_int_equal(DOMAIN(rig, "regions"), 1);
	assert_int_equal(DOMAIN(rig, "registered_bytes"), 200);
	fi_close(&mr[1]->fid);
	assert_int_equal(DOMAIN(rig, "registrations"), 2);
	assert_int_equal(DOMAIN(rig, "regions") + DOMAIN(rig, "registered_bytes"), 0);
}

/* A CQ keeps what its closed endpoints completed. */
static void test_closed_ep(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;

	rig_connect(rig);
	other = rig_another_ep(rig);
	assert_int_equal(rig_send(other, NULL), 0);
	fake_complete_sends(vrb_ep(other)->qp, 1, IBV_WC_SUCCESS);
	rig_entry(rig->cq[0]);
	assert_int_equal(CQ(rig, 0, "completed"), 1);
	fi_close(&other->fid);
	assert_int_equal(CQ(rig, 0, "completed"), 1);
	assert_int_equal(rig_send(rig->ep, NULL), 0);
	complete_sends(rig, 1);
	assert_int_equal(CQ(rig, 0, "completed"), 2);
}

static void test_calls(void **state)
{
	struct rig *rig = *state;
	struct fi_stats_item items[FI_STATS_MAX] = { { .name = "untouched" } };
	struct fi_ops other_ops = { .size = sizeof(other_ops) };
	struct fi_ops_domain none = { .size = sizeof(none) };
	struct fid_domain other = { .fid.ops = &other_ops, .ops = &none };
	struct fi_ops_stats *ops;
	struct fid *fid;
	void *any;

	rig_open_ep(rig);
	fid = &rig->ep->fid;
	assert_int_equal(fi_open_ops(fid, "nonsense", 0, &any, NULL), -FI_ENOSYS);
	assert_int_equal(fi_open_ops(fid, NULL, 0, &any, NULL), -FI_EINVAL);
	assert_int_equal(fi_open_ops(fid, FI_STATS_OPS, 0, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_open_ops(fid, FI_STATS_OPS, 1, &any, NULL), -FI_EBADFLAGS);
	assert_int_equal(fi_open_ops(fid, FI_STATS_OPS, 0, (void **)&ops, NULL), 0);
	assert_int_equal(ops->read(fid, items, FI_STATS_MAX), -FI_EOPBADSTATE);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(ops->read(NULL, items, 1), -FI_EINVAL);
	/* Those of another kind. */
	for (other.fid.fclass = FI_CLASS_UNSPEC; other.fid.fclass < FI_CLASS_NIC;
	     other.fid.fclass++)
		assert_int_equal(ops->read(&other.fid, items, 1), -FI_EINVAL);
	assert_int_equal(ops->read(fid, NULL, 1), -FI_EINVAL);
	assert_true(ops->read(fid, NULL, 0) > 2);
	assert_string_equal(items[0].name, "untouched");
	items[1].name = "untouched";
	assert_true(ops->read(fid, items, 1) > 2);
	assert_string_equal(items[0].name, "sends");
	assert_string_equal(items[1].name, "untouched");
}

/* What another process sees is the same, and only of what is open. */
static void test_shown(void **state)
{
	struct rig *rig = *state;
	struct fi_stats_object object = { 0 };
	struct fi_ops_stats_process *ops;
	uint32_t group = 0;
	struct fid *fid;
	int found = 0;

	rig_connect(rig);
	assert_int_equal(fi_send(rig->ep, buf, 77, NULL, 0, NULL), 0);
	complete_sends(rig, 1);
	assert_int_equal(ofi_stats_open(NULL, 0, 0, &fid, NULL), 0);
	assert_int_equal(fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, (void **)&ops, NULL), 0);
	while (ops->next(fid, object.id, &object) == 1) {
		found++;
		if (object.fclass == FI_CLASS_TX_CTX) {
			assert_int_equal(item_of(object.items, object.count, "send_bytes"), 77);
			assert_int_equal(item_of(object.items, object.count, "sends"), 1);
			group = object.group;
		} else if (object.fclass == FI_CLASS_RX_CTX) {
			assert_int_equal(object.group, group);
			assert_int_equal(object.cq, vrb_cq(rig->cq[1])->stats->id);
		} else if (object.fclass == FI_CLASS_CQ) {
			assert_int_equal(item_of(object.items, object.count, "completed"),
					 object.id == vrb_cq(rig->cq[0])->stats->id);
		}
	}
	assert_int_equal(found, 5);
	fi_close(&rig->ep->fid);
	rig->ep = NULL;
	for (object.id = 0; ops->next(fid, object.id, &object) == 1; found--)
		assert_true(object.fclass == FI_CLASS_CQ || object.fclass == FI_CLASS_DOMAIN);
	assert_int_equal(found, 2);
	fi_close(fid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_sends),	  RIG_TEST(test_receives), RIG_TEST(test_silent),
		RIG_TEST(test_formats),	  RIG_TEST(test_kinds),	   RIG_TEST(test_refused),
		RIG_TEST(test_doorbells), RIG_TEST(test_errors),   RIG_TEST(test_regions),
		RIG_TEST(test_closed_ep), RIG_TEST(test_calls),	   RIG_TEST(test_shown),
	};

	return RIG_RUN("stats", tests);
}
