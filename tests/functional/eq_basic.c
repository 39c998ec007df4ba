/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event queues without connections: writing, reading in order, peeking, small buffers, timeouts,
 * the descriptor.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include "steps.h"

static struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };

static struct fid_eq *open_eq(struct end *end, uint64_t flags, enum fi_wait_obj obj)
{
	struct fi_eq_attr attr = { .flags = flags, .wait_obj = obj };
	struct fid_eq *eq;

	OK(fi_eq_open(end->fabric, &attr, &eq, end));
	CHECK(eq->fid.context == end);
	return eq;
}

static void test_write_read(struct fid_eq *eq)
{
	struct fi_eq_entry in = { .fid = &eq->fid, .context = &setup, .data = 1 }, out;
	uint32_t event = 0;

	RETURNS(fi_eq_read(eq, &event, &out, sizeof(out), 0), -FI_EAGAIN);
	for (in.data = 1; in.data <= 3; in.data++)
		RETURNS(fi_eq_write(eq, FI_NOTIFY + (uint32_t)in.data, &in, sizeof(in), 0),
			sizeof(in));
	RETURNS(fi_eq_read(eq, &event, &out, sizeof(out), FI_PEEK), sizeof(out));
	EQUAL(out.data, 1);
	RETURNS(fi_eq_read(eq, &event, &out, sizeof(out) - 1, 0), -FI_ETOOSMALL);
	RETURNS(fi_eq_read(eq, &event, NULL, 0, FI_PEEK), 0);
	EQUAL(event, FI_NOTIFY + 1);
	for (in.data = 1; in.data <= 3; in.data++) {
		RETURNS(fi_eq_read(eq, &event, &out, sizeof(out), 0), sizeof(out));
		EQUAL(event, FI_NOTIFY + in.data);
		EQUAL(out.data, in.data);
		CHECK(out.fid == &eq->fid && out.context == &setup);
	}
	RETURNS(fi_eq_write(eq, FI_NOTIFY, &in, sizeof(in), 0), sizeof(in));
	RETURNS(fi_eq_read(eq, &event, NULL, 0, 0), 0);
	EQUAL(event, FI_NOTIFY);
	RETURNS(fi_eq_read(eq, &event, &out, sizeof(out), 0), -FI_EAGAIN);
}

static void test_sread(struct fid_eq *eq)
{
	struct fi_eq_entry entry = { .data = 7 };
	uint64_t start = now_ms();
	uint32_t event;

	RETURNS(fi_eq_sread(eq, &event, &entry, sizeof(entry), 60, 0), -FI_EAGAIN);
	CHECK(now_ms() - start >= 60 && now_ms() - start < WAIT_MS);
	RETURNS(fi_eq_sread(eq, &event, &entry, sizeof(entry), 0, 0), -FI_EAGAIN);
	RETURNS(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
	RETURNS(fi_eq_sread(eq, &event, &entry, sizeof(entry), -1, FI_PEEK), sizeof(entry));
	RETURNS(fi_eq_sread(eq, &event, &entry, sizeof(entry), -1, 0), sizeof(entry));
	EQUAL(entry.data, 7);
}

static void test_fd(struct end *end, struct fid_eq *eq)
{
	struct fi_eq_entry entry = { 0 };
	struct pollfd fds = { .events = POLLIN };
	struct fid *fid = &eq->fid;
	uint32_t event;
	int i;

	OK(fi_control(fid, FI_GETWAIT, &fds.fd));
	for (i = 0; i < 3; i++) {
		OK(fi_trywait(end->fabric, &fid, 1));
		EQUAL(poll(&fds, 1, 0), 0);
		RETURNS(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
		EQUAL(poll(&fds, 1, 1000), 1);
		RETURNS(fi_trywait(end->fabric, &fid, 1), -FI_EAGAIN);
		RETURNS(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), sizeof(entry));
	}
}

static void test_bad(struct end *end, struct fid_eq *eq)
{
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_entry entry = { 0 };
	struct fi_eq_attr attr = { .flags = 1ULL << 62 };
	struct fid_eq *other;
	uint32_t event;

	RETURNS(fi_eq_readerr(eq, &error, 0), -FI_EAGAIN);
	RETURNS(fi_eq_readerr(eq, NULL, 0), -FI_EINVAL);
	RETURNS(fi_eq_read(eq, NULL, &entry, sizeof(entry), 0), -FI_EINVAL);
	RETURNS(fi_eq_read(eq, &event, NULL, sizeof(entry), 0), -FI_EINVAL);
	CHECK(fi_eq_read(eq, &event, &entry, sizeof(entry), 1ULL << 62) < 0);
	RETURNS(fi_eq_write(eq, FI_NOTIFY, NULL, sizeof(entry), 0), -FI_EINVAL);
	CHECK(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 1) < 0);
	CHECK(fi_eq_open(end->fabric, &attr, &other, NULL) < 0);
	RETURNS(fi_eq_open(end->fabric, &attr, NULL, NULL), -FI_EINVAL);
	RETURNS(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	static const enum fi_wait_obj objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD,	     FI_WAIT_POLLFD,
						 FI_WAIT_YIELD,	 FI_WAIT_MUTEX_COND, FI_WAIT_NONE };
	struct fi_eq_entry entry = { 0 };
	struct fid_eq *eq;
	uint32_t event;
	size_t i;

	end_open(&end, info_for(&setup, local_addr(), NULL, FI_SOURCE));
	for (i = 0; i < ARRAY_SIZE(objs); i++) {
		printf("wait object %d\n", (int)objs[i]);
		eq = open_eq(&end, FI_WRITE, objs[i]);
		test_write_read(eq);
		test_sread(eq);
		if (objs[i] == FI_WAIT_FD)
			test_fd(&end, eq);
		test_bad(&end, eq);
		/* Unread events are freed with the queue. */
		RETURNS(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
		OK(fi_close(&eq->fid));
	}
	eq = open_eq(&end, 0, FI_WAIT_NONE);
	CHECK(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0) < 0);
	RETURNS(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	OK(fi_close(&eq->fid));
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
