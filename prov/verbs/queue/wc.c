/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Failed work completions: the entry for fi_cq_readerr and the text for fi_cq_strerror. */
#include <stdio.h>
#include <rdma/rdma_cma.h>
#include <ofi/addr.h>
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/provider/err.h"
#include "srq.h"
#include "wc.h"
#include "wq.h"

static const struct vrb_slot *slot_of(const struct ibv_wc *wc)
{
	return (const struct vrb_slot *)(uintptr_t)wc->wr_id;
}

/* If a datagram is longer than its receive, some devices report IBV_WC_LOC_QP_OP_ERR. */
static int error_of(const struct ibv_wc *wc, const struct vrb_slot *slot)
{
	if (slot->wq->dgram && wc->status == IBV_WC_LOC_QP_OP_ERR)
		return FI_ETRUNC;
	return vrb_wc_err(wc->status, slot->flags & FI_RECV);
}

/* The opcode of a failed completion is undefined, so everything is taken from the slot. */
void vrb_wc_error(const struct ibv_wc *wc, struct fi_cq_err_entry *entry)
{
	const struct vrb_slot *slot = slot_of(wc);
	uint64_t flags = slot->flags & ~VRB_FLAGS;

	*entry = (struct fi_cq_err_entry){
		.op_context = slot->context,
		.flags = flags,
		.err = error_of(wc, slot),
		.prov_errno = wc->status,
	};
}

static void name_ends(struct vrb_wc_detail *detail, const struct vrb_ep *ep)
{
	detail->qp_num = ep->qp_num;
	detail->peer_qp_num = ep->peer_qp_num;
	if (ep->conn.peer.ss_family)
		ofi_addr_str((struct sockaddr *)&ep->conn.peer, detail->peer, sizeof(detail->peer));
}

/* A shared receive belongs to the endpoint that took it, which may be closed. */
static void name_taker(struct vrb_wc_detail *detail, struct vrb_domain *domain)
{
	struct vrb_ep *ep;

	ofi_lock(&domain->lock);
	ep = vrb_ep_find(domain, detail->qp_num);
	if (ep)
		name_ends(detail, ep);
	ofi_unlock(&domain->lock);
}

void vrb_wc_detail(const struct ibv_wc *wc, struct vrb_wc_detail *detail)
{
	const struct vrb_slot *slot = slot_of(wc);

	*detail = (struct vrb_wc_detail){
		.size = sizeof(*detail),
		.vendor_err = wc->vendor_err,
		.flags = slot->flags & ~VRB_FLAGS,
		.len = slot->len,
		.qp_num = wc->qp_num,
	};
	if (slot->wq->ep)
		name_ends(detail, slot->wq->ep);
	else
		name_taker(detail, vrb_srq(slot->wq)->domain);
}

static const char *operation_text(uint64_t flags)
{
	if (flags & FI_MSG)
		return flags & FI_RECV ? "receive" : "send";
	if (flags & FI_ATOMIC)
		return flags & FI_READ ? "fetching atomic" : "atomic";
	return flags & FI_READ ? "RMA read" : "RMA write";
}

/* Returns the usual cause of the status in the application's terms. */
static const char *status_text(int status, uint64_t flags)
{
	if (status == IBV_WC_LOC_QP_OP_ERR && flags & FI_RECV)
		return "receive buffer too small for the datagram, or too many segments";
	switch (status) {
	case IBV_WC_LOC_LEN_ERR:
		return "receive buffer too small for the message, or message above max_msg_size";
	case IBV_WC_LOC_QP_OP_ERR:
		return "the queue pair does not support this: too many segments, or RMA reads above the negotiated depth";
	case IBV_WC_LOC_PROT_ERR:
		return "the local descriptor does not cover the buffer or lacks the access";
	case IBV_WC_WR_FLUSH_ERR:
		return "the endpoint is disconnected, shut down or in error";
	case IBV_WC_LOC_ACCESS_ERR:
		return "an incoming write hit a local protection error";
	case IBV_WC_REM_INV_REQ_ERR:
		return "the peer's receive buffer is too small, or it does not accept this operation";
	case IBV_WC_REM_ACCESS_ERR:
		return "the key, the remote range or its access rights are wrong";
	case IBV_WC_REM_OP_ERR:
		return "the peer could not perform the operation";
	case IBV_WC_RETRY_EXC_ERR:
		return "no answer: the peer is gone or the path is down";
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return "the peer has no receive posted";
	default:
		return "";
	}
}

const char *vrb_wc_text(int status, const struct vrb_wc_detail *detail, char *buf, size_t len)
{
	const char *why = status_text(status, detail ? detail->flags : 0);
	const char *name = ibv_wc_status_str(status);
	const char *colon = *why ? ": " : "";

	if (!detail)
		snprintf(buf, len, "%s (%d)%s%s", name, status, colon, why);
	else
		snprintf(buf, len, "%s (%d), vendor 0x%x: %s of %llu B to %s, QP 0x%x to 0x%x%s%s",
			 name, status, detail->vendor_err, operation_text(detail->flags),
			 (unsigned long long)detail->len,
			 detail->peer[0] ? detail->peer : "unknown peer", detail->qp_num,
			 detail->peer_qp_num, colon, why);
	return buf;
}
