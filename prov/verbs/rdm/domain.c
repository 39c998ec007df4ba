/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Domains of reliable datagrams: their calls, and what hangs from them. */
#include "prov/base/ops.h"
#include "prov/base/poll.h"
#include "domain_progress.h"
#include "atomic.h"
#include "av.h"
#include "cache.h"
#include "coll.h"
#include "cq.h"
#include "domain.h"
#include "ep.h"
#include "prov/verbs/queue/cntr.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/msg/stx.h"
#include "work.h"

static const struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	OFI_DOMAIN_DEFAULTS,
	.av_open = vrb_rdm_av_open,
	.cq_open = vrb_rdm_cq_open,
	.endpoint = vrb_rdm_open,
	.cntr_open = vrb_cntr_open,
	.poll_open = ofi_poll_open,
	.stx_ctx = vrb_stx_open,
	.query_atomic = vrb_rdm_query_atomic,
	.query_collective = vrb_rdm_query_collective,
};

static int domain_open(struct vrb_domain *domain)
{
	int ret = vrb_rdm_cache_open(domain, &domain->base.cache);

	return ret ? ret : vrb_rdm_domain_progress_open(domain, &domain->base.progress);
}

static void domain_close(struct vrb_domain *domain)
{
	vrb_rdm_domain_progress_close(domain->base.progress);
	vrb_rdm_cache_close(domain->base.cache);
}

static const struct vrb_domain_rdm domain_rdm = {
	.ops = ofi_ops(&domain_ops),
	.open = domain_open,
	.close = domain_close,
	.lost = vrb_rdm_domain_progress_lost,
	.watch = vrb_rdm_domain_progress_watch,
	.unwatch = vrb_rdm_domain_progress_unwatch,
	.queue_work = vrb_rdm_queue_work,
};

void vrb_rdm_domain_init(void)
{
	vrb_domain_register_rdm(&domain_rdm);
}
