/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Address handles, created when a path is first used. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "ah.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"

enum { STRANGERS_MAX = 65536, RENEW_MS = 1000, FAILED_MS = 30000, SPARE_MS = 5000 };

/* Compares the fields that distinguish paths; all hop limits are equal. */
static int ah_compare(const void *a, const void *b)
{
	const struct ibv_ah_attr *x = &((const struct vrb_ah *)a)->attr;
	const struct ibv_ah_attr *y = &((const struct vrb_ah *)b)->attr;
	int diff = memcmp(&x->grh.dgid, &y->grh.dgid, sizeof(x->grh.dgid));

	if (!diff)
		diff = (int)x->dlid - (int)y->dlid;
	if (!diff)
		diff = (int)x->grh.sgid_index - (int)y->grh.sgid_index;
	if (!diff)
		diff = (int)x->port_num - (int)y->port_num;
	if (!diff)
		diff = (int)x->is_global - (int)y->is_global;
	if (!diff)
		diff = (int)x->sl - (int)y->sl;
	return diff ? diff : (int)x->grh.traffic_class - (int)y->grh.traffic_class;
}

static void ah_free(void *node)
{
	struct vrb_ah *ah = node;

	ibv_destroy_ah(ah->ah);
	if (ah->old)
		ibv_destroy_ah(ah->old);
	free(ah);
}

void vrb_ahs_fini(void **tree)
{
	tdestroy(*tree, ah_free);
	*tree = NULL;
}

/* The tree is sorted by GID first. */
static int ah_compare_gid(const void *a, const void *b)
{
	return memcmp(&((const struct vrb_ah *)a)->attr.grh.dgid,
		      &((const struct vrb_ah *)b)->attr.grh.dgid, sizeof(union ibv_gid));
}

struct vrb_ah *vrb_ah_to(void *const *tree, const union ibv_gid *gid)
{
	const struct vrb_ah wanted = { .attr.grh.dgid = *gid };
	struct vrb_ah **found = tfind(&wanted, tree, ah_compare_gid);

	return found ? *found : NULL;
}

static struct ibv_ah *ah_create(struct ibv_pd *pd, struct ibv_ah_attr attr)
{
	struct ibv_ah *ah;
	int err;

	errno = 0;
	ah = ibv_create_ah(pd, &attr);
	if (ah)
		return ah;
	err = errno;
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_AV, "ibv_create_ah: %s%s\n", strerror(err),
		       vrb_remedy(err));
	errno = -vrb_errno(err);
	return NULL;
}

struct vrb_ah *vrb_ah_find(void *const *tree, const struct ibv_ah_attr *attr)
{
	const struct vrb_ah wanted = { .attr = *attr };
	struct vrb_ah **found = tfind(&wanted, tree, ah_compare);

	return found ? *found : NULL;
}

struct vrb_ah *vrb_ah_get(void **tree, struct ibv_pd *pd, const struct ibv_ah_attr *attr)
{
	struct vrb_ah *known = vrb_ah_find(tree, attr);
	struct ibv_ah *handle;
	struct vrb_ah *ah;

	if (known)
		return known;
	handle = ah_create(pd, *attr);
	if (!handle)
		return NULL;
	ah = malloc(sizeof(*ah));
	if (ah) {
		*ah = (struct vrb_ah){ .attr = *attr, .ah = handle };
		if (tsearch(ah, tree, ah_compare))
			return ah;
		free(ah);
	}
	ibv_destroy_ah(handle);
	errno = FI_ENOMEM;
	return NULL;
}

void vrb_ah_renew(struct vrb_domain *domain, struct vrb_ah *ah)
{
	uint64_t now = ofi_now_ms();
	struct ibv_ah *fresh = NULL;

	ofi_lock(&domain->paths_lock);
	if (now >= ah->renewal) {
		fresh = ah_create(domain->pd, ah->attr);
		ah->renewal = now + (fresh ? RENEW_MS : FAILED_MS);
	}
	if (fresh) {
		if (ah->old)
			ibv_destroy_ah(ah->old);
		ah->old = ah->ah;
		__atomic_store_n(&ah->ah, fresh, __ATOMIC_RELEASE);
	}
	ofi_unlock(&domain->paths_lock);
}

struct vrb_ah *vrb_ah_use(struct vrb_domain *domain, struct vrb_ah *ah)
{
	if (ah && !ah->users++ && ah->spare)
		TAILQ_REMOVE(&domain->spare_paths, ah, entry);
	return ah;
}

void vrb_ah_leave(struct vrb_domain *domain, struct vrb_ah *ah)
{
	if (!ah)
		return;
	ofi_lock(&domain->paths_lock);
	if (!--ah->users && ah->spare) {
		ah->left = ofi_now_ms();
		TAILQ_INSERT_TAIL(&domain->spare_paths, ah, entry);
	}
	ofi_unlock(&domain->paths_lock);
}

/*
 * A host may have many addresses: strangers get at most half of the device's handles, as each path
 * may have two.
 */
static bool are_few(const struct vrb_domain *domain)
{
	const uint32_t most = (uint32_t)domain->attr.max_ah / 4;

	return domain->stranger_paths < (most && most < STRANGERS_MAX ? most : STRANGERS_MAX);
}

/* Returns the handle to be destroyed next: what was sent with it has left the send queue. */
static struct vrb_ah *spare_of(const struct vrb_domain *domain)
{
	struct vrb_ah *ah = TAILQ_FIRST(&domain->spare_paths);

	return ah && ofi_now_ms() - ah->left >= SPARE_MS ? ah : NULL;
}

bool vrb_ah_takes_stranger(struct vrb_domain *domain)
{
	bool takes;

	ofi_lock(&domain->paths_lock);
	takes = are_few(domain) || spare_of(domain);
	ofi_unlock(&domain->paths_lock);
	return takes;
}

static void make_room(struct vrb_domain *domain)
{
	struct vrb_ah *ah = spare_of(domain);

	if (!ah || are_few(domain))
		return;
	TAILQ_REMOVE(&domain->spare_paths, ah, entry);
	tdelete(ah, &domain->paths, ah_compare);
	ah_free(ah);
	domain->stranger_paths--;
}

struct vrb_ah *vrb_ah_of_stranger(struct vrb_domain *domain, const struct ibv_ah_attr *attr)
{
	struct vrb_ah *ah;

	ofi_lock(&domain->paths_lock);
	ah = vrb_ah_use(domain, vrb_ah_find(&domain->paths, attr));
	if (!ah)
		make_room(domain);
	if (!ah && are_few(domain)) {
		ah = vrb_ah_use(domain, vrb_ah_get(&domain->paths, domain->pd, attr));
		domain->stranger_paths += !!ah;
		if (ah)
			ah->spare = !domain->unordered;
	}
	ofi_unlock(&domain->paths_lock);
	return ah;
}

struct vrb_ah *vrb_ah_of_domain(struct vrb_domain *domain, const struct ibv_ah_attr *attr)
{
	struct vrb_ah *ah;

	ofi_lock(&domain->paths_lock);
	ah = vrb_ah_use(domain, vrb_ah_get(&domain->paths, domain->pd, attr));
	ofi_unlock(&domain->paths_lock);
	return ah;
}
