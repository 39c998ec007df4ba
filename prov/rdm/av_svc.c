/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Insertion of addresses by name, one by one and as a range of nodes and services. */
#include "av.h"

#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/node_range.h"
#include "prov/base/refuse.h"

static struct ofi_rdm_av *av_of(const struct ofi_av_batch *batch)
{
	return (struct ofi_rdm_av *)batch->av;
}

static int rdm_resolve(const struct ofi_av_batch *batch, const char *node, const char *service,
		       struct sockaddr_storage *ss)
{
	const struct ofi_rdm_av *av = av_of(batch);

	return av->domain->ops->resolve(av->domain, batch->call, av->addr_format, node, service,
					ss);
}

/*
 * An address vector with FI_ADDR_STR takes pointers to strings, any other the addresses themselves.
 */
static int rdm_insert(struct ofi_av_batch *batch, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	size_t i, size = batch->av->cls->addr_size, count = batch->count;
	bool text = av_of(batch)->addr_format == FI_ADDR_STR;
	uint8_t *items = malloc(count * (size + (text ? OFI_ADDR_STRLEN : 0)) + 1);
	char *texts, *string;
	int ret;

	if (!items)
		return -FI_ENOMEM;
	texts = (char *)items + count * size;
	for (i = 0; i < count; i++) {
		string = texts + i * OFI_ADDR_STRLEN;
		if (text)
			ofi_addr_str((struct sockaddr *)&batch->addrs[i], string, OFI_ADDR_STRLEN);
		memcpy(items + i * size, text ? (void *)&string : &batch->addrs[i], size);
	}
	ret = ofi_av_insert(batch->av, items, batch->errs, count, fi_addr, flags, context);
	free(items);
	return ret;
}

static const struct ofi_av_batch_ops rdm_batch_ops = {
	.resolve = rdm_resolve,
	.insert = rdm_insert,
};

static int insert_range(struct ofi_rdm_av *av, const char *call, const char *node, size_t nodes,
			const char *service, size_t services, fi_addr_t *fi_addr, uint64_t flags,
			void *context)
{
	if (av->addr_format == FI_ADDR_EFA)
		return ofi_refuse(av->base.prov, FI_LOG_AV, -FI_EOPNOTSUPP,
				  "%s: endpoints have names of FI_ADDR_EFA; use fi_av_insert\n",
				  call);
	return ofi_av_insert_range(&av->base, call, &rdm_batch_ops, node, nodes, service, services,
				   fi_addr, flags, context);
}

int ofi_rdm_av_insertsvc(struct fid_av *fid, const char *node, const char *service,
			 fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	return insert_range(ofi_rdm_av_of(fid), "fi_av_insertsvc", node, 1, service, 1, fi_addr,
			    flags, context);
}

int ofi_rdm_av_insertsym(struct fid_av *fid, const char *node, size_t nodes, const char *service,
			 size_t services, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	return insert_range(ofi_rdm_av_of(fid), "fi_av_insertsym", node, nodes, service, services,
			    fi_addr, flags, context);
}
