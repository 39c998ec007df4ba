/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Poll sets. */
#include <stdlib.h>
#include <sys/queue.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "cntr.h"
#include "cq.h"
#include "src/ds/lock.h"
#include "ops.h"
#include "poll.h"
#include "refuse.h"

struct item {
	struct fid *fid;
	struct ofi_ref *ref;
	struct ofi_cntr_state seen; /* of a counter when it was last reported */
	TAILQ_ENTRY(item) link;
};

struct poll_set {
	struct fid_poll fid;
	struct ofi_ref *parent;
	const struct fi_provider *prov;
	struct ofi_lock lock; /* guards the items */
	TAILQ_HEAD(item_list, item) items;
};

static struct poll_set *poll_set(struct fid_poll *fid)
{
	return (struct poll_set *)fid;
}

static bool cntr_ready(struct item *item, bool room)
{
	struct ofi_cntr *cntr = (struct ofi_cntr *)item->fid;

	ofi_cntr_progress(cntr);
	return room && ofi_cntr_changed_since(cntr, &item->seen);
}

/* Makes progress. Returns true if the member is ready and there is room to report it. */
static bool item_ready(struct item *item, bool room)
{
	struct ofi_cq *cq = (struct ofi_cq *)item->fid;

	if (item->fid->fclass == FI_CLASS_CQ)
		return cq->slow->ops->ready(cq) && room;
	return cntr_ready(item, room);
}

/* Reported members move to the end, so that a small count starves nobody. */
static int poll_items(struct poll_set *set, void **context, int count)
{
	struct item_list ready = TAILQ_HEAD_INITIALIZER(ready);
	struct item *item, *next;
	int n = 0;

	for (item = TAILQ_FIRST(&set->items); item; item = next) {
		next = TAILQ_NEXT(item, link);
		if (!item_ready(item, n < count))
			continue;
		context[n++] = item->fid->context;
		TAILQ_REMOVE(&set->items, item, link);
		TAILQ_INSERT_TAIL(&ready, item, link);
	}
	TAILQ_CONCAT(&set->items, &ready, link);
	return n;
}

static int poll_poll(struct fid_poll *fid, void **context, int count)
{
	struct poll_set *set = poll_set(fid);
	int n;

	if (count < 0 || (count && !context))
		return -FI_EINVAL;
	ofi_lock(&set->lock);
	n = poll_items(set, context, count);
	ofi_unlock(&set->lock);
	return n;
}

/* Returns NULL if the object cannot be polled here. */
static struct ofi_ref *ref_of(const struct poll_set *set, struct fid *fid)
{
	struct ofi_cntr *cntr = ofi_cntr_of(fid, set->parent);
	struct ofi_cq *cq = ofi_cq_of(fid, set->parent);

	if (cq)
		return &cq->slow->ref;
	return cntr ? &cntr->ref : NULL;
}

static struct item *poll_find(const struct poll_set *set, const struct fid *fid)
{
	struct item *item;

	TAILQ_FOREACH (item, &set->items, link)
		if (item->fid == fid)
			break;
	return item;
}

static int add_item(struct poll_set *set, struct fid *fid, struct ofi_ref *ref)
{
	struct item *item;

	if (poll_find(set, fid))
		return -FI_EALREADY;
	item = calloc(1, sizeof(*item));
	if (!item)
		return -FI_ENOMEM;
	item->fid = fid;
	item->ref = ref;
	ofi_ref_get(ref);
	TAILQ_INSERT_TAIL(&set->items, item, link);
	return 0;
}

static int poll_add(struct fid_poll *fid, struct fid *event_fid, uint64_t flags)
{
	struct poll_set *set = poll_set(fid);
	struct ofi_ref *ref = ref_of(set, event_fid);
	int ret;

	if (flags)
		return -FI_EBADFLAGS;
	if (!ref)
		return ofi_refuse(
			set->prov, FI_LOG_DOMAIN, -FI_EINVAL,
			"fi_poll_add: object of class %zu; a poll set takes completion queues and counters of its own domain\n",
			event_fid ? event_fid->fclass : 0);
	ofi_lock(&set->lock);
	ret = add_item(set, event_fid, ref);
	ofi_unlock(&set->lock);
	return ret;
}

static int poll_del(struct fid_poll *fid, struct fid *event_fid, uint64_t flags)
{
	struct poll_set *set = poll_set(fid);
	struct item *item;

	if (flags)
		return -FI_EBADFLAGS;
	ofi_lock(&set->lock);
	item = poll_find(set, event_fid);
	if (item)
		TAILQ_REMOVE(&set->items, item, link);
	ofi_unlock(&set->lock);
	if (!item)
		return -FI_ENOENT;
	ofi_ref_put(item->ref);
	free(item);
	return 0;
}

static int poll_close(struct fid *fid)
{
	struct poll_set *set = (struct poll_set *)fid;
	bool used;

	if (ofi_ref_inherited(set->parent))
		return 0;
	ofi_lock(&set->lock);
	used = !TAILQ_EMPTY(&set->items);
	ofi_unlock(&set->lock);
	if (used)
		return ofi_refuse(
			set->prov, FI_LOG_DOMAIN, -FI_EBUSY,
			"fi_close: poll set %p is not empty; remove its members with fi_poll_del first\n",
			(void *)set);
	ofi_ref_put(set->parent);
	free(set);
	return 0;
}

static const struct fi_ops poll_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = poll_close,
};

static const struct fi_ops_poll poll_ops = {
	.size = OFI_POLL_DEFAULTS,
	.poll = poll_poll,
	.poll_add = poll_add,
	.poll_del = poll_del,
};

int ofi_poll_open(struct fid_domain *domain_fid, struct fi_poll_attr *attr, struct fid_poll **fid)
{
	struct ofi_domain *domain = ofi_domain(domain_fid);
	struct poll_set *set;

	if (!fid)
		return ofi_refuse_null(domain->prov, FI_LOG_DOMAIN, "fi_poll_open", "pollset");
	if (attr && attr->flags)
		return ofi_refuse_flags(domain->prov, FI_LOG_DOMAIN, "fi_poll_open", attr->flags);
	set = calloc(1, sizeof(*set));
	if (!set)
		return -FI_ENOMEM;
	set->fid = (struct fid_poll){
		.fid = { .fclass = FI_CLASS_POLL, .ops = ofi_ops(&poll_fid_ops) },
		.ops = ofi_ops(&poll_ops),
	};
	set->prov = domain->prov;
	set->parent = &domain->ref;
	ofi_lock_init(&set->lock);
	TAILQ_INIT(&set->items);
	ofi_ref_get(&domain->ref);
	*fid = &set->fid;
	return 0;
}
