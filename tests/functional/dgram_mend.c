/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A send whose descriptor does not cover the buffer stops the queue pair: the send fails,
 * outstanding operations are canceled, and after all errors have been read the endpoint works
 * again, under the same name.
 */
#include "steps.h"

/* Reads errors until the queues are empty. Returns the code of the first one. */
static int read_errors(struct end *end, struct fid_cq *cq, unsigned int count)
{
	struct fi_cq_err_entry error;
	int first = 0;

	while (count--) {
		wait_error(cq, &error);
		if (!first)
			first = error.err;
		else
			EQUAL(error.err, FI_ECANCELED);
	}
	(void)end;
	return first;
}

static void pass(struct end *from, struct end *to, unsigned int seed)
{
	at_part(to, post_recv, 0, 100, seed);
	at_part(from, fill_part, 4096, 100, seed);
	at_part(from, post_send, 4096, 100, seed);
	at_part(to, reap_recv, 0, 100, seed);
}

static void break_it(struct pair *pair)
{
	size_t len = pair->client.info->ep_attr->max_msg_size;
	struct end *end = &pair->client;
	int err;

	at_part(end, post_recv, 0, 100, 7);
	at_part(end, post_recv, 0, 100, 8);
	OK(fi_send(end->ep, end->buf, len, (void *)0x12345678, end->to, end));
	err = read_errors(end, end->cq, 1);
	CHECK(err == FI_EINVAL || err == FI_EACCES || err == FI_EIO || err == FI_EFAULT);
	/* The endpoint does not recover until the receives have been read. */
	RETURNS(fi_send(end->ep, end->buf, 8, end->desc, end->to, end), -FI_EAGAIN);
	RETURNS(fi_recv(end->ep, end->buf, 8, end->desc, end->to, end), -FI_EAGAIN);
	EQUAL(read_errors(end, end->rxcq, 2), FI_ECANCELED);
}

static void test(struct pair *pair)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		pass(&pair->client, &pair->server, 10 * i + 1);
		pass(&pair->server, &pair->client, 10 * i + 2);
		wait_context(pair->client.cq, (void *)(uintptr_t)(10 * i + 1));
		break_it(pair);
	}
	pass(&pair->client, &pair->server, 3);
	pass(&pair->server, &pair->client, 4);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .type = FI_EP_DGRAM };

	return run_pair(argc, argv, &setup, test);
}
