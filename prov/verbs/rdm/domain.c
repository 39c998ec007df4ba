/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Domains of reliable datagrams: their calls and their objects. */
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/ops.h"
#include "prov/base/poll.h"
#include "prov/base/refuse.h"
#include "prov/rdm/domain_progress.h"
#include "prov/rdm/atomic.h"
#include "prov/rdm/av.h"
#include "prov/rdm/coll.h"
#include "domain.h"
#include "prov/verbs/discovery/kind.h"
#include "rc.h"
#include "secret.h"
#include "window.h"
#include "prov/verbs/queue/cntr.h"
#include "prov/verbs/discovery/info_rdm.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/prov.h"
#include "prov/rdm/work.h"

static const struct fi_ops_domain domain_ops = {
	.size = OFI_DOMAIN_DEFAULTS,
	.av_open = ofi_rdm_av_open,
	.cq_open = vrb_rc_cq_open,
	.endpoint = vrb_rc_open,
	.scalable_ep = vrb_rc_sep_open,
	.cntr_open = vrb_cntr_open,
	.poll_open = ofi_poll_open,
	.stx_ctx = vrb_stx_open,
	.srx_ctx = vrb_rc_srx_open,
	.query_atomic = ofi_rdm_query_atomic,
	.query_collective = ofi_rdm_query_collective,
};

/* A device serves whoever knows a key of memory, so with a job secret it reads nothing. */
static uint32_t max_read(const struct vrb_domain *domain)
{
	const struct vrb_kind *kind = domain->fabric->kind;

	return kind->reads && !vrb_rdm_secret_is_set(domain->base.info) ? kind->reads(domain->ctx)
									: 0;
}

static int set_transport(struct vrb_domain *domain)
{
	const char *name = vrb_params.rdm_transport;

	domain->ud = domain->unordered || vrb_rdm_wants_ud(domain->base.info);
	domain->max_read = max_read(domain);
	domain->shares = domain->fabric->kind->sizes->shm;
	domain->grows = !domain->unordered && vrb_rdm_transport_is("auto") &&
			domain->attr.max_sge >= VRB_RDM_SGE_MIN;
	vrb_rdm_windows_open(domain);
	if (domain->ud)
		vrb_mr_table_open(&domain->table);
	if (!name || vrb_rdm_transport_is("rc") || domain->ud)
		return 0;
	return ofi_refuse(
		&vrb_prov, FI_LOG_DOMAIN, -FI_EINVAL,
		"fi_domain: FI_VERBS_RDM_TRANSPORT=%s is not valid; it takes rc, ud or auto\n",
		name);
}

static int domain_open(struct vrb_domain *domain)
{
	int ret = set_transport(domain);

	if (!ret)
		ret = vrb_rdm_cache_open(domain, &domain->base.cache);
	domain->base.packet = (size_t)vrb_params.rdm_buffer_size;
	return ret ? ret
		   : ofi_rdm_domain_progress_open(&domain->base, vrb_params.rdm_auto_progress);
}

static void domain_close(struct vrb_domain *domain)
{
	ofi_rdm_domain_progress_close(domain->base.progress);
	vrb_rdm_cache_close(domain->base.cache);
	vrb_mr_table_close(&domain->table);
}

static const struct vrb_domain_rdm domain_rdm = {
	.ops = ofi_ops(&domain_ops),
	.open = domain_open,
	.close = domain_close,
	.lost = ofi_rdm_domain_progress_lost,
	.forget = ofi_rdm_domain_progress_forget,
	.watch = ofi_rdm_domain_progress_watch,
	.unwatch = ofi_rdm_domain_progress_unwatch,
	.work = &ofi_rdm_work_ops,
	.work_find = ofi_rdm_work_find,
};

void vrb_rdm_domain_init(void)
{
	vrb_domain_register_rdm(&domain_rdm);
}
