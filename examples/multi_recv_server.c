/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The server posts two large buffers, each of which takes as many messages as fit. It does not know
 * how many come, or how long they are. When a buffer is used up it is posted again.
 */
#include <inttypes.h>
#include <sys/uio.h>
#include "example.h"

enum { MESSAGES = 500, LONGEST = 300, BUFFER = 16384 };

struct buffer {
	struct op op;
	char bytes[BUFFER];
};

/* guide: post */
static void post(struct node *n, struct buffer *buffer)
{
	struct iovec iov = { buffer->bytes, sizeof(buffer->bytes) };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &buffer->op
	};

	while (full(n, fi_recvmsg(n->ep, &msg, FI_MULTI_RECV), "fi_recvmsg"))
		;
}
/* guide: end */

static uint64_t sum_of(const char *bytes, size_t len)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += (uint8_t)bytes[i];
	return sum;
}

/* guide: serve */
static void serve(struct node *n, struct buffer *buffers)
{
	struct fi_cq_tagged_entry entry;
	uint64_t received = 0, sum = 0, used = 0;
	ssize_t ret;

	while (received < MESSAGES) {
		ret = fi_cq_read(n->cq, &entry, 1);
		if (ret == -FI_EAGAIN)
			continue;
		if (ret == -FI_EAVAIL)
			operation_failed(n);
		must(ret, "fi_cq_read");
		if (entry.flags & FI_RECV && entry.buf) { /* buf: where this message is */
			received++;
			sum += sum_of(entry.buf, entry.len);
		}
		if (entry.flags & FI_MULTI_RECV) { /* the last one in its buffer */
			used++;
			post(n, entry.op_context == &buffers[0].op ? &buffers[0] : &buffers[1]);
		}
	}
	printf("%" PRIu64 " messages, sum %" PRIu64 ", %" PRIu64 " buffers used up\n", received,
	       sum, used);
}
/* guide: end */

static void send_all(struct node *n)
{
	char buf[LONGEST];
	struct op sent = { 0 };
	uint64_t sum = 0;

	for (int i = 0; i < MESSAGES; i++) {
		size_t len = 1 + (size_t)i * 7 % LONGEST;

		memset(buf, i, len);
		sum += sum_of(buf, len);
		while (full(n, fi_send(n->ep, buf, len, NULL, n->peer, &sent), "fi_send"))
			;
		wait_for(n, &sent);
	}
	printf("%d messages, sum %" PRIu64 "\n", MESSAGES, sum);
}

int main(int argc, char **argv)
{
	struct buffer *buffers = calloc(2, sizeof(*buffers));
	size_t least = LONGEST;
	struct node n;

	if (!buffers)
		must(-FI_ENOMEM, "calloc");
	node_open(&n, new_hints(FI_MSG | FI_MULTI_RECV, 0), argc, argv,
		  "A server whose buffers take many messages each.");
	/* guide: least */
	/* A buffer is given back when less than this is left of it. */
	must(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof(least)),
	     "fi_setopt");
	/* guide: end */
	node_meet(&n);
	if (n.client) {
		send_all(&n);
	} else {
		post(&n, &buffers[0]);
		post(&n, &buffers[1]);
		serve(&n, buffers);
	}
	node_close(&n);
	free(buffers);
	return 0;
}
