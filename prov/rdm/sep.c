/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scalable endpoints and their contexts. */
#include "sep.h"

#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "alias.h"
#include "atomic.h"
#include "av.h"
#include "calls.h"
#include "ep.h"
#include "prov/base/ep.h"
#include "prov/base/name.h"
#include "prov/base/ops.h"
#include "prov/base/refuse.h"

enum { TRIES = 32 }; /* to find so many ports in a row */

struct sep;

/* A context: half of the endpoint of its index. */
struct context {
	struct ofi_rdm_fid head; /* first */
	struct sep *sep;
	size_t index;
	bool rx;
	bool enabled;
};

struct part {
	struct ofi_rdm_ep *ep;	    /* NULL after its contexts were closed */
	struct context *context[2]; /* transmit, receive */
};

struct sep {
	struct fid_ep fid;
	struct ofi_domain *domain;
	struct fid_domain *domain_fid;
	ofi_rdm_sep_open_fn *open;
	struct fi_info *info;
	struct ofi_rdm_av *av;
	struct sockaddr_storage name;
	struct ofi_lock lock; /* guards the parts */
	size_t count[2];      /* transmit and receive contexts */
	size_t parts;	      /* the larger of the two */
	struct part part[OFI_RDM_SEP_MAX];
};

static struct sep *sep_of(struct fid *fid)
{
	return (struct sep *)fid;
}

static struct context *context_of(struct fid *fid)
{
	return (struct context *)fid;
}

static const char *kind_of(bool rx)
{
	return rx ? "receive" : "transmit";
}

/* The endpoints of an index. */

/* Returns the attributes of the endpoint of an index, or NULL when out of memory. */
static struct fi_info *part_info(const struct sep *sep, size_t index)
{
	struct fi_info *info = fi_dupinfo(sep->info);
	struct sockaddr_storage ss = sep->name;
	char name[OFI_ADDR_STRLEN];
	size_t len = sizeof(name);
	uint16_t port = ofi_addr_port((struct sockaddr *)&ss);

	if (!info)
		return NULL;
	if (port)
		ofi_addr_set_port((struct sockaddr *)&ss, (uint16_t)(port + index));
	ofi_name_out(sep->domain->prov, "fi_scalable_ep", info->addr_format, &ss, name, &len);
	free(info->src_addr);
	info->src_addr = malloc(len);
	info->src_addrlen = len;
	if (!info->src_addr) {
		fi_freeinfo(info);
		return NULL;
	}
	memcpy(info->src_addr, name, len);
	info->ep_attr->tx_ctx_cnt = info->ep_attr->rx_ctx_cnt = 1;
	/* Collectives belong to an endpoint, not to a context. */
	info->caps &= ~FI_COLLECTIVE;
	if (index >= sep->count[0])
		info->caps &= ~(uint64_t)FI_SEND;
	if (index >= sep->count[1])
		info->caps &= ~(uint64_t)FI_RECV;
	/* The two contexts of an index may be used by two threads. */
	if (info->domain_attr->threading != FI_THREAD_DOMAIN)
		info->domain_attr->threading = FI_THREAD_SAFE;
	return info;
}

static int part_open(struct sep *sep, size_t index)
{
	struct part *part = &sep->part[index];
	struct fi_info *info = part_info(sep, index);
	struct fid_ep *fid;
	int ret;

	if (!info)
		return -FI_ENOMEM;
	ret = sep->open(sep->domain_fid, info, &fid, sep->fid.fid.context);
	fi_freeinfo(info);
	if (ret)
		return ret;
	part->ep = ofi_rdm_self(fid);
	part->ep->context = (uint8_t)index;
	return sep->av ? ofi_rdm_bind(&fid->fid, &sep->av->base.fid.fid, 0) : 0;
}

static void part_close(struct part *part)
{
	if (part->ep)
		ofi_rdm_close(part->ep);
	part->ep = NULL;
}

static void parts_close(struct sep *sep)
{
	size_t i;

	for (i = 0; i < sep->parts; i++)
		part_close(&sep->part[i]);
}

static int parts_open_at(struct sep *sep)
{
	struct sockaddr *name = (struct sockaddr *)&sep->name;
	int ret = part_open(sep, 0);
	size_t i;

	if (ret)
		return ret;
	ofi_addr_set_port(name, ofi_addr_port(&sep->part[0].ep->self.sa));
	if (ofi_addr_port(name) + sep->parts > UINT16_MAX)
		ret = -FI_EADDRINUSE;
	for (i = 1; i < sep->parts && !ret; i++)
		ret = part_open(sep, i);
	if (ret)
		parts_close(sep);
	return ret;
}

/* With any port, several are tried, because those behind it may be in use. */
static int parts_open(struct sep *sep)
{
	struct sockaddr *name = (struct sockaddr *)&sep->name;
	uint16_t port = ofi_addr_port(name);
	int i, ret = -FI_EADDRINUSE;

	for (i = 0; i < (port ? 1 : TRIES) && ret == -FI_EADDRINUSE; i++) {
		ofi_addr_set_port(name, port);
		ret = parts_open_at(sep);
	}
	return ret;
}

/* Contexts. */

static struct ofi_ep_op_flags op_flags_of(struct context *context)
{
	return (struct ofi_ep_op_flags){ &context->head.tx_op_flags, &context->head.rx_op_flags,
					 OFI_RDM_TX_OP_FLAGS, OFI_RDM_RX_OP_FLAGS };
}

/* The endpoint ends with the last context of its index. A later context opens another one. */
static int context_close(struct fid *fid)
{
	struct context *context = context_of(fid);
	struct sep *sep = context->sep;
	struct part *part = &sep->part[context->index];

	if (ofi_ref_inherited(&sep->domain->ref))
		return 0;
	ofi_lock(&sep->lock);
	part->context[context->rx] = NULL;
	if (!part->context[!context->rx])
		part_close(part);
	ofi_unlock(&sep->lock);
	free(context);
	return 0;
}

static int context_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct context *context = context_of(fid);
	const struct fi_provider *prov = context->sep->domain->prov;

	if (!bfid)
		return ofi_refuse_null(prov, FI_LOG_EP_CTRL, "fi_ep_bind", "bfid");
	if (bfid->fclass == FI_CLASS_CQ && flags & (context->rx ? FI_TRANSMIT : FI_RECV))
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EINVAL,
				  "fi_ep_bind: a %s context takes a completion queue with %s\n",
				  kind_of(context->rx), context->rx ? "FI_RECV" : "FI_TRANSMIT");
	if (bfid->fclass != FI_CLASS_CQ && bfid->fclass != FI_CLASS_CNTR &&
	    bfid->fclass != FI_CLASS_EQ)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ep_bind: object of class %zu; a context takes a completion queue, counters and an event queue\n",
			bfid->fclass);
	return ofi_rdm_bind(fid, bfid, flags);
}

/* Returns true if an index has contexts of both directions and the other one is not enabled yet. */
static bool is_half(const struct sep *sep, const struct context *context)
{
	const struct context *other = sep->part[context->index].context[!context->rx];

	return context->index < sep->count[!context->rx] && (!other || !other->enabled);
}

/* The endpoint is enabled together with the second of its contexts. */
static int context_enable(struct context *context)
{
	struct sep *sep = context->sep;
	struct ofi_rdm_ep *ep = context->head.endpoint;
	uint64_t needs = ep->info->caps & (context->rx ? FI_RECV : FI_SEND);
	bool has_cq = context->rx ? ep->rx_cq || ep->cntrs[OFI_RDM_RECV]
				  : ep->tx_cq || ep->cntrs[OFI_RDM_SEND];
	int ret = 0;

	if (!sep->av)
		return ofi_refuse(
			sep->domain->prov, FI_LOG_EP_CTRL, -FI_ENOAV,
			"fi_enable: no address vector is bound to the scalable endpoint\n");
	if (needs && !has_cq)
		return ofi_refuse(sep->domain->prov, FI_LOG_EP_CTRL, -FI_ENOCQ,
				  "fi_enable: no completion queue is bound to the context\n");
	ofi_lock(&sep->lock);
	if (!is_half(sep, context))
		ret = ep->fid.fid.ops->control(&ep->fid.fid, FI_ENABLE, NULL);
	context->enabled = !ret;
	ofi_unlock(&sep->lock);
	return ret;
}

static int context_control(struct fid *fid, int command, void *arg)
{
	struct context *context = context_of(fid);
	const struct fi_provider *prov = context->sep->domain->prov;
	struct ofi_ep_op_flags of = op_flags_of(context);

	switch (command) {
	case FI_ENABLE:
		return context_enable(context);
	case FI_GETOPSFLAG:
		return ofi_ep_get_op_flags(prov, &of, arg);
	case FI_SETOPSFLAG:
		return ofi_ep_set_op_flags(prov, &of, arg);
	default:
		return ofi_decline_command(
			prov, FI_LOG_EP_CTRL, command,
			"a context supports FI_ENABLE, FI_GETOPSFLAG and FI_SETOPSFLAG");
	}
}

static const struct fi_ops context_fid_ops = {
	.size = sizeof(struct fi_ops),
	OFI_FID_DEFAULTS,
	.close = context_close,
	.bind = context_bind,
	.control = context_control,
};

static int sep_getname(fid_t fid, void *addr, size_t *len);

static int context_getname(fid_t fid, void *addr, size_t *len)
{
	return sep_getname(&context_of(fid)->sep->fid.fid, addr, len);
}

static const struct fi_ops_cm context_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	OFI_CM_DEFAULTS,
	.getname = context_getname,
};

static void context_set_tables(struct context *context, void *user)
{
	const struct ofi_rdm_calls *calls = context->rx ? &ofi_rdm_rx_calls : &ofi_rdm_tx_calls;
	uint64_t caps = context->sep->info->caps;

	context->head.fid = (struct fid_ep){
		.fid = { .fclass = context->rx ? FI_CLASS_RX_CTX : FI_CLASS_TX_CTX,
			 .context = user,
			 .ops = ofi_ops(&context_fid_ops) },
		.ops = context->head.endpoint->fid.ops,
		.cm = ofi_ops(&context_cm_ops),
		.msg = ofi_ops(caps & FI_MSG ? calls->msg : &ofi_no_msg_ops),
		.tagged = ofi_ops(caps & FI_TAGGED ? calls->tagged : &ofi_no_tagged_ops),
		.rma = ofi_ops(caps & FI_RMA ? calls->rma : &ofi_no_rma_ops),
		.atomic = ofi_ops(caps & FI_ATOMIC && !context->rx ? &ofi_rdm_atomic_ops
								   : &ofi_no_atomic_ops),
		.collective = ofi_ops(&ofi_no_collective_ops),
	};
}

/* The caller holds the lock. */
static int context_open(struct sep *sep, size_t index, bool rx, uint64_t op_flags, void *user,
			struct fid_ep **fid)
{
	struct part *part = &sep->part[index];
	struct context *context = calloc(1, sizeof(*context));
	int ret = 0;

	if (!context)
		return -FI_ENOMEM;
	if (!part->ep)
		ret = part_open(sep, index);
	if (ret) {
		free(context);
		return ret;
	}
	context->sep = sep;
	context->index = index;
	context->rx = rx;
	context->head.endpoint = part->ep;
	*(rx ? &context->head.rx_op_flags : &context->head.tx_op_flags) = op_flags;
	context_set_tables(context, user);
	part->context[rx] = context;
	*fid = &context->head.fid;
	return 0;
}

/* Returns 0 if a context may have these attributes. */
static int check_attr(const struct sep *sep, const char *call, uint64_t caps, uint64_t offered,
		      uint64_t op_flags, uint64_t allowed)
{
	if (caps & ~offered)
		return ofi_refuse(
			sep->domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"%s: capabilities 0x%llx that the scalable endpoint was not opened with\n",
			call, (unsigned long long)(caps & ~offered));
	if (op_flags & ~allowed)
		return ofi_refuse_flags(sep->domain->prov, FI_LOG_EP_CTRL, call, op_flags);
	return 0;
}

static int context_new(struct sep *sep, const char *call, int index, bool rx, uint64_t op_flags,
		       struct fid_ep **fid, void *user)
{
	const struct fi_provider *prov = sep->domain->prov;
	int ret;

	if (!fid)
		return ofi_refuse_null(prov, FI_LOG_EP_CTRL, call, "the context");
	if (index < 0 || (size_t)index >= sep->count[rx])
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EINVAL,
				  "%s: index %d: the scalable endpoint has %zu %s contexts\n", call,
				  index, sep->count[rx], kind_of(rx));
	ofi_lock(&sep->lock);
	if (sep->part[index].context[rx])
		ret = ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EBUSY,
				 "%s: %s context %d is open already\n", call, kind_of(rx), index);
	else
		ret = context_open(sep, (size_t)index, rx, op_flags, user, fid);
	ofi_unlock(&sep->lock);
	return ret;
}

static int sep_tx_ctx(struct fid_ep *fid, int index, struct fi_tx_attr *attr, struct fid_ep **ep,
		      void *user)
{
	struct sep *sep = sep_of(&fid->fid);
	const struct fi_tx_attr *own = sep->info->tx_attr;
	uint64_t op_flags = attr ? attr->op_flags : own->op_flags;
	int ret = check_attr(sep, "fi_tx_context", attr ? attr->caps : 0,
			     own->caps | sep->info->caps, op_flags, OFI_RDM_TX_OP_FLAGS);

	return ret ? ret : context_new(sep, "fi_tx_context", index, false, op_flags, ep, user);
}

static int sep_rx_ctx(struct fid_ep *fid, int index, struct fi_rx_attr *attr, struct fid_ep **ep,
		      void *user)
{
	struct sep *sep = sep_of(&fid->fid);
	const struct fi_rx_attr *own = sep->info->rx_attr;
	uint64_t op_flags = attr ? attr->op_flags : own->op_flags;
	int ret = check_attr(sep, "fi_rx_context", attr ? attr->caps : 0,
			     own->caps | sep->info->caps, op_flags, OFI_RDM_RX_OP_FLAGS);

	return ret ? ret : context_new(sep, "fi_rx_context", index, true, op_flags, ep, user);
}

/* The scalable endpoint. */

static void sep_free(struct sep *sep)
{
	parts_close(sep);
	if (sep->av)
		ofi_ref_put(&sep->av->base.ref);
	fi_freeinfo(sep->info);
	free(sep);
}

static int sep_close(struct fid *fid)
{
	struct sep *sep = sep_of(fid);
	struct ofi_domain *domain = sep->domain;
	size_t i;

	if (ofi_ref_inherited(&domain->ref))
		return 0;
	for (i = 0; i < sep->parts; i++)
		if (sep->part[i].context[0] || sep->part[i].context[1])
			return ofi_refuse(
				domain->prov, FI_LOG_EP_CTRL, -FI_EBUSY,
				"fi_close of a scalable endpoint: context %zu is still open\n", i);
	sep_free(sep);
	ofi_ref_put(&domain->ref);
	return 0;
}

static int sep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct sep *sep = sep_of(fid);
	const struct fi_provider *prov = sep->domain->prov;
	struct ofi_rdm_av *av = (struct ofi_rdm_av *)bfid;
	int ret = 0;
	size_t i;

	if (!bfid)
		return ofi_refuse_null(prov, FI_LOG_EP_CTRL, "fi_scalable_ep_bind", "bfid");
	if (flags)
		return ofi_refuse_flags(prov, FI_LOG_EP_CTRL, "fi_scalable_ep_bind", flags);
	if (bfid->fclass != FI_CLASS_AV || av->base.parent != &sep->domain->ref)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_scalable_ep_bind: a scalable endpoint takes an address vector of its domain; bind anything else to its contexts\n");
	if (sep->av)
		return ofi_refuse_second(prov, FI_LOG_EP_CTRL, "fi_scalable_ep_bind",
					 "an address vector");
	for (i = 0; i < sep->parts && !ret; i++)
		if (sep->part[i].ep)
			ret = ofi_rdm_bind(&sep->part[i].ep->fid.fid, bfid, 0);
	if (ret)
		return ret;
	sep->av = av;
	ofi_ref_get(&av->base.ref);
	return 0;
}

/* Programs enable the scalable endpoint too; its contexts are what counts. */
static int sep_control(struct fid *fid, int command, void *arg)
{
	(void)arg;
	if (command == FI_ENABLE)
		return 0;
	return ofi_decline_command(sep_of(fid)->domain->prov, FI_LOG_EP_CTRL, command,
				   "a scalable endpoint supports FI_ENABLE");
}

static const struct fi_ops sep_fid_ops = {
	.size = sizeof(struct fi_ops),
	OFI_FID_DEFAULTS,
	.close = sep_close,
	.bind = sep_bind,
	.control = sep_control,
};

static const struct fi_ops_ep sep_ops = {
	.size = sizeof(struct fi_ops_ep),
	OFI_EP_DEFAULTS,
	.tx_ctx = sep_tx_ctx,
	.rx_ctx = sep_rx_ctx,
};

static int sep_getname(fid_t fid, void *addr, size_t *len)
{
	struct sep *sep = sep_of(fid);

	if (!len || (!addr && *len))
		return ofi_refuse_null(sep->domain->prov, FI_LOG_EP_CTRL, "fi_getname",
				       "addr or addrlen");
	return ofi_name_out(sep->domain->prov, "fi_getname", sep->info->addr_format, &sep->name,
			    addr, len);
}

static const struct fi_ops_cm sep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	OFI_CM_DEFAULTS,
	.getname = sep_getname,
};

/* An attribute of 0 means one context. */
static int set_counts(struct sep *sep)
{
	const struct fi_ep_attr *attr = sep->info->ep_attr;

	sep->count[0] = attr->tx_ctx_cnt ? attr->tx_ctx_cnt : 1;
	sep->count[1] = attr->rx_ctx_cnt ? attr->rx_ctx_cnt : 1;
	sep->parts = sep->count[0] > sep->count[1] ? sep->count[0] : sep->count[1];
	if (sep->parts <= OFI_RDM_SEP_MAX)
		return 0;
	sep->parts = 0;
	return ofi_refuse(
		sep->domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_scalable_ep: tx_ctx_cnt %zu, rx_ctx_cnt %zu: a scalable endpoint has up to %d contexts of each direction, not shared ones\n",
		attr->tx_ctx_cnt, attr->rx_ctx_cnt, OFI_RDM_SEP_MAX);
}

static int sep_set_up(struct sep *sep, const struct fi_info *info)
{
	int ret;

	sep->info = fi_dupinfo(info);
	if (!sep->info)
		return -FI_ENOMEM;
	ret = set_counts(sep);
	if (!ret)
		ret = ofi_name_in(sep->domain->prov, "fi_scalable_ep", info->addr_format,
				  info->src_addr, info->src_addrlen, &sep->name);
	return ret ? ret : parts_open(sep);
}

int ofi_rdm_sep_open(struct fid_domain *domain_fid, const struct fi_info *info,
		     ofi_rdm_sep_open_fn *open, struct fid_ep **fid, void *context)
{
	struct ofi_domain *domain = ofi_domain(domain_fid);
	int ret = ofi_rdm_ep_check(domain, info, fid);
	struct sep *sep;

	if (ret)
		return ret;
	sep = calloc(1, sizeof(*sep));
	if (!sep)
		return -FI_ENOMEM;
	sep->domain = domain;
	sep->domain_fid = domain_fid;
	sep->open = open;
	ofi_lock_init(&sep->lock);
	sep->fid = (struct fid_ep){
		.fid = { .fclass = FI_CLASS_SEP, .context = context, .ops = ofi_ops(&sep_fid_ops) },
		.ops = ofi_ops(&sep_ops),
		.cm = ofi_ops(&sep_cm_ops),
		.msg = ofi_ops(&ofi_no_msg_ops),
		.tagged = ofi_ops(&ofi_no_tagged_ops),
		.rma = ofi_ops(&ofi_no_rma_ops),
		.atomic = ofi_ops(&ofi_no_atomic_ops),
		.collective = ofi_ops(&ofi_no_collective_ops),
	};
	ret = sep_set_up(sep, info);
	if (ret) {
		sep_free(sep);
		return ret;
	}
	ofi_ref_get(&domain->ref);
	*fid = &sep->fid;
	return 0;
}
