/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_cancel of an operation that can no longer be withdrawn: 0 until its completion has been read,
 * which comes as without the call, and -FI_ENOENT afterward.
 */
#include "fixture.h"
#include "rdm.h"

enum { LARGE = 3000000, KEY = 5 };
enum { SMALL_SEND, LARGE_SEND, WRITE, READ, FETCH, SENT };

static uint8_t out[LARGE], in[LARGE], target[64];
static uint64_t addr, key;

static void post(struct rdm_pair *pair, int kind, void *context)
{
	struct fid_ep *ep = pair->side[0].ep;
	fi_addr_t to = pair->side[0].peer;

	switch (kind) {
	case SMALL_SEND:
		OK(fi_tsend(ep, out, 8, NULL, to, 1, context));
		break;
	case LARGE_SEND:
		OK(fi_tsend(ep, out, LARGE, NULL, to, 1, context));
		break;
	case WRITE:
		OK(fi_write(ep, out, 8, NULL, to, addr, key, context));
		break;
	case READ:
		OK(fi_read(ep, in, 8, NULL, to, addr, key, context));
		break;
	default:
		OK(fi_fetch_atomic(ep, out, 1, NULL, in, NULL, to, addr, key, FI_UINT64, FI_SUM,
				   context));
	}
}

/* Gives the operation time to complete; the entries stay in the queues. */
static void progress(struct rdm_pair *pair)
{
	uint64_t end = now_ms() + 100;

	while (now_ms() < end) {
		fi_cq_read(pair->side[0].cq, NULL, 0);
		fi_cq_read(pair->side[1].cq, NULL, 0);
	}
}

/* Right after the call, later when it is most likely complete, and once that has been read. */
static void cancel(struct rdm_pair *pair, int i, void *mark)
{
	struct rdm_side *side = &pair->side[i];
	uint8_t other;

	OK(fi_cancel(&side->ep->fid, mark));
	RETURNS(fi_cancel(&side->ep->fid, &other), -FI_ENOENT);
	progress(pair);
	OK(fi_cancel(&side->ep->fid, mark));
	CHECK(rdm_wait(pair, i).op_context == mark);
	RETURNS(fi_cancel(&side->ep->fid, mark), -FI_ENOENT);
}

static void receive(struct rdm_pair *pair, size_t len)
{
	uint8_t mark;

	progress(pair);
	OK(fi_trecv(pair->side[1].ep, in, len, NULL, FI_ADDR_UNSPEC, 1, 0, &mark));
	cancel(pair, 1, &mark);
}

static void cannot_be_withdrawn(struct rdm_pair *pair, int kind)
{
	uint8_t mark;

	post(pair, kind, &mark);
	if (kind == LARGE_SEND) {
		OK(fi_cancel(&pair->side[0].ep->fid, &mark));
		receive(pair, LARGE);
	}
	cancel(pair, 0, &mark);
	if (kind == SMALL_SEND)
		receive(pair, 8);
}

/* A message that waits until another one has been received. */
static void waits_behind_a_fence(struct rdm_pair *pair)
{
	struct rdm_side *side = &pair->side[0];
	struct iovec iov = { out, 8 };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = side->peer, .tag = 1
	};
	uint8_t large, mark;

	msg.context = &mark;
	post(pair, LARGE_SEND, &large);
	OK(fi_tsendmsg(side->ep, &msg, FI_FENCE));
	OK(fi_cancel(&side->ep->fid, &mark));
	receive(pair, LARGE);
	CHECK(rdm_wait(pair, 0).op_context == &large);
	cancel(pair, 0, &mark);
	receive(pair, 8);
}

int main(void)
{
	struct rdm_pair pair;
	struct fid_mr *mr;
	int kind;

	rdm_open(&pair, RDM_PROV_KEYS);
	OK(fi_mr_reg(pair.domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY,
		     0, &mr, NULL));
	addr = (uintptr_t)target;
	key = fi_mr_key(mr);
	rdm_exchange(&pair, out, in, 8, 1);
	for (kind = 0; kind < SENT; kind++)
		cannot_be_withdrawn(&pair, kind);
	waits_behind_a_fence(&pair);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
	return 0;
}
