/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The receives of reliable queue pairs below connections on unreliable datagrams. They are in an
 * SRQ of the device, which gets half of what the transport posts; the other half is for datagrams.
 */
#include <errno.h>
#include <string.h>
#include <rdma/providers/fi_log.h>
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "ud_int.h"
#include "ud_rc.h"

int vrb_ud_rc_failed(const char *what, int err)
{
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL, "a queue pair for a connection: %s: %s%s\n", what,
		       strerror(err), vrb_remedy(err));
	return vrb_errno(err);
}

bool vrb_ud_rc_make_room(struct vrb_ud *all, uint32_t need)
{
	uint32_t size;

	while (all->rcs.room < need) {
		size = vrb_rc_cq_grow(all->ep, all->rcs.cq_size);
		if (size == all->rcs.cq_size)
			return false;
		all->rcs.room += size - all->rcs.cq_size;
		all->rcs.cq_size = size;
	}
	return true;
}

/*
 * Returns how many of so many new receives the SRQ gets: half of all that there are, which may be
 * few if there is no memory for more.
 */
static uint32_t share_of(const struct vrb_ud *all, uint32_t count)
{
	uint32_t half = (all->rcs.in_srq + all->recv_head - all->recv_tail + count) / 2;
	uint32_t share = ofi_min(half, all->rcs.share) + all->rcs.lost;

	return share > all->rcs.in_srq ? ofi_min(share - all->rcs.in_srq, count) : 0;
}

/* Posts the first of a list. Returns those that were not posted. */
static struct ibv_recv_wr *post_some(struct vrb_ud *all, struct ibv_recv_wr *first, uint32_t n)
{
	struct ibv_recv_wr *last = first, *rest, *bad = NULL;
	uint32_t i;

	for (i = 1; i < n; i++)
		last = last->next;
	rest = last->next;
	last->next = NULL;
	all->rcs.in_srq += n;
	if (!ibv_post_srq_recv(all->rcs.srq, first, &bad))
		return rest;
	last->next = rest;
	for (first = bad; first != rest; first = first->next)
		all->rcs.in_srq--;
	return bad;
}

struct ibv_recv_wr *vrb_ud_rc_post_recvs(struct vrb_ud *all, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *at;
	uint32_t count = 0;

	for (at = wr; at; at = at->next)
		count++;
	count = share_of(all, count);
	return count ? post_some(all, wr, count) : wr;
}

/* Moves receives of datagrams to the new SRQ. */
static void fill_srq(struct vrb_ud *all)
{
	uint32_t n = ofi_min((all->recv_head - all->recv_tail) / 2, all->rcs.share);
	struct vrb_rdm_rx *rx;
	struct ibv_recv_wr *wr;

	for (; n; n--) {
		rx = all->recvs[all->recv_tail & all->ring_mask];
		wr = &((struct vrb_rdm_rx_buf *)rx)->wr;
		wr->next = NULL;
		if (post_some(all, wr, 1))
			return;
		all->recv_tail++;
	}
}

/* The SRQ has more places than its share: one for each receive that the device may have lost. */
int vrb_ud_srq_open(struct vrb_ud *all)
{
	struct ibv_srq_init_attr attr = {
		.srq_context = all->ep,
		.attr = { .max_wr = 2 * all->rcs.share, .max_sge = 1 },
	};

	if (all->rcs.srq)
		return 0;
	if (!vrb_ud_rc_make_room(all, 2 * all->rcs.share))
		return vrb_ud_rc_failed("the completion queue is full", ENOMEM);
	all->rcs.srq = ibv_create_srq(vrb_rc_domain(all->ep)->pd, &attr);
	if (!all->rcs.srq)
		return vrb_ud_rc_failed("ibv_create_srq", errno);
	all->rcs.room -= 2 * all->rcs.share;
	fill_srq(all);
	return 0;
}

void vrb_ud_srq_give(struct vrb_ud *all, struct vrb_rdm_rx *rx)
{
	struct ibv_recv_wr *wr = &((struct vrb_rdm_rx_buf *)rx)->wr;

	wr->next = NULL;
	if (vrb_ud_rc_post_recvs(all, wr))
		vrb_ud_recv_add(all, wr);
}
