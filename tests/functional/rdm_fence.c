/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_FENCE of reliable datagrams: the effects of a fenced operation and of those behind it occur
 * after all effects of those before it.
 */
#include "rdm.h"

#include <string.h>

enum { LEN = 1 << 18, KEY = 7, MANY = 100 };

static struct rdm_pair pair;
static struct fid_mr *mr;
static uint64_t base;
static uint8_t target[LEN + 16], in[LEN], got[LEN];
static char read_context, context, behind;

#define TAIL  (in + LEN - 8) /* the last packet of the read: the part that is sent */
#define PLACE (base + LEN)   /* behind what is read */

static void read_all(void)
{
	struct iovec iov = { in, LEN };
	struct fi_rma_iov source = { base, LEN, fi_mr_key(mr) };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = pair.side[0].peer,
				  .rma_iov = &source,
				  .rma_iov_count = 1,
				  .context = &read_context };

	OK(fi_readmsg(pair.side[0].ep, &msg, FI_MORE));
}

static void send_tail(uint64_t flags)
{
	struct iovec iov = { TAIL, 8 };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = pair.side[0].peer, .context = &context
	};

	OK(fi_sendmsg(pair.side[0].ep, &msg, flags));
}

static void tsend_for(void *of, uint64_t flags)
{
	struct iovec iov = { TAIL, 8 };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = pair.side[0].peer, .tag = 1, .context = of
	};

	OK(fi_tsendmsg(pair.side[0].ep, &msg, flags));
}

static void tsend_tail(uint64_t flags)
{
	tsend_for(&context, flags);
}

static void write_tail(uint64_t flags)
{
	struct iovec iov = { TAIL, 8 };
	struct fi_rma_iov place = { PLACE, 8, fi_mr_key(mr) };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = pair.side[0].peer,
				  .rma_iov = &place,
				  .rma_iov_count = 1,
				  .context = &context };

	OK(fi_writemsg(pair.side[0].ep, &msg, flags));
}

static void atomic_tail(uint64_t flags)
{
	struct fi_ioc ioc = { TAIL, 1 };
	struct fi_rma_ioc place = { PLACE, 1, fi_mr_key(mr) };
	struct fi_msg_atomic msg = { .msg_iov = &ioc,
				     .iov_count = 1,
				     .addr = pair.side[0].peer,
				     .rma_iov = &place,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_ATOMIC_WRITE,
				     .context = &context };

	OK(fi_atomicmsg(pair.side[0].ep, &msg, flags));
}

/* The same with calls that have no flags, which have a fast path if nothing is before them. */
static void plain_send(uint64_t flags)
{
	(void)flags;
	OK(fi_send(pair.side[0].ep, TAIL, 8, NULL, pair.side[0].peer, &context));
}

static void plain_tsend(uint64_t flags)
{
	(void)flags;
	OK(fi_tsend(pair.side[0].ep, TAIL, 8, NULL, pair.side[0].peer, 1, &context));
}

static void plain_write(uint64_t flags)
{
	(void)flags;
	OK(fi_write(pair.side[0].ep, TAIL, 8, NULL, pair.side[0].peer, PLACE, fi_mr_key(mr),
		    &context));
}

static void plain_atomic(uint64_t flags)
{
	(void)flags;
	OK(fi_atomic(pair.side[0].ep, TAIL, 1, NULL, pair.side[0].peer, PLACE, fi_mr_key(mr),
		     FI_UINT64, FI_ATOMIC_WRITE, &context));
}

struct form {
	void (*start)(uint64_t flags);
	bool tagged, untagged; /* else remote memory changes */
};

static const struct form with_flags[] = { { send_tail, false, true },
					  { tsend_tail, true, false },
					  { write_tail, false, false },
					  { atomic_tail, false, false } };

static const struct form without[] = { { plain_send, false, true },
				       { plain_tsend, true, false },
				       { plain_write, false, false },
				       { plain_atomic, false, false } };

static void post(const struct form *form)
{
	struct rdm_side *to = &pair.side[1];

	memset(got, 0, 8);
	memset(target + LEN, 0, 8);
	if (form->tagged)
		OK(fi_trecv(to->ep, got, 8, NULL, FI_ADDR_UNSPEC, 1, 0, got));
	if (form->untagged)
		OK(fi_recv(to->ep, got, 8, NULL, FI_ADDR_UNSPEC, got));
}

static void check_tail(const struct form *form)
{
	if (!form->tagged && !form->untagged) {
		CHECK(!memcmp(target + LEN, target + LEN - 8, 8));
		return;
	}
	CHECK(rdm_wait(&pair, 1).op_context == got);
	CHECK(!memcmp(got, target + LEN - 8, 8));
}

static void begin(const struct form *form)
{
	static unsigned int seed;

	fill(target, LEN, ++seed);
	memset(in, 0, LEN);
	post(form);
	read_all();
}

static void expect(void *wanted)
{
	CHECK(rdm_wait(&pair, 0).op_context == wanted);
}

static void fenced(const struct form *form)
{
	begin(form);
	form->start(FI_FENCE);
	expect(&read_context);
	expect(&context);
	check_tail(form);
}

/* Something else is fenced, and this follows it. */
static void is_behind(const struct form *form)
{
	uint64_t word = 1;
	struct iovec iov = { &word, 8 };
	struct fi_rma_iov place = { PLACE + 8, 8, fi_mr_key(mr) };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = pair.side[0].peer,
				  .rma_iov = &place,
				  .rma_iov_count = 1,
				  .context = &behind };

	begin(form);
	OK(fi_writemsg(pair.side[0].ep, &msg, FI_FENCE | FI_INJECT));
	word = 2;
	form->start(0);
	expect(&read_context);
	CHECK(rdm_wait(&pair, 0).op_context != &read_context);
	rdm_wait(&pair, 0);
	check_tail(form);
	memcpy(&word, target + LEN + 8, 8);
	EQUAL(word, 1);
}

/* A large message is still in flight when a small one could arrive. */
static void messages(void)
{
	struct rdm_side *from = &pair.side[0], *to = &pair.side[1];

	memset(got, 0, LEN);
	OK(fi_trecv(to->ep, target, 8, NULL, FI_ADDR_UNSPEC, 1, 0, target));
	OK(fi_trecv(to->ep, got, LEN, NULL, FI_ADDR_UNSPEC, 2, 0, got));
	OK(fi_tsend(from->ep, in, LEN, NULL, from->peer, 2, &behind));
	tsend_tail(FI_FENCE);
	CHECK(rdm_wait(&pair, 1).op_context == got);
	CHECK(!memcmp(got, in, LEN));
	CHECK(rdm_wait(&pair, 1).op_context == target);
	expect(&behind);
	expect(&context);
}

/* The target performs atomics itself, while its device performs reads. */
static void read_after_atomic(void)
{
	uint64_t one = 1, value = 0;
	struct iovec iov = { &value, 8 };
	struct fi_rma_iov source = { PLACE, 8, fi_mr_key(mr) };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = pair.side[0].peer,
				  .rma_iov = &source,
				  .rma_iov_count = 1,
				  .context = &context };

	memset(target + LEN, 0, 8);
	OK(fi_atomic(pair.side[0].ep, &one, 1, NULL, pair.side[0].peer, PLACE, fi_mr_key(mr),
		     FI_UINT64, FI_SUM, &behind));
	OK(fi_readmsg(pair.side[0].ep, &msg, FI_FENCE));
	expect(&behind);
	expect(&context);
	EQUAL(value, 1);
}

/*
 * Every second fenced operation follows a silent one, so only the fence waits for its completion.
 */
static void many(void)
{
	struct rdm_side *from = &pair.side[0];
	uint64_t word, value;
	int i;

	for (i = 0; i < MANY; i++) {
		word = (uint64_t)i;
		OK(fi_inject_write(from->ep, &word, 8, from->peer, PLACE, fi_mr_key(mr)));
		if (i % 2)
			atomic_tail(FI_FENCE);
		else
			write_tail(FI_FENCE | (i % 4 ? FI_INJECT : 0));
	}
	for (i = 0; i < MANY; i++)
		expect(&context);
	memcpy(&value, TAIL, 8);
	CHECK(!memcmp(target + LEN, &value, 8));
}

/* Returns true if the operation that completes next failed. */
static bool next_failed(void **completed)
{
	struct rdm_side *from = &pair.side[0];
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_cq_read(from->cq, &entry, 1)) == -FI_EAGAIN) {
		RETURNS(fi_cq_read(pair.side[1].cq, NULL, 0), -FI_EAGAIN);
		pause_until(end, "a completion or a failure");
	}
	if (ret == 1) {
		*completed = entry.op_context;
		return false;
	}
	RETURNS(ret, -FI_EAVAIL);
	RETURNS(fi_cq_readerr(from->cq, &error, 0), 1);
	CHECK(error.err);
	*completed = error.op_context;
	return true;
}

static void receive_tail(void)
{
	OK(fi_trecv(pair.side[1].ep, got, 8, NULL, FI_ADDR_UNSPEC, 1, 0, got));
	CHECK(rdm_wait(&pair, 1).op_context == got);
}

/*
 * The read fails, and each other operation completes once. Returns true if all failed: one that
 * starts after a thread of the library has noticed the failure reaches the peer.
 */
static bool all_fail(void)
{
	struct rdm_side *from = &pair.side[0];
	int i, failed = 0, count[3] = { 0 };
	void *completed;
	bool fails;

	OK(fi_read(from->ep, in, LEN, NULL, from->peer, base, fi_mr_key(mr) ^ 0x7fff0000,
		   &read_context));
	tsend_for(&behind, FI_FENCE);
	write_tail(0);
	write_tail(FI_FENCE);
	for (i = 0; i < 4; i++) {
		fails = next_failed(&completed);
		failed += fails;
		CHECK(fails || count[0]); /* not before the read */
		if (!fails && completed == &behind)
			receive_tail();
		count[0] += completed == &read_context;
		count[1] += completed == &behind;
		count[2] += completed == &context;
	}
	CHECK(count[0] == 1 && count[1] == 1 && count[2] == 2);
	RETURNS(fi_cq_read(from->cq, NULL, 0), -FI_EAGAIN);
	return failed == 4;
}

/* Operations behind a fence fail with what they wait for, and the peer is reached again. */
static void failure(void)
{
	int tries = 10;

	while (!all_fail())
		CHECK(--tries);
	fenced(&with_flags[1]);
}

static void fence_hint(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_FENCE | FI_COMPLETION;
}

/* Calls without flags are fenced if that is the default. */
static void by_default(void)
{
	struct rdm_change change = { .hints = fence_hint, .wait = FI_WAIT_NONE };
	size_t i;

	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	CHECK(pair.info->tx_attr->op_flags & FI_FENCE);
	OK(fi_mr_reg(pair.domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY,
		     0, &mr, NULL));
	base = (uintptr_t)target;
	for (i = 0; i < ARRAY_SIZE(without); i++)
		fenced(&without[i]);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

static void with_mode(int mode)
{
	size_t i;

	rdm_open(&pair, mode);
	CHECK(pair.info->caps & pair.info->tx_attr->caps & FI_FENCE);
	OK(fi_mr_reg(pair.domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY,
		     0, &mr, NULL));
	base = mode ? (uintptr_t)target : 0;
	for (i = 0; i < ARRAY_SIZE(with_flags); i++) {
		fenced(&with_flags[i]);
		is_behind(&with_flags[i]);
		is_behind(&without[i]);
	}
	messages();
	read_after_atomic();
	many();
	if (mode)
		failure();
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

static void test(void)
{
	with_mode(RDM_PROV_KEYS);
	with_mode(0);
	by_default();
}

int main(void)
{
	return run_test(test);
}
