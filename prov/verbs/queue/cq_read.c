/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reading completions: they are polled in batches from the device and formatted into the caller's
 * array. Each format has its own reader, chosen when the CQ is opened.
 */
#include "prov/base/ops.h"
#include "cq.h"
#include "prov/verbs/dgram/dgram.h"

union entries {
	void *any;
	struct fi_cq_entry *context;
	struct fi_cq_msg_entry *msg;
	struct fi_cq_data_entry *data;
	struct fi_cq_tagged_entry *tagged;
};

/* Writes one entry; a constant format removes the stores that it does not need. */
OFI_INLINE void cq_read_put(enum fi_cq_format format, union entries out, void *context,
			    uint64_t flags, size_t len, void *buf, uint64_t data)
{
	switch (format) {
	case FI_CQ_FORMAT_MSG:
		*out.msg = (struct fi_cq_msg_entry){ context, flags, len };
		break;
	case FI_CQ_FORMAT_DATA:
		*out.data = (struct fi_cq_data_entry){ context, flags, len, buf, data };
		break;
	case FI_CQ_FORMAT_TAGGED:
		*out.tagged = (struct fi_cq_tagged_entry){ context, flags, len, buf, data, 0 };
		break;
	default:
		out.context->op_context = context;
		break;
	}
}

/*
 * Retires a completion in a CQ that is traced or has datagrams; i is the index of the entry to be
 * written.
 */
static OFI_OUTLINE uint64_t retire_slow(struct vrb_cq *cq, struct ibv_wc *wc, size_t i,
					uint64_t flags)
{
	struct vrb_slot *slot = (struct vrb_slot *)(uintptr_t)wc->wr_id;
	fi_addr_t *src = cq->src ? &cq->src[i] : NULL;

	if (src)
		*src = FI_ADDR_NOTAVAIL;
	if (slot->wq->dgram)
		flags |= vrb_dgram_arrived(wc, src);
	return vrb_wq_retire(slot->wq, slot, flags);
}

OFI_INLINE size_t size_of(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	default:
		return sizeof(struct fi_cq_entry);
	}
}

/* Returns the number of entries written up to out. */
OFI_INLINE size_t entries_to(enum fi_cq_format format, const struct vrb_cq *cq, union entries out)
{
	return (size_t)((char *)out.any - (char *)cq->out) / size_of(format);
}

/* Handles part of an FI_MULTI_RECV buffer: returns its flags and sets *buf to its address. */
static OFI_OUTLINE uint64_t take_part(const struct vrb_slot *slot, const struct ibv_wc *wc,
				      uint64_t flags, void **buf)
{
	*buf = slot->buf;
	flags = (flags & ~VRB_MULTI) | (slot->flags & FI_MULTI_RECV);
	return wc->status ? flags | VRB_SILENT : flags;
}

/*
 * Handles flags and data of a completion with immediate data. An RMA write with data is always
 * reported, unless its endpoint is closed.
 */
OFI_INLINE uint64_t arrived(const struct ibv_wc *wc, uint64_t flags, uint64_t *data)
{
	const struct vrb_slot *slot = (const struct vrb_slot *)(uintptr_t)wc->wr_id;

	if (!(wc->opcode & IBV_WC_RECV) || vrb_wq_closed(slot->wq))
		return flags;
	*data = ntohl(wc->imm_data);
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		return FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	return flags | FI_REMOTE_CQ_DATA;
}

/*
 * Retires a completion. Returns the number of entries written, 0 or 1. `slow` is true if the CQ is
 * traced or has datagrams.
 */
OFI_INLINE size_t take_one(enum fi_cq_format format, union entries out, struct vrb_cq *cq,
			   struct ibv_wc *wc, bool slow)
{
	struct vrb_slot *slot = (struct vrb_slot *)(uintptr_t)wc->wr_id;
	struct vrb_wq *wq = slot->wq;
	uint64_t flags, data = 0;
	void *context, *buf = NULL;
	size_t len;

	vrb_wq_see(wq);
	context = slot->context;
	flags = slot->flags;
	if (ofi_unlikely(wc->wc_flags & IBV_WC_WITH_IMM))
		flags = arrived(wc, flags, &data);
	if (slow && slot->flags & VRB_MULTI)
		flags = take_part(slot, wc, flags, &buf);
	if (slow)
		flags = retire_slow(cq, wc, entries_to(format, cq, out), flags);
	else
		vrb_wq_retire_fast(wq, slot);
	len = wc->opcode & IBV_WC_RECV ? wc->byte_len : 0;
	if (slow && wc->status)
		len = 0;
	if (!slow || !(vrb_wq_special(wq) & VRB_WQ_SHARED))
		ofi_stats_add(&wq->stats, OFI_STATS_RECEIVE_BYTES, len);
	if (ofi_unlikely(flags & VRB_SILENT))
		return 0;
	cq_read_put(format, out, context, flags, len, buf, data);
	return 1;
}

/* Returns true for a failure that is reported; others are retired silently. */
OFI_INLINE bool is_error(const struct ibv_wc *wc)
{
	return ofi_unlikely(wc->status != IBV_WC_SUCCESS) && !vrb_cq_drops(wc);
}

/* Returns the number of entries up to out, or `none` if there are none. */
OFI_INLINE ssize_t written(enum fi_cq_format format, const struct vrb_cq *cq, union entries out,
			   ssize_t none)
{
	return out.any == cq->out ? none : (ssize_t)entries_to(format, cq, out);
}

/*
 * Returns the polled completions, wc[first..first+n), and polls for more while there is room. An
 * error and the completions after it are kept for later reads.
 */
OFI_INLINE ssize_t read_on(enum fi_cq_format format, struct vrb_cq *cq, int n, bool slow)
{
	struct ibv_wc *wc, *end, *stop;
	union entries out = { .any = cq->out };
	size_t room = cq->room;

	for (; n > 0; n = room ? vrb_cq_poll(cq, room) : 0) {
		wc = &cq->wc[cq->first];
		end = wc + n;
		for (stop = (size_t)n < room ? end : wc + room; wc < stop; wc++) {
			if (is_error(wc)) {
				vrb_cq_keep(cq, wc - cq->wc, end - cq->wc);
				return written(format, cq, out, -FI_EAVAIL);
			}
			if (take_one(format, out, cq, wc, slow))
				out.any = (char *)out.any + size_of(format);
		}
		vrb_cq_keep(cq, wc - cq->wc, end - cq->wc);
		room = cq->room - entries_to(format, cq, out);
	}
	return written(format, cq, out, n ? -FI_EIO : -FI_EAGAIN);
}

static OFI_OUTLINE void cq_wake(struct vrb_cq *cq)
{
	ofi_unlock_slow(&cq->lock);
}

/*
 * Leaves the CQ. Recomputing the lock's address after the barrier costs one addition instead of a
 * saved register.
 */
OFI_INLINE void cq_read_leave(struct vrb_cq *cq, bool lock)
{
	ofi_forget(cq);
	if (lock && ofi_unlikely(!ofi_release(&cq->lock)))
		cq_wake(cq);
}

/* There is no array for the completions, so they are kept. Releases the lock. */
static OFI_OUTLINE ssize_t cq_read_refuse(struct vrb_cq *cq, int n)
{
	vrb_cq_keep(cq, cq->first, cq->first + (uint32_t)n);
	cq_read_leave(cq, cq->locked);
	return -FI_EINVAL;
}

OFI_INLINE ssize_t read_any(struct vrb_cq *cq, int n, bool slow)
{
	ssize_t ret;

	if (ofi_unlikely(!cq->out && n > 0))
		return cq_read_refuse(cq, n);
	switch (cq->base.format) {
	case FI_CQ_FORMAT_MSG:
		ret = read_on(FI_CQ_FORMAT_MSG, cq, n, slow);
		break;
	case FI_CQ_FORMAT_DATA:
		ret = read_on(FI_CQ_FORMAT_DATA, cq, n, slow);
		break;
	case FI_CQ_FORMAT_TAGGED:
		ret = read_on(FI_CQ_FORMAT_TAGGED, cq, n, slow);
		break;
	default:
		ret = read_on(FI_CQ_FORMAT_CONTEXT, cq, n, slow);
		break;
	}
	cq_read_leave(cq, cq->locked);
	return ret;
}

static OFI_OUTLINE ssize_t read_slow(struct vrb_cq *cq, int n)
{
	return read_any(cq, n, true);
}

/* Handles any number of completions. Releases the lock. */
static OFI_OUTLINE ssize_t read_many(struct vrb_cq *cq, int n)
{
	if (ofi_unlikely(__atomic_load_n(&cq->special, __ATOMIC_RELAXED) &
			 (VRB_CQ_TRACED | VRB_CQ_DGRAM)))
		return read_slow(cq, n);
	return read_any(cq, n, false);
}

/* Handles n completions from the device, usually a single success. Releases the lock. */
OFI_INLINE ssize_t found(enum fi_cq_format format, struct vrb_cq *cq, int n, bool lock)
{
	union entries out = { .any = cq->out };

	cq->first = 0;
	if (ofi_unlikely(n != 1 || cq->wc[0].status || !out.any))
		return read_many(cq, n);
	if (ofi_unlikely(!take_one(format, out, cq, &cq->wc[0], false)))
		return read_many(cq, vrb_cq_poll(cq, cq->room));
	cq_read_leave(cq, lock);
	return 1;
}

/* Called with the lock held and releases it. */
static ssize_t read_sources(struct vrb_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	ssize_t ret;

	cq->out = buf;
	cq->room = count;
	cq->src = src;
	ret = read_many(cq, vrb_cq_poll(cq, count));
	if (ofi_unlikely(ofi_triggers_due(&cq->domain->base.triggers)))
		ofi_triggers_run(&cq->domain->base.triggers);
	return ret;
}

/* Slow path: cq->special is not 0, or the lock was contended. Releases the lock. */
static OFI_OUTLINE ssize_t read_special(struct vrb_cq *cq, void *buf, size_t count)
{
	return read_sources(cq, buf, count, NULL);
}

static OFI_OUTLINE ssize_t read_contended(struct vrb_cq *cq, void *buf, size_t count)
{
	ofi_lock(&cq->lock);
	return read_special(cq, buf, count);
}

/*
 * A polling application usually finds the CQ empty, so that path is kept short: everything else is
 * a tail call, and the caller's array is stored in the CQ instead of in saved registers.
 */
OFI_INLINE ssize_t read_format(ssize_t (*found_format)(struct vrb_cq *, int), struct fid_cq *fid,
			       void *buf, size_t count, bool lock)
{
	struct vrb_cq *cq = vrb_cq(fid);
	int n;

	if (lock && ofi_unlikely(!ofi_trylock(&cq->lock)))
		return read_contended(cq, buf, count);
	if (ofi_unlikely(__atomic_load_n(&cq->special, __ATOMIC_RELAXED)))
		return read_special(cq, buf, count);
	cq->out = buf;
	cq->room = count;
	n = ibv_poll_cq(cq->ibv, vrb_cq_want(cq, count), cq->wc);
	if (ofi_unlikely(n))
		return found_format(cq, n);
	cq_read_leave(cq, lock);
	return -FI_EAGAIN;
}

/* Defines read_NAME(), and found_NAME(), which it continues with if there is a completion. */
#define DEFINE_READER(name, format, lock)                                      \
	static OFI_OUTLINE ssize_t found_##name(struct vrb_cq *cq, int n)      \
	{                                                                      \
		return found(format, cq, n, lock);                             \
	}                                                                      \
	static ssize_t read_##name(struct fid_cq *cq, void *buf, size_t count) \
	{                                                                      \
		return read_format(found_##name, cq, buf, count, lock);        \
	}

DEFINE_READER(context, FI_CQ_FORMAT_CONTEXT, true)
DEFINE_READER(context_nolock, FI_CQ_FORMAT_CONTEXT, false)
DEFINE_READER(msg, FI_CQ_FORMAT_MSG, true)
DEFINE_READER(msg_nolock, FI_CQ_FORMAT_MSG, false)
DEFINE_READER(data, FI_CQ_FORMAT_DATA, true)
DEFINE_READER(data_nolock, FI_CQ_FORMAT_DATA, false)
DEFINE_READER(tagged, FI_CQ_FORMAT_TAGGED, true)
DEFINE_READER(tagged_nolock, FI_CQ_FORMAT_TAGGED, false)

/* Only datagram queues report sources; a connected endpoint's peer is in no address vector. */
static ssize_t read_from(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	struct vrb_cq *cq = vrb_cq(fid);
	ssize_t i, n;

	if (src && __atomic_load_n(&cq->special, __ATOMIC_RELAXED) & VRB_CQ_DGRAM) {
		vrb_cq_lock(cq);
		return read_sources(cq, buf, count, src);
	}
	n = fid->ops->read(fid, buf, count);
	for (i = 0; src && i < n; i++)
		src[i] = FI_ADDR_NOTAVAIL;
	return n;
}

#define READER(fn)                                                                               \
	{                                                                                        \
		.size = OFI_CQ_DEFAULTS, .read = (fn), .readfrom = read_from,                    \
		.readerr = ofi_cq_readerr, .sread = ofi_cq_sread, .sreadfrom = ofi_cq_sreadfrom, \
		.signal = ofi_cq_signal, .strerror = vrb_cq_strerror,                            \
	}

const struct fi_ops_cq vrb_cq_ops[FI_CQ_FORMAT_TAGGED + 1] = {
	[FI_CQ_FORMAT_CONTEXT] = READER(read_context),
	[FI_CQ_FORMAT_MSG] = READER(read_msg),
	[FI_CQ_FORMAT_DATA] = READER(read_data),
	[FI_CQ_FORMAT_TAGGED] = READER(read_tagged),
};

const struct fi_ops_cq vrb_cq_nolock_ops[FI_CQ_FORMAT_TAGGED + 1] = {
	[FI_CQ_FORMAT_CONTEXT] = READER(read_context_nolock),
	[FI_CQ_FORMAT_MSG] = READER(read_msg_nolock),
	[FI_CQ_FORMAT_DATA] = READER(read_data_nolock),
	[FI_CQ_FORMAT_TAGGED] = READER(read_tagged_nolock),
};
