/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Insertion of a range of addresses: nodes, each with its services. */
#ifndef OFI_NODE_RANGE_H
#define OFI_NODE_RANGE_H

#include <sys/socket.h>
#include "av.h"

/* The addresses of one call. */
struct ofi_av_batch {
	struct ofi_av *av;
	const char *call;
	size_t count;
	struct sockaddr_storage *addrs;
	int *errs; /* -FI_E*: why the address is not inserted, or 0 */
};

/* What a provider does with a batch. Both return what the application gets, -FI_E* on failure. */
struct ofi_av_batch_ops {
	/* Finds the first address of a node and a service. */
	int (*resolve)(const struct ofi_av_batch *batch, const char *node, const char *service,
		       struct sockaddr_storage *ss);
	/* Inserts the addresses whose errs are 0. */
	int (*insert)(struct ofi_av_batch *batch, fi_addr_t *fi_addr, uint64_t flags,
		      void *context);
};

/* Allocates addrs and errs for `count` addresses. Returns 0 or -FI_ENOMEM; free it in any case. */
int ofi_av_batch_new(struct ofi_av_batch *batch);
void ofi_av_batch_free(struct ofi_av_batch *batch);
/*
 * Implements fi_av_insertsym and fi_av_insertsvc. As nodes, 10.0.1.0 follows 10.0.0.255, and host10
 * follows host09; the services are consecutive ports.
 */
int ofi_av_insert_range(struct ofi_av *av, const char *call, const struct ofi_av_batch_ops *ops,
			const char *node, size_t nodes, const char *service, size_t services,
			fi_addr_t *fi_addr, uint64_t flags, void *context);

#endif
