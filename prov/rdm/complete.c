/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions of an endpoint: counted, then written to the reader's array or to the ring. */
#include <stdlib.h>
#include <string.h>
#include "prov/base/cq.h"
#include <rdma/fi_errno.h>
#include "cq.h"
#include "peer.h"
#include "complete.h"
#include "objects.h"
#include "srx.h"
#include "direct.h"
#include "stats.h"
#include "work.h"

void ofi_rdm_cq_wake(struct ofi_rdm_cq *cq)
{
	if (__atomic_exchange_n(&cq->waiting, false, __ATOMIC_SEQ_CST))
		ofi_wait_signal(&cq->slow.wait);
}

void ofi_rdm_cq_name_sender(struct ofi_cq_item *item, const struct ofi_rdm_addr *addr)
{
	struct ofi_rdm_sender *sender = malloc(sizeof(*sender));

	item->from = sender;
	if (!sender)
		return;
	if (ofi_rdm_addr_is_qp(addr)) {
		sender->len = OFI_RDM_ADDR_NAME;
		ofi_rdm_addr_name(addr, sender->name);
	} else {
		sender->len = ofi_addr_size(&addr->sa);
		memcpy(sender->name, addr, sender->len);
	}
	item->flags |= OFI_RDM_CQ_FROM;
}

void ofi_rdm_cq_put(struct ofi_rdm_cq *cq, const struct ofi_cq_item *item)
{
	ofi_rdm_cq_add(cq, item);
}

static void complete_count(struct ofi_rdm_ep *ep, uint64_t flags, int err)
{
	struct ofi_cntr *cntr = ep->cntrs[flags & FI_RECV		       ? OFI_RDM_RECV
					  : flags & FI_READ		       ? OFI_RDM_RMA_READ
					  : flags & (FI_WRITE | FI_COLLECTIVE) ? OFI_RDM_RMA_WRITE
									       : OFI_RDM_SEND];

	ofi_cntr_count_result(cntr, !err);
}

/*
 * Writes to the array of the reading thread if there is room. An entry that follows one in the ring
 * goes to the ring as well.
 */
void ofi_rdm_put(struct ofi_rdm_ep *ep, struct ofi_rdm_cq *cq, const struct ofi_cq_item *item)
{
	struct ofi_rdm_direct *direct = &ep->direct;

	if (direct->cq == cq && !item->err) {
		ofi_cq_put_entry(cq->base.format, direct->at, 0, item);
		ofi_rdm_direct_advance(direct, ofi_cq_entry_size(cq->base.format), item->src);
		return;
	}
	if (direct->cq == cq)
		direct->cq = OFI_RDM_NO_DIRECT;
	ofi_rdm_cq_put(cq, item);
}

void ofi_rdm_complete_tx(struct ofi_rdm_ep *ep, void *context, uint64_t flags, int err,
			 int wc_status)
{
	struct ofi_cq_item item = {
		.context = context,
		.flags = flags & ~(OFI_RDM_SILENT | OFI_RDM_KIND),
		.src = FI_ADDR_NOTAVAIL,
		.err = err,
		.prov_errno = wc_status,
	};

	if (ep->closing)
		return;
	if (ofi_unlikely(err))
		ofi_stats_add(&ep->stats, OFI_STATS_ERRORS, 1);
	if (ep->counts) {
		if (flags & OFI_RDM_DEFERRED) {
			ofi_rdm_work_done(ep, ep->tx_cq, &item);
			return;
		}
		complete_count(ep, flags, err);
	}
	if (!ep->tx_cq || ((flags & OFI_RDM_SILENT) && !err))
		return;
	if (err)
		item.olen = 0;
	ofi_rdm_put(ep, ep->tx_cq, &item);
}

/* The address of a scalable endpoint stands for those of its contexts. */
static void name_sender(struct ofi_cq_item *item, const struct ofi_rdm_peer *from)
{
	struct ofi_rdm_addr base = from->addr;

	ofi_rdm_cq_name_sender(item,
			       ofi_rdm_addr_shift(&base, -from->context) ? &base : &from->addr);
}

static void set_source(struct ofi_rdm_ep *ep, struct ofi_cq_item *item, struct ofi_rdm_peer *from)
{
	item->src = from ? ofi_rdm_peer_source(from) : FI_ADDR_NOTAVAIL;
	if (ofi_unlikely(ep->source_err) && from && item->src == FI_ADDR_NOTAVAIL) {
		item->err = FI_EADDRNOTAVAIL;
		if (ep->rx_cq)
			name_sender(item, from);
	}
}

/* The endpoint of a shared context's receive, known only later, may report all receives. */
static bool honors_silence(const struct ofi_rdm_ep *ep)
{
	return ep->rx_selective || !ep->srx;
}

void ofi_rdm_complete_rx(struct ofi_rdm_ep *ep, const struct ofi_rdm_recv *recv,
			 struct ofi_cq_item *item, struct ofi_rdm_peer *from)
{
	/* A receive of a shared context outlives the endpoint, so its end is reported. */
	if (ep->closing && !ep->srx)
		return;
	/* An unknown source is an error, which is counted as one. */
	if (ofi_unlikely(ep->source_err) && !item->err)
		set_source(ep, item, from);
	if (ofi_unlikely(item->err))
		ofi_stats_add(&ep->stats, OFI_STATS_RX_ERRORS, 1);
	if (from)
		ofi_rdm_count(ep, OFI_STATS_RECEIVES, OFI_STATS_RECEIVE_BYTES, item->len);
	if (ep->counts) {
		if (recv->flags & OFI_RDM_DEFERRED) {
			ofi_rdm_work_done(ep, ep->rx_cq, item);
			return;
		}
		complete_count(ep, FI_RECV, item->err);
	}
	/* The release of a multi-receive buffer is reported even if completions are suppressed. */
	if (!ep->rx_cq || (!item->err && (recv->flags & OFI_RDM_RECV_SILENT) &&
			   honors_silence(ep) && !(item->flags & FI_MULTI_RECV)))
		return;
	if (!item->err)
		set_source(ep, item, from);
	ofi_rdm_put(ep, ep->rx_cq, item);
}

void ofi_rdm_recv_done(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done)
{
	struct ofi_rdm_ep *owner = ofi_rdm_of_proto(proto);
	struct ofi_rdm_recv *recv = (struct ofi_rdm_recv *)done->recv;
	struct ofi_rdm_peer *from = (struct ofi_rdm_peer *)done->peer;
	struct ofi_rdm_ep *ep = from ? from->ep : ofi_rdm_srx_reporter(owner);
	bool multi = recv->flags & FI_MULTI_RECV;
	struct ofi_cq_item item = {
		.context = recv->proto.match.context,
		.flags = recv->flags & ~(OFI_RDM_RECV_BITS | FI_MULTI_RECV),
		.len = done->len,
		.buf = multi && from ? (uint8_t *)recv->proto.iov[0].iov_base + done->base : NULL,
		.data = done->data,
		.tag = done->tag,
		.err = done->err,
	};

	if (done->flags & OFI_RDM_WIRE_DATA)
		item.flags |= FI_REMOTE_CQ_DATA;
	if (multi && done->last)
		item.flags |= FI_MULTI_RECV;
	if (done->err)
		item.olen = done->lost;
	if (ofi_likely(ep))
		ofi_rdm_complete_rx(ep, recv, &item, from);
	if (done->last)
		ofi_rdm_recv_put(owner, recv);
}
