/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading a CQ: if a single endpoint completes into it, polled completions go directly to the
 * reader.
 */
#include <stdio.h>
#include "prov/base/refuse.h"
#include "prov/base/cq_peer.h"
#include "prov/base/ops.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/queue/cq.h"
#include <rdma/fi_errno.h>
#include "arrive.h"
#include "prov/rdm/cq.h"
#include "prov/rdm/lock.h"
#include "progress.h"
#include "retire.h"

/*
 * A reader without locks does not hold cq->eps_lock: whoever changes what the lock guards is
 * serialized with the reader, and so are readers of the endpoint's other CQ.
 */
OFI_INLINE bool try_enter_cq(struct ofi_rdm_cq *cq, bool nolock)
{
	return nolock || ofi_trylock(&cq->eps_lock);
}

OFI_INLINE bool release_cq(struct ofi_rdm_cq *cq, bool nolock)
{
	return nolock || ofi_release(&cq->eps_lock);
}

/* Slow path: looks up whether there are locks. */
OFI_INLINE void leave_both(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep)
{
	ofi_rdm_leave(ep, ep->biased);
	if (ofi_unlikely(!release_cq(cq, ep->biased)))
		ofi_unlock_slow(&cq->eps_lock);
}

/* Nothing went directly to the reader, but the ring has entries now. */
static OFI_OUTLINE ssize_t read_put(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_direct *direct = &ep->direct;
	size_t count = direct->left;
	fi_addr_t *src = direct->src;
	void *buf = direct->at;

	direct->src = NULL;
	leave_both(cq, ep);
	return ofi_rdm_cq_read_ring(cq, buf, count, src);
}

static OFI_OUTLINE ssize_t read_rest(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, size_t done)
{
	if (!done && !ofi_cq_ring_empty(&cq->ring))
		return read_put(cq, ep);
	ep->direct.src = NULL;
	leave_both(cq, ep);
	return done ? (ssize_t)done : -FI_EAGAIN;
}

/*
 * One completion was polled and handled, for a reader that wants `count`. Polls for more if wanted,
 * up to a batch, even if the first was not for this reader.
 */
OFI_INLINE ssize_t read_more(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, size_t count)
{
	struct ofi_rdm_direct *direct = &ep->direct;
	size_t most = VRB_RDM_BATCH - 1;
	int n;

	/* Otherwise the array is full, or the next entries are in the ring. */
	while (!count || direct->cq == cq) {
		if (count && direct->left < most)
			most = direct->left;
		n = most ? ibv_poll_cq(vrb_rc(ep)->poll_cq, (int)most, vrb_rc(ep)->wc) : 0;
		if (n <= 0)
			break;
		vrb_rdm_polled(ep, n);
		most -= (size_t)n;
	}
	return read_rest(cq, ep, count - direct->left);
}

/* `n` completions were polled. A stand-in for the CQ that returned fewer than it could is empty. */
static OFI_OUTLINE ssize_t read_several(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, int n)
{
	size_t count = ep->direct.left;

	if (!ep->direct.at || !count)
		ep->direct.cq = OFI_RDM_NO_DIRECT;
	vrb_rdm_polled(ep, n);
	if (n < vrb_rc(ep)->first)
		return read_rest(cq, ep, count - ep->direct.left);
	return read_more(cq, ep, count);
}

/* The first completion was not for a reader that wants one entry, and there is another one. */
static OFI_OUTLINE ssize_t read_next(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep)
{
	vrb_rdm_polled(ep, 1);
	return read_more(cq, ep, 1);
}

/* The reader wants one entry, and what was polled does not take a fast path. */
static OFI_OUTLINE ssize_t read_other(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep)
{
	if (vrb_rc(ep)->wc->wr_id & VRB_RDM_RX_BIT)
		vrb_rdm_arrived(ep, vrb_rc(ep)->wc);
	else
		vrb_rdm_retired(ep, vrb_rc(ep)->wc);
	if (ep->direct.cq == cq && ep->direct.left &&
	    ibv_poll_cq(vrb_rc(ep)->poll_cq, 1, vrb_rc(ep)->wc) > 0)
		return read_next(cq, ep);
	return read_rest(cq, ep, 1 - ep->direct.left);
}

static OFI_OUTLINE ssize_t read_filled(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, ssize_t ret)
{
	vrb_rdm_refill(ep);
	leave_both(cq, ep);
	return ret;
}

static OFI_OUTLINE ssize_t wake_both(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, ssize_t ret)
{
	ofi_rdm_unlock_slow(ep);
	if (ofi_unlikely(!release_cq(cq, false)))
		ofi_unlock_slow(&cq->eps_lock);
	return ret;
}

static OFI_OUTLINE ssize_t wake_one(struct ofi_rdm_cq *cq, ssize_t ret)
{
	ofi_unlock_slow(&cq->eps_lock);
	return ret;
}

/* Releases the locks, whose addresses are recomputed instead of kept in registers. */
OFI_INLINE ssize_t read_leave(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, ssize_t ret,
			      bool nolock)
{
	ofi_forget(cq);
	ofi_forget(ep);
	if (ofi_unlikely(!ofi_rdm_release(ep, nolock)))
		return wake_both(cq, ep, ret);
	if (ofi_unlikely(!release_cq(cq, nolock)))
		return wake_one(cq, ret);
	return ret;
}

/* Finishes after a single packet, whose buffer is free or kept. */
OFI_INLINE ssize_t read_packet(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, ssize_t ret,
			       bool nolock)
{
	if (ofi_unlikely(--vrb_rc(ep)->rx.above < 0))
		return read_filled(cq, ep, ret);
	return read_leave(cq, ep, ret, nolock);
}

static OFI_OUTLINE ssize_t read_long(struct ofi_rdm_ep *ep, struct ofi_rdm_match_node **at)
{
	struct vrb_rdm_arrival a;

	vrb_rdm_matched_at(vrb_rc(ep)->wc, at, &a);
	ofi_rdm_copy(a.recv->proto.iov[0].iov_base, a.payload, a.len);
	vrb_rdm_take_matched(ep, vrb_rc(ep)->wc, &a, ep->direct.at);
	return read_packet(ep->direct.cq, ep, 1, ep->biased);
}

/* Reads ep->rx_tagged. What is queued for the peer may complete; the next read reports it. */
static OFI_OUTLINE ssize_t read_unexpected(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_cq *cq = ep->rx_tagged;
	struct vrb_rdm_rx *rx = vrb_rdm_rx_of(vrb_rc(ep)->wc);
	uint64_t tag = ofi_rdm_wire_fast_tag((const void *)(uintptr_t)rx->sge.addr);

	ep->direct.cq = OFI_RDM_NO_DIRECT;
	vrb_rdm_keep_fast(ep->peers[vrb_rc(ep)->recent_number], rx, vrb_rc(ep)->wc->byte_len, true,
			  tag);
	return read_packet(cq, ep, -FI_EAGAIN, ep->biased);
}

/* Handles a single packet. Calls come last, so that all values stay in registers. */
OFI_INLINE ssize_t read_arrived(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool nolock)
{
	struct vrb_rdm_arrival a;

	if (ofi_unlikely(cq != ep->rx_tagged))
		return read_other(cq, ep);
	switch (vrb_rdm_meet(ep, vrb_rc(ep)->wc, &a)) {
	case VRB_RDM_MATCHED:
		break;
	case VRB_RDM_UNEXPECTED:
		return read_unexpected(ep);
	default:
		return read_other(ep->direct.cq, ep);
	}
	if (ofi_unlikely(!ofi_rdm_copies_now(a.len)))
		return read_long(ep, a.at);
	ofi_rdm_copy_now(a.recv->proto.iov[0].iov_base, a.payload, a.len);
	vrb_rdm_take_matched(ep, vrb_rc(ep)->wc, &a, ep->direct.at);
	return read_packet(ep->direct.cq, ep, 1, nolock);
}

/* Handles a single work request. */
OFI_INLINE ssize_t read_retired(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool nolock)
{
	if (!vrb_rdm_retires_now(ep, vrb_rc(ep)->wc))
		return read_other(cq, ep);
	vrb_rdm_retire_now(ep, vrb_rc(ep)->wc, ep->direct.at);
	return read_leave(cq, ep, 1, nolock);
}

OFI_INLINE ssize_t read_polled(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool nolock)
{
	if (ofi_unlikely(ep->direct.left != 1 || !ep->direct.at))
		return read_several(cq, ep, 1);
	if (vrb_rc(ep)->wc->wr_id & VRB_RDM_RX_BIT)
		return read_arrived(cq, ep, nolock);
	return read_retired(cq, ep, nolock);
}

/*
 * Calls come last, so that no values have to be saved. Faster without ep->direct.src, and with the
 * address of the object, from which both parts are at constant offsets.
 */
static OFI_OUTLINE ssize_t read_locked(struct ofi_rdm_cq *cq, struct vrb_rc_ep *rc)
{
	return read_polled(cq, &rc->rdm, false);
}

static OFI_OUTLINE ssize_t read_nolock(struct ofi_rdm_cq *cq, struct vrb_rc_ep *rc)
{
	return read_polled(cq, &rc->rdm, true);
}

/* Called after entering the CQ, and leaves it. */
static OFI_OUTLINE ssize_t read_many(struct ofi_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	if (cq->nolock)
		ofi_lock(&cq->eps_lock);
	return ofi_rdm_cq_read_many(cq, buf, count, src);
}

/* The ring has entries, which come before those that the device has. */
static OFI_OUTLINE ssize_t read_first(struct ofi_rdm_cq *cq, void *buf, size_t count,
				      fi_addr_t *src)
{
	ofi_rdm_leave(cq->only, cq->only->biased);
	return read_many(cq, buf, count, src);
}

/*
 * Reads the ring, or makes progress if it is empty: it is looked at inside the endpoint, because
 * until then the event thread may put entries into it. If only one endpoint completes into the CQ,
 * its completions go directly to buf. A single completion of the device is polled first, because
 * most calls want one, and completions beyond that are handled twice; a stand-in for the CQ is
 * emptied, because polling it again takes longer. If another thread is making progress, it does so
 * for this one too. Slow paths are called last, so that few values have to be saved.
 */
OFI_INLINE ssize_t read_entries(struct ofi_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src,
				bool nolock)
{
	struct ofi_rdm_ep *ep;
	int n;

	if (ofi_unlikely(!try_enter_cq(cq, nolock)))
		return ofi_rdm_cq_read_any(cq, buf, count, src);
	ep = cq->only;
	if (ofi_unlikely(!ep || !ofi_rdm_try_enter(ep, nolock)))
		return read_many(cq, buf, count, src);
	if (ofi_unlikely(!ofi_cq_ring_empty(&cq->ring)))
		return read_first(cq, buf, count, src);
	ep->direct.cq = cq;
	ep->direct.at = buf;
	ep->direct.left = count;
	if (src)
		ep->direct.src = src;
	n = ibv_poll_cq(vrb_rc(ep)->poll_cq, vrb_rc(ep)->first, vrb_rc(ep)->wc);
	/* Only the endpoint is kept across the poll; the address of its lock is recomputed. */
	cq = ep->direct.cq;
	if (ofi_unlikely(n > 1) || (src && n == 1))
		return read_several(cq, ep, n);
	if (ofi_unlikely(n == 1)) {
		ofi_forget(ep);
		return nolock ? read_nolock(cq, vrb_rc(ep)) : read_locked(cq, vrb_rc(ep));
	}
	if (src)
		ep->direct.src = NULL;
	ofi_forget(ep);
	if (ofi_unlikely(!ofi_rdm_release(ep, nolock)))
		return wake_both(cq, ep, -FI_EAGAIN);
	if (ofi_unlikely(!release_cq(cq, nolock)))
		return wake_one(cq, -FI_EAGAIN);
	return -FI_EAGAIN;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return read_entries((struct ofi_rdm_cq *)fid, buf, count, NULL, false);
}

static ssize_t cq_read_nolock(struct fid_cq *fid, void *buf, size_t count)
{
	return read_entries((struct ofi_rdm_cq *)fid, buf, count, NULL, true);
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	return read_entries((struct ofi_rdm_cq *)fid, buf, count, src, false);
}

static ssize_t cq_readfrom_nolock(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	return read_entries((struct ofi_rdm_cq *)fid, buf, count, src, true);
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	struct ofi_rdm_cq *cq = (struct ofi_rdm_cq *)fid;
	const char *text =
		prov_errno ? vrb_wc_str((enum ibv_wc_status)prov_errno) : "ended by the library";

	(void)err_data;
	if (!buf || !len) {
		snprintf(cq->text, sizeof(cq->text), "%s", text);
		return cq->text;
	}
	snprintf(buf, len, "%s", text);
	return buf;
}

#define CQ_OPS(nolock)                                                              \
	{                                                                           \
		.size = OFI_CQ_DEFAULTS, OFI_RDM_CQ_CALLS, .read = cq_read##nolock, \
		.readfrom = cq_readfrom##nolock, .strerror = cq_strerror,           \
	}

static const struct fi_ops_cq cq_ops = CQ_OPS(), cq_nolock_ops = CQ_OPS(_nolock);

int vrb_rc_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **cq,
		   void *context)
{
	struct vrb_domain *domain = vrb_domain(fid);
	struct fi_cq_attr none = { 0 };

	if (!cq)
		return ofi_refuse_null(domain->base.prov, FI_LOG_CQ, "fi_cq_open", "cq");
	if (!attr)
		attr = &none;
	if (attr->flags & FI_PEER)
		return ofi_cq_peer_open(domain->base.prov, vrb_rc_cq_open, fid, attr, cq, context);
	return ofi_rdm_cq_open(&domain->base, attr, vrb_cq_vector(domain, attr), &cq_ops,
			       &cq_nolock_ops, cq, context);
}
