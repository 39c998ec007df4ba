/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_PEEK, FI_CLAIM and FI_DISCARD: what they report for messages of every protocol, what they
 * leave, and invalid calls.
 */
#include "rdm.h"

enum { LEN = 300000 };

static uint8_t in[LEN], out[LEN];
static char claims[4]; /* contexts */

static struct fi_msg_tagged message(uint64_t tag, void *context)
{
	return (struct fi_msg_tagged){ .addr = FI_ADDR_UNSPEC, .tag = tag, .context = context };
}

static ssize_t probe(struct rdm_pair *pair, uint64_t tag, void *context, uint64_t flags)
{
	struct fi_msg_tagged msg = message(tag, context);

	return fi_trecvmsg(pair->side[1].ep, &msg, flags);
}

static void send_data(struct rdm_pair *pair, size_t len, uint64_t tag)
{
	fill(out, len, (unsigned int)tag);
	OK(fi_tsenddata(pair->side[0].ep, out, len, NULL, tag << 32, pair->side[0].peer, tag, out));
}

/* Probes until the message has arrived. */
static struct fi_cq_tagged_entry found(struct rdm_pair *pair, uint64_t tag, void *context,
				       uint64_t flags)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	for (;;) {
		OK(probe(pair, tag, context, FI_PEEK | flags));
		ret = fi_cq_read(pair->side[1].cq, &entry, 1);
		if (ret == 1)
			return entry;
		RETURNS(ret, -FI_EAVAIL);
		RETURNS(fi_cq_readerr(pair->side[1].cq, &error, 0), 1);
		EQUAL(error.err, FI_ENOMSG);
		CHECK(error.op_context == context && error.tag == tag);
		fi_cq_read(pair->side[0].cq, NULL, 0);
		pause_until(end, "a message to be found");
	}
}

static void check_entry(const struct fi_cq_tagged_entry *entry, const void *context, size_t len,
			uint64_t tag)
{
	CHECK(entry->op_context == context);
	EQUAL(entry->flags, FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA);
	EQUAL(entry->len, len);
	EQUAL(entry->tag, tag);
	CHECK(entry->data == tag << 32);
}

static void is_gone(struct rdm_pair *pair, uint64_t tag)
{
	struct fi_cq_err_entry error;

	OK(probe(pair, tag, NULL, FI_PEEK));
	error = rdm_wait_error(pair, 1);
	EQUAL(error.err, FI_ENOMSG);
}

static void sent(struct rdm_pair *pair)
{
	CHECK(rdm_wait(pair, 0).op_context == out);
}

/* A message is peeked at, claimed, no longer visible, and received. */
static void claimed(struct rdm_pair *pair, size_t len)
{
	struct fi_msg_tagged msg = message(0, claims);
	struct fi_cq_tagged_entry entry;
	struct iovec iov[2] = { { in, len / 3 }, { in + len / 3, len - len / 3 } };

	send_data(pair, len, 7);
	entry = found(pair, 7, claims + 1, 0);
	check_entry(&entry, claims + 1, len, 7);
	entry = found(pair, 7, claims, FI_CLAIM);
	check_entry(&entry, claims, len, 7);
	is_gone(pair, 7);
	msg.msg_iov = iov;
	msg.iov_count = 2;
	OK(fi_trecvmsg(pair->side[1].ep, &msg, FI_CLAIM | FI_TRANSMIT_COMPLETE));
	entry = rdm_wait(pair, 1);
	check_entry(&entry, claims, len, 7);
	CHECK_FILLED(in, len, 7);
	sent(pair);
	RETURNS(fi_trecvmsg(pair->side[1].ep, &msg, FI_CLAIM), -FI_EINVAL);
}

/* The first of two messages is discarded, at once or after it was claimed. */
static void discarded(struct rdm_pair *pair, size_t len, bool claim)
{
	struct fi_cq_tagged_entry entry;

	send_data(pair, len, 8);
	entry = found(pair, 8, claims, claim ? FI_CLAIM : FI_DISCARD);
	check_entry(&entry, claims, len, 8);
	if (claim) {
		OK(probe(pair, 8, claims, FI_CLAIM | FI_DISCARD));
		entry = rdm_wait(pair, 1);
		CHECK(entry.op_context == claims);
		EQUAL(entry.tag, 8);
		RETURNS(probe(pair, 8, claims, FI_CLAIM | FI_DISCARD), -FI_EINVAL);
	}
	sent(pair);
	is_gone(pair, 8);
}

static void claims_by_context(struct rdm_pair *pair)
{
	struct iovec iov = { in, LEN };
	struct fi_msg_tagged msg;
	int i;

	for (i = 0; i < 3; i++) {
		send_data(pair, 100 + (size_t)i, 20);
		sent(pair);
		found(pair, 20, claims + i, FI_CLAIM);
	}
	for (i = 2; i >= 0; i--) {
		msg = message(0, claims + i);
		msg.msg_iov = &iov;
		msg.iov_count = 1;
		OK(fi_trecvmsg(pair->side[1].ep, &msg, FI_CLAIM));
		EQUAL(rdm_wait(pair, 1).len, 100 + i);
	}
}

/* A claimed message that cannot be received stays claimed. */
static void bad_claims(struct rdm_pair *pair)
{
	struct iovec iov[5] = { { NULL, 10 } };
	struct fi_msg_tagged msg = message(0, claims);
	struct fi_cq_err_entry error;

	send_data(pair, 100, 9);
	sent(pair);
	found(pair, 9, claims, FI_CLAIM);
	msg.msg_iov = iov;
	msg.iov_count = 1;
	RETURNS(fi_trecvmsg(pair->side[1].ep, &msg, FI_CLAIM), -FI_EINVAL);
	msg.iov_count = 5;
	RETURNS(fi_trecvmsg(pair->side[1].ep, &msg, FI_CLAIM), -FI_EINVAL);
	msg.msg_iov = NULL;
	msg.iov_count = 1;
	RETURNS(fi_trecvmsg(pair->side[1].ep, &msg, FI_CLAIM), -FI_EINVAL);
	RETURNS(fi_trecvmsg(pair->side[1].ep, &msg, FI_DISCARD), -FI_EBADFLAGS);
	RETURNS(fi_trecvmsg(pair->side[1].ep, &msg, FI_PEEK | FI_CLAIM | FI_DISCARD),
		-FI_EBADFLAGS);
	RETURNS(fi_trecvmsg(pair->side[1].ep, NULL, FI_PEEK), -FI_EINVAL);
	iov[0] = (struct iovec){ in, 30 };
	msg.msg_iov = iov;
	OK(fi_trecvmsg(pair->side[1].ep, &msg, FI_CLAIM));
	error = rdm_wait_error(pair, 1);
	EQUAL(error.err, FI_ETRUNC);
	EQUAL(error.len, 30);
	EQUAL(error.olen, 70);
	CHECK_FILLED(in, 30, 9);
}

/* A probe without a completion queue is refused. */
static void without_cq(struct rdm_pair *pair)
{
	struct fi_msg_tagged msg = message(1, claims);
	struct fid_cntr *cntr;
	struct fid_ep *ep;

	OK(fi_endpoint(pair->domain, pair->info, &ep, NULL));
	OK(fi_cntr_open(pair->domain, NULL, &cntr, NULL));
	OK(fi_ep_bind(ep, &cntr->fid, FI_SEND | FI_RECV));
	OK(fi_ep_bind(ep, &pair->side[0].av->fid, 0));
	RETURNS(fi_trecvmsg(ep, &msg, FI_PEEK), -FI_EOPBADSTATE);
	OK(fi_enable(ep));
	RETURNS(fi_trecvmsg(ep, &msg, FI_PEEK), -FI_ENOCQ);
	RETURNS(fi_trecvmsg(ep, &msg, FI_CLAIM | FI_DISCARD), -FI_ENOCQ);
	OK(fi_close(&ep->fid));
	OK(fi_close(&cntr->fid));
}

static void test(void)
{
	static const size_t lens[] = { 0, 100, 20000, LEN };
	struct rdm_pair pair;
	size_t i;

	rdm_open(&pair, 0);
	is_gone(&pair, 7);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		claimed(&pair, lens[i]);
		discarded(&pair, lens[i], false);
		discarded(&pair, lens[i], true);
	}
	claims_by_context(&pair);
	bad_claims(&pair);
	without_cq(&pair);
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
