/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peer completion queues: what has completed is written to the queue of the owner. */
#include "cq_peer.h"

#include <rdma/fi_errno.h>
#include <rdma/providers/fi_peer.h>
#include "cq.h"
#include "ops.h"
#include "refuse.h"

enum { PEER_BATCH = 16 };

/* Writes entries to the owner's queue. Returns 0, or the owner's error. */
static ssize_t hand_over(struct fid_peer_cq *owner, const struct fi_cq_tagged_entry *entries,
			 const fi_addr_t *src, ssize_t count)
{
	const struct fi_cq_tagged_entry *e;
	ssize_t i, ret = 0;

	for (i = 0; i < count && ret >= 0; i++) {
		e = &entries[i];
		ret = owner->owner_ops->write(owner, e->op_context, e->flags, e->len, e->buf,
					      e->data, e->tag, src[i]);
	}
	return ret < 0 ? ret : 0;
}

static ssize_t hand_over_error(struct fid_cq *cq, const struct ofi_cq_slow *slow)
{
	struct fi_cq_err_entry entry = { .err_data_size = 0 };
	ssize_t ret = slow->own->readerr(cq, &entry, 0);

	if (ret == 1)
		ret = slow->owner->owner_ops->writeerr(slow->owner, &entry);
	return ret < 0 ? ret : 0;
}

static ssize_t peer_read(struct fid_cq *cq, void *buf, size_t count)
{
	const struct ofi_cq_slow *slow = ((struct ofi_cq *)cq)->slow;
	struct fi_cq_tagged_entry entries[PEER_BATCH];
	fi_addr_t src[PEER_BATCH];
	ssize_t n, ret = 0;

	if (buf || count)
		return ofi_decline(slow->prov, FI_LOG_CQ, -FI_ENOSYS,
				   "fi_cq_read: a peer completion queue has no entries itself; "
				   "call it with NULL and 0 to make progress\n");
	do {
		n = slow->own->readfrom(cq, entries, PEER_BATCH, src);
		if (n > 0)
			ret = hand_over(slow->owner, entries, src, n);
		else if (n == -FI_EAVAIL)
			ret = hand_over_error(cq, slow);
	} while (!ret && (n == PEER_BATCH || n == -FI_EAVAIL));
	return ret < 0 || n > 0 || n == -FI_EAVAIL ? ret : n;
}

/* Uses the provider's own strerror, because the owner passes on the peer's errors. */
static const char *peer_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf,
				 size_t len)
{
	return ((struct ofi_cq *)cq)->slow->own->strerror(cq, prov_errno, err_data, buf, len);
}

static const struct fi_ops_cq peer_ops = {
	.size = sizeof(struct fi_ops_cq),
	OFI_CQ_DEFAULTS,
	.read = peer_read,
	.strerror = peer_strerror,
};

static bool is_complete(const struct fi_peer_cq_context *lent)
{
	const struct fi_ops_cq_owner *ops;

	if (!lent || lent->size < sizeof(*lent) || !lent->cq || !lent->cq->owner_ops)
		return false;
	ops = lent->cq->owner_ops;
	return ops->size >= sizeof(*ops) && ops->write && ops->writeerr;
}

int ofi_cq_peer_open(const struct fi_provider *prov, ofi_cq_open_call *open,
		     struct fid_domain *domain, const struct fi_cq_attr *attr, struct fid_cq **cq,
		     void *context)
{
	const struct fi_peer_cq_context *lent = context;
	struct fi_cq_attr own = *attr;
	struct ofi_cq_slow *slow;
	int ret;

	if (!is_complete(lent))
		return ofi_refuse(prov, FI_LOG_CQ, -FI_EINVAL,
				  "fi_cq_open: FI_PEER needs a fi_peer_cq_context as context, "
				  "whose queue has write and writeerr\n");
	own.flags &= ~FI_PEER;
	own.format = FI_CQ_FORMAT_TAGGED;
	own.wait_obj = FI_WAIT_NONE;
	ret = open(domain, &own, cq, context);
	if (ret)
		return ret;
	slow = ((struct ofi_cq *)*cq)->slow;
	slow->owner = lent->cq;
	slow->own = (*cq)->ops;
	(*cq)->ops = ofi_ops(&peer_ops);
	return 0;
}
