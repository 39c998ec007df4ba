/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The statistics record of a reliable-datagram endpoint. */
#include "stats.h"

#include <string.h>
#include <ofi/addr.h>
#include "prov/base/ops.h"
#include <rdma/fi_errno.h>
#include "prov/base/refuse.h"
#include "ep.h"

void ofi_rdm_stats_show(struct ofi_rdm_ep *ep)
{
	char text[OFI_ADDR_STRLEN];
	const char *name = ofi_rdm_addr_str(&ep->self, text, sizeof(text));
	const char *scheme = strstr(name, "://");

	ep->stats.fclass = FI_CLASS_EP;
	ep->stats.domain = ep->domain->stats->id;
	ofi_stats_show(&ep->stats, "%s %s", ep->domain->info->domain_attr->name,
		       scheme ? scheme + 3 : name);
}

/* The provider of log messages about objects whose provider is unknown. */
static const struct fi_provider engine = { .name = "ofi_rdm" };

static ssize_t stats_read(struct fid *fid, struct fi_stats_item *items, size_t count)
{
	struct fi_stats_item all[FI_STATS_MAX];
	const struct ofi_rdm_ep *ep;
	size_t n;

	if (!fid || (count && !items))
		return -FI_EINVAL;
	if (!ofi_rdm_is_ep(fid))
		return ofi_refuse(
			&engine, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ops_stats: read: object of class %zu; these operations belong to reliable-datagram endpoints\n",
			fid->fclass);
	ep = ofi_rdm_self((struct fid_ep *)fid);
	if (!ep->stats.fclass)
		return -FI_EOPBADSTATE;
	n = ofi_stats_list(&ep->stats, all);
	if (count)
		memcpy(items, all, (n < count ? n : count) * sizeof(*items));
	return (ssize_t)n;
}

static struct fi_ops_stats stats_ops = {
	.size = sizeof(struct fi_ops_stats),
	.read = stats_read,
};

int ofi_rdm_stats_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context)
{
	(void)context;
	return ofi_stats_open_ops(ofi_rdm_self((struct fid_ep *)fid)->domain->prov, name, flags,
				  ops, &stats_ops);
}
