/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Deferred work, triggered operations and aliases on contexts of scalable endpoints. Closing a
 * context drops its work alone.
 */
#include <rdma/fi_trigger.h>
#include "sep.h"

enum { TX = 2, RX = 3 };

static struct sep_pair pair;
static struct fid_cntr *trigger, *done;
static uint64_t in, out;

static struct fid_cntr *open_cntr(void)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_cntr *cntr;

	OK(fi_cntr_open(pair.domain, &attr, &cntr, NULL));
	return cntr;
}

static int queue(struct fid_ep *ep, enum fi_op_type type, fi_addr_t addr, uint64_t *word,
		 uint64_t threshold)
{
	static struct fi_deferred_work work[4];
	static struct fi_op_tagged op[4];
	static struct iovec iov[4];
	static int next;
	int i = next++ % 4;

	iov[i] = (struct iovec){ word, sizeof(*word) };
	op[i] = (struct fi_op_tagged){
		.ep = ep, .msg = { .msg_iov = &iov[i], .iov_count = 1, .addr = addr, .tag = 1 }
	};
	work[i] = (struct fi_deferred_work){ .threshold = threshold,
					     .triggering_cntr = trigger,
					     .completion_cntr = done,
					     .op_type = type,
					     .op.tagged = &op[i] };
	return fi_control(&pair.domain->fid, FI_QUEUE_WORK, &work[i]);
}

static void await_done(uint64_t value)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	int i;

	while (fi_cntr_read(done) < value) {
		for (i = 0; i < 2 * SEP_MANY; i++)
			RETURNS(fi_cq_read(pair.side[i / SEP_MANY].cq[i % SEP_MANY], &entry, 0),
				-FI_EAGAIN);
		pause_until(end, "deferred work");
	}
}

static void deferred(void)
{
	out = 12;
	OK(queue(pair.side[1].rx[RX], FI_OP_TRECV, FI_ADDR_UNSPEC, &in, 1));
	OK(queue(pair.side[0].tx[TX], FI_OP_TSEND, sep_addr(&pair, 0, RX), &out, 1));
	EQUAL(fi_cntr_read(done), 0);
	OK(fi_cntr_add(trigger, 1));
	await_done(2);
	EQUAL(in, 12);
	EQUAL(fi_cntr_readerr(done), 0);
}

static void triggered(void)
{
	struct fi_triggered_context context = {
		.event_type = FI_TRIGGER_THRESHOLD,
		.trigger.threshold = { .cntr = trigger, .threshold = 2 },
	};
	struct iovec iov = { &out, sizeof(out) };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
				     .iov_count = 1,
				     .addr = sep_addr(&pair, 0, RX),
				     .tag = 2,
				     .context = &context };

	out = 13;
	OK(fi_trecv(pair.side[1].rx[RX], &in, sizeof(in), NULL, FI_ADDR_UNSPEC, 2, 0, &in));
	OK(fi_tsendmsg(pair.side[0].tx[TX], &msg, FI_TRIGGER | FI_COMPLETION));
	EQUAL(fi_cntr_read(trigger), 1);
	OK(fi_cntr_add(trigger, 1));
	CHECK(sep_wait(&pair, 1, RX, &(fi_addr_t){ 0 }).op_context == &in);
	CHECK(sep_wait(&pair, 0, TX, &(fi_addr_t){ 0 }).op_context == &context);
	EQUAL(in, 13);
}

/* The alias keeps the context open, and has its own default flags. */
static void aliased(void)
{
	uint64_t flags = FI_TRANSMIT;
	struct sep_side *side = &pair.side[0];
	struct fid_ep *alias = NULL, *other;

	OK(fi_ep_alias(side->tx[TX], &alias, FI_TRANSMIT | FI_DELIVERY_COMPLETE));
	RETURNS(fi_ep_alias(side->tx[TX], &other, FI_TRANSMIT | FI_PEEK), -FI_EBADFLAGS);
	EQUAL(alias->fid.fclass, FI_CLASS_TX_CTX);
	OK(fi_control(&alias->fid, FI_GETOPSFLAG, &flags));
	EQUAL(flags, FI_DELIVERY_COMPLETE);
	OK(fi_close(&side->tx[TX]->fid));
	RETURNS(fi_tx_context(side->sep, TX, NULL, &other, NULL), -FI_EBUSY);
	out = 14;
	OK(fi_trecv(pair.side[1].rx[RX], &in, sizeof(in), NULL, FI_ADDR_UNSPEC, 3, 0, &in));
	OK(fi_tsend(alias, &out, sizeof(out), NULL, sep_addr(&pair, 0, RX), 3, &out));
	sep_wait(&pair, 1, RX, &(fi_addr_t){ 0 });
	sep_wait(&pair, 0, TX, &(fi_addr_t){ 0 });
	EQUAL(in, 14);
	RETURNS(fi_trecv(alias, &in, 1, NULL, FI_ADDR_UNSPEC, 0, 0, NULL), -FI_ENOSYS);
	OK(fi_close(&alias->fid));
	OK(fi_tx_context(side->sep, TX, NULL, &side->tx[TX], NULL));
	OK(fi_ep_bind(side->tx[TX], &side->cq[TX]->fid, FI_TRANSMIT));
	OK(fi_enable(side->tx[TX]));
}

/* The work of a closed context goes with it; that of its other half stays. */
static void dropped(void)
{
	struct sep_side *side = &pair.side[0];

	OK(queue(side->rx[TX], FI_OP_TRECV, FI_ADDR_UNSPEC, &in, 3));
	OK(queue(side->tx[TX], FI_OP_TSEND, sep_addr(&pair, 0, RX), &out, 3));
	OK(fi_close(&side->tx[TX]->fid));
	OK(fi_cntr_add(trigger, 1));
	out = 15;
	OK(fi_tsend(pair.side[1].tx[RX], &out, sizeof(out), NULL, sep_addr(&pair, 1, TX), 1, &out));
	await_done(3);
	EQUAL(in, 15);
	EQUAL(fi_cntr_readerr(done), 0);
	sep_wait(&pair, 1, RX, &(fi_addr_t){ 0 });
	OK(fi_tx_context(side->sep, TX, NULL, &side->tx[TX], NULL));
}

static void not_collective(void)
{
	struct fi_info *hints = fi_dupinfo(pair.info), *info;

	CHECK(hints);
	hints->caps |= FI_COLLECTIVE;
	RETURNS(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void test(void)
{
	sep_open_caps(&pair, FI_THREAD_SAFE, FI_TAGGED | FI_TRIGGER | FI_NAMED_RX_CTX);
	CHECK(!(pair.info->caps & FI_COLLECTIVE));
	trigger = open_cntr();
	done = open_cntr();
	deferred();
	triggered();
	aliased();
	dropped();
	not_collective();
	OK(fi_close(&trigger->fid));
	OK(fi_close(&done->fid));
	sep_close(&pair);
}

int main(void)
{
	return run_test(test);
}
