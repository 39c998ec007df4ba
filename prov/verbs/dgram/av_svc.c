/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Insertion of IP addresses: one by one, by name, and as a range of nodes and services. */
#include <stdlib.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "av.h"
#include "prov/base/name.h"
#include "prov/base/node_range.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/discovery/resolve.h"
#include "prov/verbs/cm/sidr.h"

/* Queries all addresses and inserts them, as names if that is the address vector's format. */
static int dgram_insert(struct ofi_av_batch *batch, fi_addr_t *fi_addr, uint64_t flags,
			void *context)
{
	struct vrb_av_found *found = calloc(batch->count + 1, sizeof(*found));
	struct vrb_ud_name *names = calloc(batch->count + 1, sizeof(*names));
	struct vrb_av *av = (struct vrb_av *)batch->av;
	int ret = -FI_ENOMEM;
	size_t i;

	if (found && names) {
		for (i = 0; i < batch->count; i++)
			found[i].addr = batch->addrs[i];
		vrb_sidr_resolve(av, batch->call, found, batch->errs, batch->count);
		for (i = 0; i < batch->count; i++) {
			if (vrb_sidr_may_come(av, batch->errs[i]))
				batch->errs[i] = 0; /* without a queue pair */
			vrb_ud_name_out(&found[i].dest, &names[i]);
		}
		ret = ofi_av_insert(batch->av,
				    vrb_ud_format(av->addr_format) ? (void *)names : found,
				    batch->errs, batch->count, fi_addr, flags, context);
	}
	free(found);
	free(names);
	return ret;
}

/* An entry has room for IP addresses only. */
static int check_port(const char *call, const struct sockaddr_storage *ss)
{
	const struct sockaddr *sa = (const struct sockaddr *)ss;
	char text[OFI_ADDR_STRLEN];

	if (sa->sa_family != AF_IB && !ofi_addr_is_any(sa) && ofi_addr_port(sa))
		return 0;
	return ofi_refuse(&vrb_prov, FI_LOG_AV, -FI_EINVAL,
			  "%s: %s does not name an endpoint; give an IP address and a port\n", call,
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
	struct ofi_av_batch batch = { .av = &av->base, .call = "fi_av_insert", .count = count };
	int ret = ofi_av_batch_new(&batch);
	size_t i;

	if (!ret) {
		for (i = 0; i < count; i++)
			batch.errs[i] = addr_in(av, addrs, i, &batch.addrs[i]);
		ret = dgram_insert(&batch, fi_addr, flags, context);
	}
	ofi_av_batch_free(&batch);
	return ret;
}

static int dgram_resolve(const struct ofi_av_batch *batch, const char *node, const char *service,
			 struct sockaddr_storage *ss)
{
	const struct vrb_av *av = (const struct vrb_av *)batch->av;
	int ret = vrb_resolve_peer(&av->domain->base, batch->call, av->addr_format, node, service,
				   ss);

	return ret ? ret : check_port(batch->call, ss);
}

static const struct ofi_av_batch_ops dgram_batch_ops = {
	.resolve = dgram_resolve,
	.insert = dgram_insert,
};

int vrb_av_insertsvc(struct fid_av *fid, const char *node, const char *service, fi_addr_t *fi_addr,
		     uint64_t flags, void *context)
{
	return ofi_av_insert_range(ofi_av(fid), "fi_av_insertsvc", &dgram_batch_ops, node, 1,
				   service, 1, fi_addr, flags, context);
}

int vrb_av_insertsym(struct fid_av *fid, const char *node, size_t nodecnt, const char *service,
		     size_t svccnt, fi_addr_t *fi_addr, uint64_t flags, void *context)
{
	return ofi_av_insert_range(ofi_av(fid), "fi_av_insertsym", &dgram_batch_ops, node, nodecnt,
				   service, svccnt, fi_addr, flags, context);
}
