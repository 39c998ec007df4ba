/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading completions: polled in batches from the device and formatted into the caller's array.
 * Each format has its own reader, chosen when the CQ is opened.
 */
#include <arpa/inet.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include "cq.h"
#include "post.h"

union entries {
	void *any;
	struct fi_cq_entry *context;
	struct fi_cq_msg_entry *msg;
	struct fi_cq_data_entry *data;
	struct fi_cq_tagged_entry *tagged;
};

/* What one completion reports; constants of the format drop what is not asked. */
VRB_INLINE void put(enum fi_cq_format format, union entries out, size_t i, void *context, uint64_t flags,
		    const struct ibv_wc *wc)
{
	size_t len = wc->opcode & IBV_WC_RECV ? wc->byte_len : 0;
	uint64_t data = flags & FI_REMOTE_CQ_DATA ? ntohl(wc->imm_data) : 0;

	switch (format) {
	case FI_CQ_FORMAT_MSG:
		out.msg[i] = (struct fi_cq_msg_entry){ .op_context = context, .flags = flags, .len = len };
		break;
	case FI_CQ_FORMAT_DATA:
		out.data[i] = (struct fi_cq_data_entry){
			.op_context = context, .flags = flags, .len = len, .data = data
		};
		break;
	case FI_CQ_FORMAT_TAGGED:
		out.tagged[i] = (struct fi_cq_tagged_entry){
			.op_context = context, .flags = flags, .len = len, .data = data
		};
		break;
	default:
		out.context[i].op_context = context;
		break;
	}
}

/* With immediate data the flags depend on what arrived; an RMA write with data is always reported. */
VRB_INLINE uint64_t arrived(const struct vrb_wq *wq, uint64_t flags, const struct ibv_wc *wc)
{
	if (vrb_likely(!(wc->wc_flags & IBV_WC_WITH_IMM) || !(wc->opcode & IBV_WC_RECV)) || wq->closed)
		return flags;
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	return flags | FI_REMOTE_CQ_DATA;
}

/* Retires what the completion stands for. Returns the entries written, 0 or 1. */
VRB_INLINE size_t take_one(enum fi_cq_format format, union entries out, size_t i, const struct ibv_wc *wc)
{
	struct vrb_slot *slot = (struct vrb_slot *)(uintptr_t)wc->wr_id;
	struct vrb_wq *wq = slot->wq;
	uint64_t flags;
	void *context;

	/* Pairs with vrb_wq_publish: what the poster stored in the slot is visible from here on. */
	(void)__atomic_load_n(&wq->head, __ATOMIC_ACQUIRE);
	context = slot->context;
	flags = arrived(wq, slot->flags, wc);
	vrb_wq_retire(wq, slot);
	if (vrb_unlikely(flags & VRB_SILENT))
		return 0;
	put(format, out, i, context, flags, wc);
	return 1;
}

VRB_INLINE int take(struct vrb_cq *cq, struct ibv_wc *wc, int want)
{
	if (vrb_unlikely(cq->stash_count || __atomic_load_n(&cq->lost, __ATOMIC_ACQUIRE)))
		return vrb_cq_take_rare(cq, wc, want);
	return ibv_poll_cq(cq->ibv, want, wc);
}

VRB_INLINE ssize_t read_format(enum fi_cq_format format, struct vrb_cq *cq, void *buf, size_t count)
{
	union entries out = { .any = buf };
	struct ibv_wc wc[VRB_CQ_BUNCH_MAX];
	size_t done = 0;
	int i, n, want;

	vrb_cq_lock(cq);
	do {
		want = count - done < (size_t)cq->bunch ? (int)(count - done) : cq->bunch;
		n = take(cq, wc, want);
		for (i = 0; i < n; i++) {
			if (vrb_unlikely(wc[i].status != IBV_WC_SUCCESS)) {
				vrb_cq_untake(cq, &wc[i], n - i);
				n = -FI_EAVAIL;
				break;
			}
			done += take_one(format, out, done, &wc[i]);
		}
	} while (n == want && done < count);
	if (vrb_unlikely(!LIST_EMPTY(&cq->closed)) && n >= 0 && n < want)
		vrb_cq_reap(cq);
	vrb_cq_unlock(cq);
	if (done)
		return done;
	return n >= 0 ? -FI_EAGAIN : n == -FI_EAVAIL ? -FI_EAVAIL : -FI_EIO;
}

static ssize_t read_context(struct fid_cq *cq, void *buf, size_t count)
{
	return read_format(FI_CQ_FORMAT_CONTEXT, vrb_cq(cq), buf, count);
}

static ssize_t read_msg(struct fid_cq *cq, void *buf, size_t count)
{
	return read_format(FI_CQ_FORMAT_MSG, vrb_cq(cq), buf, count);
}

static ssize_t read_data(struct fid_cq *cq, void *buf, size_t count)
{
	return read_format(FI_CQ_FORMAT_DATA, vrb_cq(cq), buf, count);
}

static ssize_t read_tagged(struct fid_cq *cq, void *buf, size_t count)
{
	return read_format(FI_CQ_FORMAT_TAGGED, vrb_cq(cq), buf, count);
}

/* A connected endpoint has one source, which is in no address vector. */
static ssize_t cq_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	ssize_t i, n = cq->ops->read(cq, buf, count);

	for (i = 0; src && i < n; i++)
		src[i] = FI_ADDR_NOTAVAIL;
	return n;
}

#define READER(fn)                                                                                     \
	{                                                                                              \
		.size = sizeof(struct fi_ops_cq), .read = (fn), .readfrom = cq_readfrom,               \
		.readerr = vrb_cq_readerr, .sread = vrb_cq_sread, .sreadfrom = vrb_cq_sreadfrom,       \
		.signal = vrb_cq_signal, .strerror = vrb_cq_strerror,                                  \
	}

struct fi_ops_cq vrb_cq_ops[FI_CQ_FORMAT_TAGGED + 1] = {
	[FI_CQ_FORMAT_CONTEXT] = READER(read_context),
	[FI_CQ_FORMAT_MSG] = READER(read_msg),
	[FI_CQ_FORMAT_DATA] = READER(read_data),
	[FI_CQ_FORMAT_TAGGED] = READER(read_tagged),
};
