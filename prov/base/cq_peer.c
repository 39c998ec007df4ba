/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peer completion queues: their completions are written to the owner's queue. */
#include "cq_peer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_peer.h>
#include "cq.h"
#include "ops.h"
#include "refuse.h"
#include "src/ds/lock.h"

enum { PEER_BATCH = 16 };

struct ofi_cq_peer {
	struct fid_peer_cq *owner;
	const struct fi_ops_cq *own; /* the calls that read the CQ itself */
	struct ofi_lock lock;	     /* held by the reading thread; guards the following fields */
	/* Completions that were read but not written yet: `first` to `end`, then the error. */
	ssize_t first, end;
	bool failed;
	struct fi_cq_tagged_entry entries[PEER_BATCH];
	fi_addr_t src[PEER_BATCH];
	struct fi_cq_err_entry error;
};

/* Writes to the owner's queue. Returns 0, or the owner's error for the first one not written. */
static ssize_t hand_over(struct ofi_cq_peer *peer)
{
	struct fid_peer_cq *owner = peer->owner;
	const struct fi_cq_tagged_entry *e;
	ssize_t ret;

	for (; peer->first < peer->end; peer->first++) {
		e = &peer->entries[peer->first];
		ret = owner->owner_ops->write(owner, e->op_context, e->flags, e->len, e->buf,
					      e->data, e->tag, peer->src[peer->first]);
		if (ret < 0)
			return ret;
	}
	ret = peer->failed ? owner->owner_ops->writeerr(owner, &peer->error) : 0;
	if (ret < 0)
		return ret;
	peer->failed = false;
	return 0;
}

/*
 * Reads the CQ itself once nothing is left to write. Returns the result; -FI_EAVAIL for an error.
 */
static ssize_t read_own(struct fid_cq *cq, struct ofi_cq_peer *peer)
{
	ssize_t ret, n = peer->own->readfrom(cq, peer->entries, PEER_BATCH, peer->src);

	peer->first = 0;
	peer->end = n;
	if (n != -FI_EAVAIL)
		return n;
	peer->error = (struct fi_cq_err_entry){ .err_data_size = 0 };
	ret = peer->own->readerr(cq, &peer->error, 0);
	peer->failed = ret == 1;
	return ret < 0 ? ret : n;
}

static ssize_t read_all(struct fid_cq *cq, struct ofi_cq_peer *peer)
{
	ssize_t n, ret = hand_over(peer);

	if (ret)
		return ret;
	do {
		n = read_own(cq, peer);
		ret = hand_over(peer);
	} while (!ret && (n == PEER_BATCH || n == -FI_EAVAIL));
	return ret < 0 || n > 0 || n == -FI_EAVAIL ? ret : n;
}

/*
 * Does not wait for the lock: this thread may hold it, if the owner's queue calls from within
 * `write`.
 */
static ssize_t peer_read(struct fid_cq *cq, void *buf, size_t count)
{
	const struct ofi_cq_slow *slow = ((struct ofi_cq *)cq)->slow;
	ssize_t ret;

	if (buf || count)
		return ofi_decline(slow->prov, FI_LOG_CQ, -FI_ENOSYS,
				   "fi_cq_read: a peer completion queue has no entries itself; "
				   "call it with NULL and 0 to make progress\n");
	if (!ofi_trylock(&slow->peer->lock))
		return -FI_EAGAIN;
	ret = read_all(cq, slow->peer);
	ofi_unlock(&slow->peer->lock);
	return ret;
}

/* Uses the provider's own strerror, because the owner passes on the peer's errors. */
static const char *peer_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf,
				 size_t len)
{
	return ((struct ofi_cq *)cq)->slow->peer->own->strerror(cq, prov_errno, err_data, buf, len);
}

static const struct fi_ops_cq peer_ops = {
	.size = OFI_CQ_DEFAULTS,
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
	struct fi_cq_attr own = { .flags = 0 };
	struct ofi_cq_peer *peer;
	int ret;

	if (!is_complete(lent))
		return ofi_refuse(prov, FI_LOG_CQ, -FI_EINVAL,
				  "fi_cq_open: FI_PEER needs a fi_peer_cq_context as context, "
				  "whose queue has write and writeerr\n");
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -FI_ENOMEM;
	/* In programs for API 2.5 and earlier, the structure ends before xpu_ctx. */
	memcpy(&own, attr, offsetof(struct fi_cq_attr, xpu_ctx));
	own.flags &= ~FI_PEER;
	own.format = FI_CQ_FORMAT_TAGGED;
	own.wait_obj = FI_WAIT_NONE;
	ret = open(domain, &own, cq, context);
	if (ret) {
		free(peer);
		return ret;
	}
	ofi_lock_init(&peer->lock);
	peer->owner = lent->cq;
	peer->own = (*cq)->ops;
	((struct ofi_cq *)*cq)->slow->peer = peer;
	(*cq)->ops = ofi_ops(&peer_ops);
	return 0;
}
