/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Insertion of addresses by name, one by one and as a range of nodes and services. */
#include "av.h"

#include <limits.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/node_range.h"
#include "prov/base/refuse.h"

enum { PORT_MAX = 65535 };

/* The addresses of one call. */
struct batch {
	struct ofi_rdm_av *av;
	const char *call;
	size_t count;
	struct sockaddr_storage *found;
	int *errs; /* -FI_E* */
};

static int family_of(const struct ofi_rdm_av *av)
{
	if (av->addr_format == FI_ADDR_STR)
		return AF_UNSPEC;
	return av->addr_format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_INET;
}

/* Parses an address in text form, which includes the service. */
static int parse_entry(const struct batch *batch, const char *text, struct sockaddr_storage *ss)
{
	int family = family_of(batch->av);

	if (!ofi_addr_parse(text, ss) && (!family || family == ss->ss_family))
		return 0;
	return ofi_refuse(
		batch->av->base.prov, FI_LOG_AV, -FI_EINVAL,
		"%s: %s without a service is not an address in the format of the address vector\n",
		batch->call, text);
}

static int lookup_entry(const struct batch *batch, const char *node, const char *service,
			struct sockaddr_storage *ss)
{
	struct addrinfo *found,
		hints = { .ai_family = family_of(batch->av), .ai_socktype = SOCK_STREAM };
	int ret;

	if (!service)
		return parse_entry(batch, node, ss);
	ret = ofi_addr_is_service(service) ? getaddrinfo(node, service, &hints, &found)
					   : EAI_SERVICE;
	if (ret)
		return ofi_refuse(batch->av->base.prov, FI_LOG_AV, -FI_ENODATA,
				  "%s: %s, service %s: %s\n", batch->call, node, service,
				  gai_strerror(ret));
	memcpy(ss, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

/* Resolves one node with all its services. */
static void find_node(struct batch *batch, const char *node, size_t nth, const char *service,
		      size_t services)
{
	struct sockaddr_storage *found = &batch->found[nth * services];
	char name[OFI_NODE_LEN];
	size_t i, port;
	int err = -FI_EINVAL;

	if (ofi_node_after(node, nth, name, sizeof(name)))
		err = lookup_entry(batch, name, service, &found[0]);
	port = ofi_addr_port((struct sockaddr *)&found[0]);
	for (i = 0; i < services; i++) {
		found[i] = found[0];
		if (!err)
			ofi_addr_set_port((struct sockaddr *)&found[i], (uint16_t)(port + i));
		batch->errs[nth * services + i] = err || port + i <= PORT_MAX ? err : -FI_EINVAL;
	}
}

/*
 * An address vector with FI_ADDR_STR takes pointers to strings, any other the addresses themselves.
 */
static int insert_found(struct batch *batch, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct ofi_av *av = &batch->av->base;
	size_t i, size = av->cls->addr_size, count = batch->count;
	bool text = batch->av->addr_format == FI_ADDR_STR;
	uint8_t *items = malloc(count * (size + (text ? OFI_ADDR_STRLEN : 0)));
	char *texts, *string;
	int ret;

	if (!items)
		return -FI_ENOMEM;
	texts = (char *)items + count * size;
	for (i = 0; i < count; i++) {
		string = texts + i * OFI_ADDR_STRLEN;
		if (text)
			ofi_addr_str((struct sockaddr *)&batch->found[i], string, OFI_ADDR_STRLEN);
		memcpy(items + i * size, text ? (void *)&string : &batch->found[i], size);
	}
	ret = ofi_av_insert(av, items, batch->errs, count, fi_addr, flags, context);
	free(items);
	return ret;
}

static int insert_range(struct ofi_rdm_av *av, const char *call, const char *node, size_t nodes,
			const char *service, size_t services, fi_addr_t *fi_addr, uint64_t flags,
			void *context)
{
	struct batch batch = { .av = av, .call = call };
	size_t i;
	int ret;

	if (av->addr_format == FI_ADDR_EFA)
		return ofi_refuse(av->base.prov, FI_LOG_AV, -FI_EOPNOTSUPP,
				  "%s: endpoints have names of FI_ADDR_EFA; use fi_av_insert\n",
				  call);
	if (!node)
		return ofi_refuse_null(av->base.prov, FI_LOG_AV, call, "node");
	if (__builtin_mul_overflow(nodes, services, &batch.count) || batch.count > INT_MAX)
		return ofi_refuse(av->base.prov, FI_LOG_AV, -FI_EINVAL,
				  "%s: %zu nodes with %zu services are too many\n", call, nodes,
				  services);
	ret = ofi_av_check_insert(&av->base, call, node, batch.count, fi_addr, flags, context);
	if (ret || !batch.count)
		return ret ? ret : ofi_av_insert(&av->base, NULL, NULL, 0, fi_addr, flags, context);
	batch.found = calloc(batch.count, sizeof(*batch.found));
	batch.errs = calloc(batch.count, sizeof(*batch.errs));
	ret = -FI_ENOMEM;
	if (batch.found && batch.errs) {
		for (i = 0; i < nodes; i++)
			find_node(&batch, node, i, service, services);
		ret = insert_found(&batch, fi_addr, flags, context);
	}
	free(batch.found);
	free(batch.errs);
	return ret;
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
