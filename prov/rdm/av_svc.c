/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Insertion of addresses by name, one by one and as a range of nodes and services. */
#include "av.h"

#include <netdb.h>
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

static int family_of(const struct ofi_rdm_av *av)
{
	if (av->addr_format == FI_ADDR_STR)
		return AF_UNSPEC;
	return av->addr_format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_INET;
}

/* Parses an address in text form, which includes the service. */
static int parse_entry(const struct ofi_av_batch *batch, const char *text,
		       struct sockaddr_storage *ss)
{
	int family = family_of(av_of(batch));

	if (!ofi_addr_parse(text, ss) && (!family || family == ss->ss_family))
		return 0;
	return ofi_refuse(
		batch->av->prov, FI_LOG_AV, -FI_EINVAL,
		"%s: %s without a service is not an address in the format of the address vector\n",
		batch->call, text);
}

static int rdm_resolve(const struct ofi_av_batch *batch, const char *node, const char *service,
		       struct sockaddr_storage *ss)
{
	struct addrinfo *found,
		hints = { .ai_family = family_of(av_of(batch)), .ai_socktype = SOCK_STREAM };
	int ret;

	if (!service)
		return parse_entry(batch, node, ss);
	ret = ofi_addr_is_service(service) ? getaddrinfo(node, service, &hints, &found)
					   : EAI_SERVICE;
	if (ret)
		return ofi_refuse(batch->av->prov, FI_LOG_AV, -FI_ENODATA,
				  "%s: %s, service %s: %s\n", batch->call, node, service,
				  gai_strerror(ret));
	memcpy(ss, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
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
