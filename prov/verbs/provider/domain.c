/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Domains: opening a device, its protection domain and its asynchronous events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "prov/base/poll.h"
#include <rdma/providers/fi_log.h>
#include <ofi/wide.h>
#include "async.h"
#include "mr.h"
#include "prov/verbs/msg/atomic.h"
#include "prov/verbs/dgram/av.h"
#include "prov/verbs/queue/ah.h"
#include "prov/verbs/queue/cntr.h"
#include "prov/verbs/queue/cq.h"
#include "prov/verbs/discovery/device.h"
#include "prov/verbs/discovery/kind.h"
#include "domain.h"
#include "prov/verbs/msg/ep.h"
#include "err.h"
#include "prov/verbs/msg/ops.h"
#include "pages.h"
#include "prov.h"
#include "stats.h"
#include "tclass.h"
#include "prov/verbs/msg/work.h"
#include "prov/verbs/msg/srx.h"
#include "prov/base/refuse.h"
#include "prov/base/stx.h"
#include "prov/verbs/discovery/info_rdm.h"

/* Capabilities of a transmit context. */
#define STX_CAPS                                                                                 \
	(FI_MSG | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE | FI_FENCE | FI_LOCAL_COMM | \
	 FI_REMOTE_COMM | FI_TRIGGER)

static void domain_free(struct vrb_domain *domain)
{
	if (!domain)
		return;
	if (domain->rdm && vrb_domain_rdm())
		vrb_domain_rdm()->close(domain);
	if (domain->scratch_mr)
		ibv_dereg_mr(domain->scratch_mr);
	vrb_pages_unmap(domain->scratch, sizeof(*domain->scratch));
	vrb_ahs_fini(&domain->paths);
	if (domain->pd)
		ibv_dealloc_pd(domain->pd);
	if (domain->ctx)
		ibv_close_device(domain->ctx);
	fi_freeinfo(domain->base.info);
	ofi_stats_free(domain->base.stats, domain->base.stats);
	free(domain);
}

static int domain_close(struct fid *fid)
{
	struct vrb_domain *domain = (struct vrb_domain *)fid;
	struct vrb_fabric *fabric = domain->fabric;

	if (ofi_ref_inherited(&domain->base.ref))
		return 0;
	if (ofi_ref_busy(&domain->base.ref))
		return ofi_refuse(&vrb_prov, FI_LOG_DOMAIN, -FI_EBUSY,
				  "fi_close: domain %p still has open objects; close them first\n",
				  (void *)domain);
	vrb_async_close(domain);
	ofi_eq_forget(domain->base.eq, &domain->fid.fid);
	if (domain->base.eq)
		ofi_ref_put(&domain->base.eq->ref);
	domain_free(domain);
	ofi_ref_put(&fabric->ref);
	return 0;
}

static int domain_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct vrb_domain *domain = (struct vrb_domain *)fid;
	int ret = ofi_eq_bind(&vrb_prov, FI_LOG_DOMAIN, "fi_domain_bind", &domain->base.eq, bfid,
			      &domain->fabric->ref, flags & ~FI_REG_MR);

	if (!ret && flags & FI_REG_MR)
		__atomic_store_n(&domain->reports_mrs, true, __ATOMIC_RELEASE);
	return ret;
}

static int domain_control(struct fid *fid, int command, void *arg)
{
	struct vrb_domain *domain = (struct vrb_domain *)fid;
	const struct vrb_domain_rdm *rdm = vrb_rdm_of(domain);

	switch (command) {
	case FI_MAP_RAW_MR:
		return vrb_mr_raw_map(vrb_mr_key_size(domain), arg);
	case FI_UNMAP_KEY:
		return vrb_mr_raw_unmap(arg);
	default:
		return ofi_work_control(&domain->base, rdm ? rdm->work : &vrb_work_ops,
					rdm ? rdm->work_find : vrb_work_find, command, arg);
	}
}

static const struct fi_ops domain_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = domain_close,
	.bind = domain_bind,
	.control = domain_control,
	.ops_open = vrb_stats_open_ops,
};

/* Returns the limits of the domain's endpoints. */
static struct fi_tx_attr limits_of(const struct vrb_domain *domain)
{
	const struct ibv_device_attr *device = &domain->attr;

	if (domain->rdm)
		return vrb_rdm_tx_limits();
	return (struct fi_tx_attr){
		.caps = STX_CAPS,
		.size = (size_t)device->max_qp_wr,
		.iov_limit = device->max_sge < VRB_IOV_MAX ? (size_t)device->max_sge : VRB_IOV_MAX,
		.rma_iov_limit = 1,
	};
}

int vrb_stx_open(struct fid_domain *fid, struct fi_tx_attr *attr, struct fid_stx **stx,
		 void *context)
{
	const struct fi_tx_attr limit = limits_of(vrb_domain(fid));

	return ofi_stx_open(&vrb_domain(fid)->base, &limit, attr, stx, context);
}

/* All domains have these. */
#define DOMAIN_CALLS                                                                 \
	.size = OFI_DOMAIN_DEFAULTS, .av_open = vrb_av_open, .cq_open = vrb_cq_open, \
	.endpoint = vrb_ep_open, .poll_open = ofi_poll_open

static const struct fi_ops_domain domain_ops = {
	DOMAIN_CALLS,
	.cntr_open = vrb_cntr_open,
	.stx_ctx = vrb_stx_open,
	.srx_ctx = vrb_srx_open,
	.query_atomic = vrb_query_atomic,
};

/* Datagram domains have no atomics and no shared contexts. */
static const struct fi_ops_domain dgram_domain_ops = {
	DOMAIN_CALLS,
	.cntr_open = vrb_cntr_open,
};

/* There are no counters: they rely on operations that complete in the order of posting. */
static const struct fi_ops_domain unordered_domain_ops = { DOMAIN_CALLS };

bool vrb_is_domain(const struct fid_domain *fid)
{
	const struct vrb_domain_rdm *rdm = vrb_domain_rdm();

	return fid->ops->endpoint == vrb_ep_open ||
	       (rdm && fid->ops->endpoint == rdm->ops->endpoint);
}

static int domain_failed(const char *call, const struct vrb_domain *domain)
{
	int err = errno;

	FI_WARN(&vrb_prov, FI_LOG_DOMAIN, "fi_domain: %s on %s: %s%s\n", call,
		domain->base.info->domain_attr->name, strerror(err), vrb_remedy(err));
	return vrb_errno(err);
}

static bool is_of_type(const struct fi_info *info, enum fi_ep_type type)
{
	return info->ep_attr && info->ep_attr->type == type;
}

#define ODP_DGRAM  (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV)
#define ODP_NEEDED (ODP_DGRAM | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ)

static void set_odp(struct vrb_domain *domain)
{
	bool dgram = is_of_type(domain->base.info, FI_EP_DGRAM);
	uint32_t has = 0, needed = dgram ? ODP_DGRAM : ODP_NEEDED;
	struct ibv_device_attr_ex attr = { .comp_mask = 0 };

	if (!vrb_params.use_odp)
		return;
	if (!ibv_query_device_ex(domain->ctx, NULL, &attr) &&
	    attr.odp_caps.general_caps & IBV_ODP_SUPPORT)
		has = dgram ? attr.odp_caps.per_transport_caps.ud_odp_caps
			    : attr.odp_caps.per_transport_caps.rc_odp_caps;
	if ((has & needed) == needed)
		domain->odp = has;
	else
		FI_WARN(&vrb_prov, FI_LOG_DOMAIN,
			"FI_VERBS_USE_ODP has no effect on %s: the device does not support on-demand paging for %s\n",
			domain->base.info->domain_attr->name,
			dgram ? "datagrams" : "reliable connections");
}

static int open_scratch(struct vrb_domain *domain)
{
	domain->scratch = vrb_pages_map(sizeof(*domain->scratch));
	if (!domain->scratch)
		return -FI_ENOMEM;
	domain->scratch_mr = ibv_reg_mr(domain->pd, domain->scratch, sizeof(*domain->scratch),
					IBV_ACCESS_LOCAL_WRITE);
	return domain->scratch_mr ? 0 : domain_failed("ibv_reg_mr", domain);
}

/*
 * Drivers without order keep 16 bits of a length, mlx4 and mlx5 take the highest of 32 for a flag.
 * Devices whose messages have 2 GiB take buffers of that size.
 */
static uint32_t domain_recv_max(const struct vrb_domain *domain)
{
	const struct fi_ep_attr *ep = domain->base.info->ep_attr;

	if (domain->unordered)
		return UINT16_MAX;
	return ep && ep->max_msg_size > INT32_MAX ? UINT32_MAX : INT32_MAX;
}

static int open_device(struct vrb_domain *domain)
{
	bool is_efa_rdm = domain->rdm && !domain->fabric->kind->has_ip;
	int err;

	if (vrb_tclass_check("fi_domain", domain->base.info))
		return -FI_EINVAL;
	domain->ctx = vrb_device_open(domain->base.info->domain_attr->name, is_efa_rdm, &err);
	if (!domain->ctx)
		return err;
	err = ibv_query_device(domain->ctx, &domain->attr);
	if (err) {
		errno = err;
		return domain_failed("ibv_query_device", domain);
	}
	domain->unordered = domain->attr.vendor_id == VRB_VENDOR_AMAZON;
	domain->recv_max = domain_recv_max(domain);
	set_odp(domain);
	domain->pd = ibv_alloc_pd(domain->ctx);
	if (!domain->pd)
		return domain_failed("ibv_alloc_pd", domain);
	if (domain->attr.atomic_cap == IBV_ATOMIC_NONE ||
	    domain->ctx->device->transport_type == IBV_TRANSPORT_IWARP)
		return 0;
	return open_scratch(domain);
}

/* With FI_TRIGGER, a thread that reads a counter polls the queues of all that work waits for. */
static void set_threading(struct vrb_domain *domain)
{
	enum fi_threading threading = domain->base.info->domain_attr->threading;

	domain->lock_posts = threading == FI_THREAD_SAFE || threading == FI_THREAD_UNSPEC;
	domain->lock_polls =
		threading != FI_THREAD_DOMAIN &&
		(threading != FI_THREAD_COMPLETION || domain->base.info->caps & FI_TRIGGER);
}

static const struct fi_ops_domain *ops_of(const struct vrb_domain *domain)
{
	if (domain->rdm)
		return vrb_domain_rdm()->ops;
	if (domain->unordered)
		return &unordered_domain_ops;
	return is_of_type(domain->base.info, FI_EP_DGRAM) ? &dgram_domain_ops : &domain_ops;
}

static void domain_init(struct vrb_domain *domain, struct vrb_fabric *fabric,
			const struct fi_info *info)
{
	domain->fabric = fabric;
	domain->base = (struct ofi_domain){
		.prov = &vrb_prov,
		.ops = &vrb_domain_callbacks,
		.fabric = &fabric->ref,
		.loop = &fabric->loop,
		.info = fi_dupinfo(info),
		.stats = ofi_stats_alloc(sizeof(*domain->base.stats)),
	};
	if (domain->base.info && vrb_params.thread_safe)
		domain->base.info->domain_attr->threading = FI_THREAD_SAFE;
	ofi_lock_init(&domain->lock);
	ofi_lock_init(&domain->fail_lock);
	ofi_lock_init(&domain->paths_lock);
	TAILQ_INIT(&domain->spare_paths);
	LIST_INIT(&domain->eps);
	ofi_triggers_init(&domain->base.triggers);
	LIST_INIT(&domain->srxs);
	ofi_lock_init(&domain->share_lock);
	ofi_lock_init(&domain->bind_lock);
	domain->rdm = is_of_type(info, FI_EP_RDM);
}

int vrb_domain_open(struct fid_fabric *fabric_fid, struct fi_info *info,
		    struct fid_domain **domain_fid, void *context)
{
	struct vrb_fabric *fabric = vrb_fabric(fabric_fid);
	struct vrb_domain *domain;
	struct ofi_wide wide;
	int ret;

	info = ofi_widen(fabric_fid->api_version, info, &wide);
	if (!info || !info->domain_attr || !info->domain_attr->name || !info->fabric_attr ||
	    !domain_fid)
		return ofi_refuse_null(&vrb_prov, FI_LOG_DOMAIN, "fi_domain",
				       "domain, info or one of its attributes");
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	domain_init(domain, fabric, info);
	/* The attributes are the application's, and have no version in those of API 1.0 to 1.4. */
	if (domain->base.info && fabric_fid->api_version)
		domain->base.info->fabric_attr->api_version = fabric_fid->api_version;
	ret = domain->base.info && domain->base.stats ? open_device(domain) : -FI_ENOMEM;
	if (!ret && domain->rdm)
		ret = vrb_domain_rdm() ? vrb_domain_rdm()->open(domain) : -FI_ENOSYS;
	if (!ret)
		ret = vrb_async_open(domain);
	if (ret) {
		domain_free(domain);
		return ret;
	}
	set_threading(domain);
	domain->fid = (struct fid_domain){
		.fid = { .fclass = FI_CLASS_DOMAIN,
			 .context = context,
			 .ops = ofi_ops(&domain_fid_ops) },
		.ops = ofi_ops(ops_of(domain)),
		.mr = ofi_ops(&vrb_mr_ops),
	};
	vrb_stats_show(domain, domain->base.stats, FI_CLASS_DOMAIN);
	ofi_ref_own(&domain->base.ref);
	ofi_ref_get(&fabric->ref);
	*domain_fid = &domain->fid;
	return 0;
}
