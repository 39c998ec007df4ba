/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions to the thread that reads a CQ, past the ring. */
#ifndef VRB_RDM_SINK_H
#define VRB_RDM_SINK_H

#include "cq.h"
#include "peer.h"

/* An entry of a CQ that is not of FI_CQ_FORMAT_TAGGED. */
void vrb_rdm_sink_other(struct vrb_rdm_sink *sink, void *context, uint64_t flags, size_t len,
			uint64_t tag);

/*
 * Completes an operation to the reader that waits for it. Only scalars are passed on, so that in
 * the common case nothing but the entry is written. single: the sink is of no use after it, and has
 * no src. False: it is to go to the ring of the CQ.
 */
OFI_INLINE bool vrb_rdm_sink_take(struct vrb_rdm *ep, const struct vrb_rdm_cq *cq, void *context,
				  uint64_t flags, size_t len, uint64_t tag,
				  struct vrb_rdm_peer *from, bool single)
{
	struct vrb_rdm_sink *sink = &ep->sink;
	struct fi_cq_tagged_entry *entry = sink->at;

	if (ofi_unlikely(sink->cq != cq || !sink->left))
		return false;
	if (ofi_likely(cq->format == FI_CQ_FORMAT_TAGGED)) {
		*entry = (struct fi_cq_tagged_entry){ context, flags, len, NULL, 0, tag };
		if (!single)
			sink->at = entry + 1;
	} else {
		vrb_rdm_sink_other(sink, context, flags, len, tag);
	}
	if (single)
		return true;
	if (ofi_unlikely(sink->src))
		*sink->src++ = from ? vrb_rdm_peer_source(from) : FI_ADDR_NOTAVAIL;
	sink->left--;
	return true;
}

#endif
