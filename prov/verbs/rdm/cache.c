/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The domain's registration cache. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "domain.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/mr.h"
#include "prov/verbs/provider/prov.h"

#define MAX_COUNT 4096	  /* default */
#define MOST	  1048576 /* more mappings than the kernel permits to watch */

/* Logged by the first transfer that is affected, not by a program that only opens domains. */
static void warn_if_refused(const struct ofi_mr_cache *cache)
{
	if (cache && cache->refusal)
		FI_WARN_ONCE(
			&vrb_prov, FI_LOG_MR,
			"the kernel does not report freed memory (userfaultfd: %s): each large transfer registers its buffer again, which is slow; fi_doctor has the "
			"remedy, FI_MR_CACHE_MONITOR=disabled accepts it\n",
			fi_strerror(-cache->refusal));
}

/*
 * Cached registrations give no access to peers: see rc.h. Read-only memory can be sent from, but
 * no window can be bound to it, because for that the kernel requires write access.
 */
static int cache_reg(void *arg, void *addr, size_t len, unsigned int *access, void **mr)
{
	const unsigned int wanted = *access;
	struct vrb_domain *domain = arg;
	bool windows = __atomic_load_n(&domain->windows, __ATOMIC_RELAXED);
	int err;

	warn_if_refused(domain->base.cache);
	*access = IBV_ACCESS_LOCAL_WRITE | (windows ? IBV_ACCESS_MW_BIND : 0);
	*mr = vrb_mr_new(domain, addr, len, (int)*access);
	if (!*mr && vrb_err_is_refused(errno) && !wanted) {
		*access = 0;
		*mr = ibv_reg_mr(domain->pd, addr, len, 0);
	}
	if (*mr)
		return 0;
	err = errno;
	if (vrb_err_is_refused(err) && wanted == IBV_ACCESS_MW_BIND)
		return vrb_errno(err);
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_MR, "registering %zu B at %p: %s%s\n", len, addr,
		       strerror(err), vrb_reg_remedy(err));
	return vrb_errno(err);
}

static void cache_dereg(void *arg, void *mr)
{
	(void)arg;
	ibv_dereg_mr(mr);
}

/* Returns false if no monitor is wanted. */
static bool wants_monitor(void)
{
	char *name = NULL;

	if (fi_param_get(NULL, "mr_cache_monitor", &name) || !name || !*name)
		return true;
	if (!strcasecmp(name, "disabled"))
		return false;
	if (strcasecmp(name, "userfaultfd"))
		FI_WARN_SPARSE(
			&vrb_prov, FI_LOG_MR,
			"FI_MR_CACHE_MONITOR=%s: not available, using userfaultfd; the only other choice is disabled\n",
			name);
	return true;
}

int vrb_rdm_cache_open(struct vrb_domain *domain, struct ofi_mr_cache **cache)
{
	struct ofi_mr_cache *opened = calloc(1, sizeof(*opened));
	size_t count = MAX_COUNT, size = SIZE_MAX;
	int ret;

	if (!opened)
		return -FI_ENOMEM;
	opened->reg = cache_reg;
	opened->dereg = cache_dereg;
	opened->arg = domain;
	fi_param_get(NULL, "mr_cache_max_count", &count);
	fi_param_get(NULL, "mr_cache_max_size", &size);
	if (count > MOST && count != SIZE_MAX)
		FI_WARN(&vrb_prov, FI_LOG_DOMAIN,
			"fi_domain: FI_MR_CACHE_MAX_COUNT is %zu, %d regions are kept at most\n",
			count, MOST);
	ret = ofi_mr_cache_init(opened, count < MOST ? count : MOST, size, wants_monitor());
	if (ret) {
		free(opened);
		return ret;
	}
	*cache = opened;
	return 0;
}

void vrb_rdm_cache_close(struct ofi_mr_cache *cache)
{
	if (!cache)
		return;
	ofi_mr_cache_fini(cache);
	free(cache);
}
