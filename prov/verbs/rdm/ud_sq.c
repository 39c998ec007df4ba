/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device's send queue for unreliable datagrams, and the packets in it. */
#include "ud_int.h"

#define SIGNAL_EVERY 16u

struct vrb_ud_tx *vrb_ud_tx_new(struct vrb_ud *all)
{
	struct vrb_rdm_buf *buf = vrb_rdm_pool_get(&all->pool);
	struct vrb_ud_tx *tx;

	if (!buf)
		return NULL;
	tx = (struct vrb_ud_tx *)(void *)buf->out.data;
	*tx = (struct vrb_ud_tx){ .buf = buf };
	return tx;
}

void vrb_ud_tx_put(struct vrb_ud *all, struct vrb_ud_tx *tx)
{
	if (tx->not_ready)
		TAILQ_REMOVE(&tx->ud->not_ready, tx, link);
	tx->not_ready = false;
	tx->done = true;
	if (!tx->posted)
		vrb_rdm_pool_put(&all->pool, tx->buf);
}

/* The other counters move, too, so the number of packets in the queue stays. */
void vrb_ud_sq_seek(struct vrb_ud *all)
{
	uint64_t n = 0;

	while (n < VRB_UD_SQ && all->sq[(all->sq_head + n) % VRB_UD_SQ])
		n++;
	all->sq_head += n;
	all->sq_tail += n;
	all->sq_reports += n;
}

bool vrb_ud_put(struct vrb_ud *all, const struct vrb_ud_way *way, struct ibv_sge sge,
		struct vrb_ud_tx *tx, bool report)
{
	bool is_inline = sge.length <= all->inline_max;
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = is_inline ? IBV_SEND_INLINE : IBV_SEND_SIGNALED,
		.wr.ud = { .ah = __atomic_load_n(&way->path->ah, __ATOMIC_ACQUIRE),
			   .remote_qpn = way->qpn,
			   .remote_qkey = way->qkey },
	};

	if (all->unordered)
		vrb_ud_sq_seek(all);
	if (report || all->unordered || all->sq_head % SIGNAL_EVERY == 0)
		wr.send_flags |= IBV_SEND_SIGNALED;
	wr.wr_id = all->sq_head << 1 | 1;
	if (!vrb_ud_sq_room(all) || ibv_post_send(all->qp, &wr, &bad))
		return false;
	if (wr.send_flags & IBV_SEND_SIGNALED)
		all->sq_reports = all->sq_head + 1;
	/* A device that reports each packet may report that this one was not delivered. */
	tx = is_inline && !all->unordered ? NULL : tx;
	all->sq[all->sq_head++ % VRB_UD_SQ] = tx;
	if (tx)
		tx->posted++;
	return true;
}

/* The packet has left the device's send queue. */
static void tx_left(struct vrb_ud *all, uint64_t index)
{
	struct vrb_ud_tx *tx = all->sq[index % VRB_UD_SQ];

	if (tx && !--tx->posted && tx->done)
		vrb_rdm_pool_put(&all->pool, tx->buf);
	all->sq[index % VRB_UD_SQ] = NULL;
}

void vrb_ud_sent(struct vrb_ud *all, uint64_t index)
{
	if (all->unordered) {
		tx_left(all, index);
		all->sq_tail++;
		return;
	}
	for (; all->sq_tail <= index && all->sq_tail < all->sq_head; all->sq_tail++)
		tx_left(all, all->sq_tail);
}

bool vrb_ud_reads(const struct ofi_rdm_ep *ep)
{
	const struct vrb_ud *all = vrb_rc(ep)->ud;
	size_t i;

	if (!all || !all->reader)
		return false;
	for (i = 0; i < VRB_UD_SQ; i++)
		if (all->sq[i] && all->sq[i]->reads)
			return true;
	return false;
}
