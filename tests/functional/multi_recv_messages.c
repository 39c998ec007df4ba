/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_MULTI_RECV: two large buffers take many messages, each at its own offset, in order; a buffer
 * is released with its last message and posted again. A buffer that remains when the connection
 * ends fails once.
 */
#include "steps.h"

#define BUFFER	 16384
#define MIN	 1024
#define MESSAGES 100

static void post(struct end *end, uint64_t which)
{
	struct iovec iov = { end->buf + which * BUFFER, BUFFER };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = &end->desc,
		.iov_count = 1,
		.context = (void *)(uintptr_t)which,
	};

	OK(fi_recvmsg(end->ep, &msg, FI_MULTI_RECV | FI_COMPLETION));
}

static void step_post(struct end *end, void *arg)
{
	size_t min = MIN, found = 0, len = sizeof(found);

	(void)arg;
	OK(fi_setopt(&end->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)));
	OK(fi_getopt(&end->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &found, &len));
	EQUAL(found, MIN);
	post(end, 0);
	post(end, 1);
	RETURNS(fi_cancel(&end->ep->fid, (void *)0), -FI_ENOENT);
}

static size_t length(unsigned int i)
{
	return i * 37 % (MIN + 1);
}

static void step_take(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	unsigned int i = *(unsigned int *)arg;
	uint64_t which;

	wait_comp(end->rxcq, &entry);
	which = (uint64_t)(uintptr_t)entry.op_context;
	CHECK(which < 2);
	EQUAL(entry.flags & ~FI_MULTI_RECV, FI_MSG | FI_RECV);
	EQUAL(entry.len, length(i));
	CHECK((uint8_t *)entry.buf >= end->buf + which * BUFFER);
	CHECK((uint8_t *)entry.buf + MIN <= end->buf + (which + 1) * BUFFER);
	CHECK_FILLED(entry.buf, entry.len, i);
	if (entry.flags & FI_MULTI_RECV)
		post(end, which);
}

/* Both buffers, once each. */
static void step_end(struct end *end, void *arg)
{
	struct fi_cq_err_entry error;
	uint64_t sum = 0;
	int i;

	(void)arg;
	for (i = 0; i < 2; i++) {
		wait_error(end->rxcq, &error);
		EQUAL(error.err, FI_ECANCELED);
		EQUAL(error.flags, FI_MSG | FI_RECV | FI_MULTI_RECV);
		sum += 1 + (uint64_t)(uintptr_t)error.op_context;
	}
	EQUAL(sum, 3);
	no_comp(end->rxcq, 20);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	unsigned int i;

	at(&pair->server, step_post, NULL, 0);
	for (i = 0; i < MESSAGES; i++) {
		fill(client->buf, length(i), i);
		OK(fi_send(client->ep, client->buf, length(i), client->desc, 0, NULL));
		wait_context(client->cq, NULL);
		at(&pair->server, step_take, &i, sizeof(i));
	}
	OK(fi_shutdown(client->ep, 0));
	at(&pair->server, step_end, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .caps = FI_MSG | FI_MULTI_RECV };

	return run_pair(argc, argv, &setup, test);
}
