/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two reliable-datagram endpoints: open, each protocol of a message, RMA, an atomic, a fence,
 * close.
 */
#include <string.h>
#include <unistd.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include "ends.h"

static int message(struct ends *s, int from, size_t len)
{
	return ends_step(s, "fi_trecv",
			 AGAIN(fi_trecv(s->ep[!from], s->in, ENDS_LEN, NULL, FI_ADDR_UNSPEC, len, 0,
					NULL))) ||
	       ends_step(s, "fi_tsend",
			 AGAIN(fi_tsend(s->ep[from], s->out, len, NULL, s->to[from], len, NULL))) ||
	       ends_complete(s, "waiting for a message", 1, 1);
}

/*
 * The sender of a large message ends the connection if it cannot revoke the receiver's right to its
 * memory. What its device has acknowledged by then is not lost.
 */
static int crossing(struct ends *s)
{
	int taken = 0, i, ret;

	if (ends_step(s, "fi_trecv",
		      AGAIN(fi_trecv(s->ep[1], s->target, 8, NULL, FI_ADDR_UNSPEC, 4, 0, NULL))) ||
	    ends_step(
		    s, "fi_trecv",
		    AGAIN(fi_trecv(s->ep[0], s->in, ENDS_LEN, NULL, FI_ADDR_UNSPEC, 5, 0, NULL))) ||
	    ends_step(s, "fi_tsend",
		      AGAIN(fi_tsend(s->ep[1], s->out, ENDS_LEN, NULL, s->to[1], 5, NULL))) ||
	    ends_receive(s, 0, "waiting for a large message"))
		return -1;
	/* Its end has arrived, and is processed before what follows arrives. */
	for (i = 0; i < 4; i++) {
		usleep(2000);
		ret = ends_take(s, 1, "waiting for its end");
		if (ret < 0)
			return -1;
		taken += ret;
	}
	if (ends_step(s, "fi_tinject", AGAIN(fi_tinject(s->ep[0], s->out, 8, s->to[0], 4))))
		return -1;
	usleep(40000);
	return ends_complete(s, "waiting for what crossed its end", 0, 2 - taken);
}

/* More than one packet that nobody waits for. */
static int unexpected(struct ends *s)
{
	return ends_step(s, "fi_tinject", AGAIN(fi_tinject(s->ep[0], s->out, 8, s->to[0], 1))) ||
	       ends_step(s, "fi_tsend",
			 AGAIN(fi_tsend(s->ep[0], s->out, 30000, NULL, s->to[0], 2, NULL))) ||
	       ends_complete(s, "waiting for what is not expected", 1, 0) ||
	       ends_step(s, "fi_trecv",
			 AGAIN(fi_trecv(s->ep[1], s->in, ENDS_LEN, NULL, FI_ADDR_UNSPEC, 1, 0,
					NULL))) ||
	       ends_step(s, "fi_trecv",
			 AGAIN(fi_trecv(s->ep[1], s->in, ENDS_LEN, NULL, FI_ADDR_UNSPEC, 2, 0,
					NULL))) ||
	       ends_complete(s, "waiting for what was not expected", 0, 2);
}

static int sleep_once(struct ends *s)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_sread(s->cq[0], &entry, 1, NULL, 1);

	return ends_step(s, "fi_cq_sread", ret == -FI_EAGAIN ? 0 : ret);
}

static int memory(struct ends *s)
{
	uint64_t one = 1, old;

	return ends_step(s, "fi_write",
			 AGAIN(fi_write(s->ep[0], s->out, ENDS_LEN, NULL, s->to[0], 0, ENDS_KEY,
					NULL))) ||
	       ends_complete(s, "waiting for a write", 1, 0) ||
	       ends_step(
		       s, "fi_read",
		       AGAIN(fi_read(s->ep[0], s->in, 5000, NULL, s->to[0], 8, ENDS_KEY, NULL))) ||
	       ends_complete(s, "waiting for a read", 1, 0) ||
	       ends_step(s, "fi_fetch_atomic",
			 AGAIN(fi_fetch_atomic(s->ep[0], &one, 1, NULL, &old, NULL, s->to[0], 0,
					       ENDS_KEY, FI_UINT64, FI_SUM, NULL))) ||
	       ends_complete(s, "waiting for an atomic", 1, 0);
}

/* A message behind a fence, and a write behind that. */
static int fence(struct ends *s)
{
	struct iovec iov = { s->in, 8 };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = s->to[0], .tag = 3 };

	return ends_step(s, "fi_trecv",
			 AGAIN(fi_trecv(s->ep[1], s->target, ENDS_LEN, NULL, FI_ADDR_UNSPEC, 3, 0,
					NULL))) ||
	       ends_step(s, "fi_read",
			 AGAIN(fi_read(s->ep[0], s->in, ENDS_LEN, NULL, s->to[0], 0, ENDS_KEY,
				       NULL))) ||
	       ends_step(s, "fi_tsendmsg", AGAIN(fi_tsendmsg(s->ep[0], &msg, FI_FENCE))) ||
	       ends_step(s, "fi_write",
			 AGAIN(fi_write(s->ep[0], s->out, 8, NULL, s->to[0], 0, ENDS_KEY, NULL))) ||
	       ends_complete(s, "waiting for what is behind a fence", 3, 1);
}

static int transfer(struct ends *s)
{
	return message(s, 0, 8) || sleep_once(s) || message(s, 1, 4000) || message(s, 0, 30000) ||
	       crossing(s) || unexpected(s) || memory(s) || fence(s);
}

/* What comes before the domain is the same as in script.c. */
void script_rdm(const char *addr, struct outcome *outcome)
{
	static struct ends s;
	int ret;

	(void)addr;
	memset(outcome, 0, sizeof(*outcome));
	memset(&s, 0, sizeof(s));
	s.outcome = outcome;
	ret = ends_open_fabric(&s, 0);
	if (!ret)
		script_begins();
	if (!ret && !ends_open_domain(&s) && !ends_open(&s, 0) && !ends_open(&s, 1) &&
	    !ends_introduce(&s, 0) && !ends_introduce(&s, 1))
		(void)transfer(&s);
	ends_close(&s);
}
