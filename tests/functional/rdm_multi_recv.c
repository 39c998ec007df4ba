/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_MULTI_RECV, by the call's or the endpoint's flags: several messages in one buffer, which is
 * released once.
 */
#include "rdm.h"

#include <rdma/fi_cm.h>

enum { LEN = 200000 };

static uint8_t in[LEN], out[LEN];

static void post(struct rdm_pair *pair, size_t len)
{
	struct iovec iov = { in, len };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = in
	};

	OK(fi_recvmsg(pair->side[1].ep, &msg, FI_MULTI_RECV | FI_TRANSMIT_COMPLETE));
}

static void send_one(struct rdm_pair *pair, size_t len, unsigned int seed)
{
	fill(out, len, seed);
	OK(fi_send(pair->side[0].ep, out, len, NULL, pair->side[0].peer, out));
}

/* The next message goes to this offset of the buffer. */
static void expect(struct rdm_pair *pair, size_t at, size_t len, unsigned int seed, bool last)
{
	struct fi_cq_tagged_entry entry = rdm_wait(pair, 1);

	CHECK(entry.op_context == in);
	EQUAL(entry.flags, FI_MSG | FI_RECV | (last ? FI_MULTI_RECV : 0));
	CHECK(entry.buf == in + at);
	EQUAL(entry.len, len);
	CHECK_FILLED(in + at, len, seed);
	CHECK(rdm_wait(pair, 0).op_context == out);
}

/*
 * The buffer is released when less room remains than the option requires, before a message that
 * needs the room.
 */
static void released(struct rdm_pair *pair, size_t len, size_t left, bool expected)
{
	size_t least = left + 1, at;
	unsigned int seed = 1;

	OK(fi_setopt(&pair->side[1].ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least,
		     sizeof(least)));
	if (expected)
		post(pair, 3 * len + left);
	for (at = 0; at < 3 * len; at += len, seed++) {
		send_one(pair, len, seed);
		if (!expected && !at)
			post(pair, 3 * len + left);
		expect(pair, at, len, seed, at == 2 * len);
	}
}

/*
 * A message that is too long for the remaining room is truncated, and the buffer is released with
 * it.
 */
static void cut(struct rdm_pair *pair, size_t len)
{
	struct fi_cq_err_entry error;
	size_t least = 16;

	OK(fi_setopt(&pair->side[1].ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least,
		     sizeof(least)));
	post(pair, 100);
	send_one(pair, 60, 3);
	expect(pair, 0, 60, 3, false);
	send_one(pair, len, 4);
	error = rdm_wait_error(pair, 1);
	EQUAL(error.err, FI_ETRUNC);
	EQUAL(error.flags, FI_MSG | FI_RECV | FI_MULTI_RECV);
	CHECK(error.buf == in + 60 && error.op_context == in);
	EQUAL(error.len, 40);
	EQUAL(error.olen, len - 40);
	CHECK_FILLED(in + 60, 40, 4);
	CHECK(rdm_wait(pair, 0).op_context == out);
}

/* Empty messages take no room; a canceled buffer is released. */
static void canceled(struct rdm_pair *pair)
{
	struct fi_cq_err_entry error;
	int i;

	post(pair, 1000);
	for (i = 0; i < 3; i++) {
		send_one(pair, 0, 0);
		expect(pair, 0, 0, 0, false);
	}
	send_one(pair, 10, 5);
	expect(pair, 0, 10, 5, false);
	OK(fi_cancel(&pair->side[1].ep->fid, in));
	error = rdm_wait_error(pair, 1);
	EQUAL(error.err, FI_ECANCELED);
	EQUAL(error.flags, FI_MSG | FI_RECV | FI_MULTI_RECV);
	CHECK(error.op_context == in);
	RETURNS(fi_cancel(&pair->side[1].ep->fid, in), -FI_ENOENT);
}

static void by_default(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_TAGGED | FI_MULTI_RECV;
	hints->rx_attr->op_flags = FI_MULTI_RECV;
}

static void tagged_is_single(struct rdm_pair *pair, ssize_t posted, void *buf)
{
	struct fi_cq_tagged_entry entry;

	OK(posted);
	OK(fi_tinject(pair->side[0].ep, "x", buf ? 1 : 0, pair->side[0].peer, 1));
	entry = rdm_wait(pair, 1);
	CHECK(entry.op_context == out);
	EQUAL(entry.flags, FI_TAGGED | FI_RECV);
}

/* The endpoint's flags are for untagged messages. */
static void with_op_flags(void)
{
	const struct rdm_change change = { .hints = by_default };
	struct iovec iov[2] = { { in, 8 }, { in + 100, 8 } };
	struct rdm_pair pair;
	struct fid_ep *ep;
	int i;

	rdm_open_with(&pair, 0, &change);
	ep = pair.side[1].ep;
	for (i = 0; i < 2; i++)
		tagged_is_single(&pair, fi_trecv(ep, in, 8, NULL, FI_ADDR_UNSPEC, 1, 0, out), in);
	tagged_is_single(&pair, fi_trecv(ep, NULL, 0, NULL, FI_ADDR_UNSPEC, 1, 0, out), NULL);
	tagged_is_single(&pair, fi_trecvv(ep, iov, NULL, 2, FI_ADDR_UNSPEC, 1, 0, out), in);
	RETURNS(fi_recvv(ep, iov, NULL, 2, FI_ADDR_UNSPEC, in), -FI_EINVAL);
	OK(fi_recv(ep, in, 200, NULL, FI_ADDR_UNSPEC, in));
	send_one(&pair, 50, 6);
	expect(&pair, 0, 50, 6, false);
	send_one(&pair, 100, 7);
	expect(&pair, 50, 100, 7, true); /* less than 64 B are left */
	rdm_close(&pair);
}

static void bad(struct rdm_pair *pair)
{
	struct iovec iov[2] = { { in, 8 }, { in + 8, 8 } };
	struct fi_msg msg = { .msg_iov = iov, .addr = FI_ADDR_UNSPEC };
	struct fi_msg_tagged tagged = { .msg_iov = iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC };
	size_t len;

	for (len = 0; len < 3; len += 2) {
		msg.iov_count = len;
		RETURNS(fi_recvmsg(pair->side[1].ep, &msg, FI_MULTI_RECV), -FI_EINVAL);
	}
	RETURNS(fi_trecvmsg(pair->side[1].ep, &tagged, FI_MULTI_RECV), -FI_EBADFLAGS);
}

/* The address of side 1 since it was opened again. */
static fi_addr_t learn(struct rdm_pair *pair)
{
	fi_addr_t addr = FI_ADDR_NOTAVAIL;
	char name[128];
	size_t len = sizeof(name);

	OK(fi_getname(&pair->side[1].ep->fid, name, &len));
	RETURNS(fi_av_insert(pair->side[0].av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

/* The messages are not reported, but the release of the buffer always is. */
static void selective(void)
{
	struct fi_cq_tagged_entry entry;
	struct rdm_pair pair;
	unsigned int i;
	fi_addr_t to;

	rdm_open(&pair, 0);
	rdm_reopen_selective(&pair, 1);
	to = learn(&pair);
	post(&pair, 300);
	for (i = 0; i < 3; i++) {
		fill(out, 100, i);
		OK(fi_send(pair.side[0].ep, out, 100, NULL, to, out));
		CHECK(rdm_wait(&pair, 0).op_context == out);
	}
	entry = rdm_wait(&pair, 1);
	CHECK(entry.op_context == in);
	EQUAL(entry.flags, FI_MSG | FI_RECV | FI_MULTI_RECV);
	CHECK(entry.buf == in + 200);
	CHECK_FILLED(in + 200, 100, 2);
	rdm_close(&pair);
}

static void test(void)
{
	static const size_t lens[] = { 8, 300, 16000, 40000, 60000 };
	struct rdm_pair pair;
	size_t i;

	rdm_open(&pair, 0);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		released(&pair, lens[i], 0, true);
		released(&pair, lens[i], 50, i % 2);
		released(&pair, lens[i], 1000, !(i % 2));
		if (i)
			cut(&pair, lens[i]);
	}
	canceled(&pair);
	bad(&pair);
	rdm_close(&pair);
	with_op_flags();
	selective();
}

int main(void)
{
	return run_test(test);
}
