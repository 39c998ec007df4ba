/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Insertion of IP addresses: one by one, by name, and as a range of nodes and services. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "av.h"
#include "av_svc.h"
#include "prov/base/name.h"
#include "prov/base/node_range.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/discovery/resolve.h"
#include "prov/verbs/cm/sidr.h"

enum { PORT_MAX = 65535 };

/* The addresses of one call, and the errors of some of them. */
struct batch {
	size_t count;
	struct vrb_av_found *found;
	int *errs; /* -FI_E* */
};

static int batch_new(struct batch *batch, size_t count)
{
	*batch = (struct batch){ .count = count };
	batch->found = calloc(count ? count : 1, sizeof(*batch->found));
	batch->errs = calloc(count ? count : 1, sizeof(*batch->errs));
	return batch->found && batch->errs ? 0 : -FI_ENOMEM;
}

static void batch_free(struct batch *batch)
{
	free(batch->found);
	free(batch->errs);
}

/* Queries all addresses and inserts them, as names if that is the AV's format. */
static int batch_insert(struct vrb_av *av, const char *call, struct batch *batch,
			fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	struct vrb_ud_name *names = NULL;
	const void *items = batch->found;
	size_t i;
	int ret;

	if (vrb_ud_format(av->addr_format)) {
		items = names = calloc(batch->count ? batch->count : 1, sizeof(*names));
		if (!names)
			return -FI_ENOMEM;
	}
	vrb_sidr_resolve(av, call, batch->found, batch->errs, batch->count);
	for (i = 0; i < batch->count; i++)
		if (vrb_sidr_may_come(av, batch->errs[i]))
			batch->errs[i] = 0; /* without a queue pair */
	for (i = 0; names && i < batch->count; i++)
		vrb_ud_name_out(&batch->found[i].dest, &names[i]);
	ret = ofi_av_insert(&av->base, items, batch->errs, batch->count, fi_addr, flags, context);
	free(names);
	return ret;
}

static int check_port(const char *call, const struct sockaddr_storage *ss)
{
	const struct sockaddr *sa = (const struct sockaddr *)ss;
	char text[OFI_ADDR_STRLEN];

	if (!ofi_addr_is_any(sa) && ofi_addr_port(sa))
		return 0;
	return ofi_refuse(&vrb_prov, FI_LOG_AV, -FI_EINVAL,
			  "%s: %s does not name an endpoint; give a host and a port\n", call,
			  ofi_addr_str(sa, text, sizeof(text)));
}

static int addr_in(const struct vrb_av *av, const void *addrs, size_t i,
		   struct sockaddr_storage *ss)
{
	const void *addr;
	int ret;

	switch (av->addr_format) {
	case FI_ADDR_STR:
		addr = ((const char *const *)addrs)[i];
		break;
	case FI_SOCKADDR_IN6:
		addr = (const char *)addrs + i * sizeof(struct sockaddr_in6);
		break;
	default:
		addr = (const char *)addrs + i * sizeof(struct sockaddr_in);
		break;
	}
	ret = ofi_name_in(&vrb_prov, "fi_av_insert", av->addr_format, addr, OFI_NAME_LEN_UNKNOWN,
			  ss);
	return ret ? ret : check_port("fi_av_insert", ss);
}

int vrb_av_insert_addrs(struct vrb_av *av, const void *addrs, size_t count, fi_addr_t *fi_addr,
			uint64_t flags, void *context)
{
	struct batch batch;
	size_t i;
	int ret;

	ret = batch_new(&batch, count);
	if (!ret) {
		for (i = 0; i < count; i++)
			batch.errs[i] = addr_in(av, addrs, i, &batch.found[i].addr);
		ret = batch_insert(av, "fi_av_insert", &batch, fi_addr, flags, context);
	}
	batch_free(&batch);
	return ret;
}

/* Finds the first address of a node and a service that has the address vector's format. */
static int av_resolve(const struct vrb_av *av, const char *node, const char *service,
		      struct sockaddr_storage *ss)
{
	struct fi_info hints = { .addr_format = av->addr_format };
	struct vrb_target target;
	struct ofi_miss why;
	int ret;

	if (vrb_ud_format(av->addr_format) || av->addr_format == FI_ADDR_STR)
		hints.addr_format = FI_FORMAT_UNSPEC;
	ret = vrb_resolve(node, service, 0, &hints, &target, &why);
	if (ret == -FI_ENODATA)
		FI_WARN(&vrb_prov, FI_LOG_AV, "fi_av_insertsvc: %s: %s\n", why.asked, why.has);
	if (ret)
		return ret;
	*ss = target.dest.addr[0];
	if (hints.addr_format != FI_FORMAT_UNSPEC &&
	    ofi_addr_format((struct sockaddr *)ss) != hints.addr_format)
		return ofi_refuse(&vrb_prov, FI_LOG_AV, -FI_EINVAL,
				  "fi_av_insertsvc: %s does not fit addr_format %u of the domain\n",
				  node, hints.addr_format);
	return check_port("fi_av_insertsvc", ss);
}

/* Resolves one node with all its services. */
static void resolve_node(const struct vrb_av *av, const char *node, size_t nth, const char *service,
			 size_t svccnt, struct batch *batch)
{
	struct vrb_av_found *found = &batch->found[nth * svccnt];
	char name[OFI_NODE_LEN];
	uint16_t port;
	int err;
	size_t i;

	err = ofi_node_after(node, nth, name, sizeof(name))
		      ? av_resolve(av, name, service, &found[0].addr)
		      : -FI_EINVAL;
	port = ofi_addr_port((struct sockaddr *)&found[0].addr);
	for (i = 0; i < svccnt; i++) {
		found[i].addr = found[0].addr;
		batch->errs[nth * svccnt + i] = err;
		if (err || !i)
			continue;
		ofi_addr_set_port((struct sockaddr *)&found[i].addr, (uint16_t)(port + i));
		if (port + i > PORT_MAX)
			batch->errs[nth * svccnt + i] = -FI_EINVAL;
	}
}

static int insert_range(struct vrb_av *av, const char *call, const char *node, size_t nodecnt,
			const char *service, size_t svccnt, fi_addr_t *fi_addr, uint64_t flags,
			void *context)
{
	struct batch batch = { 0 };
	size_t i, count;
	int ret;

	if (__builtin_mul_overflow(nodecnt, svccnt, &count) || count > INT_MAX)
		return ofi_refuse(&vrb_prov, FI_LOG_AV, -FI_EINVAL,
				  "%s: %zu nodes with %zu services are too many\n", call, nodecnt,
				  svccnt);
	ret = ofi_av_check_insert(&av->base, call, node, count, fi_addr, flags, context);
	if (!ret)
		ret = batch_new(&batch, count);
	if (!ret) {
		for (i = 0; count && i < nodecnt; i++)
			resolve_node(av, node, i, service, svccnt, &batch);
		ret = batch_insert(av, call, &batch, fi_addr, flags, context);
	}
	batch_free(&batch);
	return ret;
}

int vrb_av_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	return insert_range(vrb_av(fid), "fi_av_insertsvc", node, 1, service, 1, fi_addr, flags,
			    context);
}

int vrb_av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
		     size_t svccnt, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	return insert_range(vrb_av(fid), "fi_av_insertsym", node, nodecnt, service, svccnt, fi_addr,
			    flags, context);
}
