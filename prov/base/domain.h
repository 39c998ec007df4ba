/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state that domains of all providers share. It is the first member of the provider's own
 * struct.
 */
#ifndef OFI_DOMAIN_H
#define OFI_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_prov.h>
#include "src/ds/lock.h"
#include "ref.h"
#include "stats.h"
#include "trigger.h"

struct ofi_domain;
struct ofi_eq;
struct ofi_loop;
struct ofi_mr_cache;
struct ofi_rdm_domain_progress;
struct sockaddr_storage;

enum {
	OFI_MR_BUFFERS = 16, /* maximum number of buffers of a memory region */
};

/* A buffer of a memory region, for operations that the library performs itself. */
struct ofi_mr_place {
	uint64_t base; /* added to the addresses of operations; 0 with FI_MR_VIRT_ADDR */
	uint64_t start, len;
	uint64_t access; /* FI_REMOTE_READ and similar flags */
	uint32_t rkey;
	uint32_t count; /* number of the region's buffers */
	bool opaque;	/* only a device memory interface can access it, if any can */
	bool unbacked;	/* has no rkey, and need not be mapped until it is accessed */
};

/* Callbacks of the provider for the library. */
struct ofi_domain_ops {
	/* Finds a buffer of the region of a key. Returns false if the region has no such buffer. */
	bool (*mr_find)(struct ofi_domain *domain, uint64_t key, uint32_t buffer,
			struct ofi_mr_place *place);
	/* Finds the region whose descriptor has a local key. Returns false if there is none. */
	bool (*mr_range)(struct ofi_domain *domain, uint32_t lkey, uintptr_t *start, size_t *len);
	/*
	 * Counts an access by a peer (FI_REMOTE_READ, FI_REMOTE_WRITE or both) on the region's
	 * counters. A counter bound for both counts it once.
	 */
	void (*mr_count)(struct ofi_domain *domain, uint64_t key, uint64_t what);
	/*
	 * Finds the address of a peer: of a node and a service, or of a text with both if service
	 * is NULL. Of several addresses it prefers one that the routing table reaches from the
	 * domain's address. Returns 0, or logs for `call` and returns -FI_E*.
	 */
	int (*resolve)(const struct ofi_domain *domain, const char *call, uint32_t format,
		       const char *node, const char *service, struct sockaddr_storage *ss);
};

struct ofi_domain {
	struct fid_domain fid;
	struct ofi_ref ref;
	const struct fi_provider *prov;
	const struct ofi_domain_ops *ops;
	struct ofi_ref *fabric; /* the fabric's references */
	struct ofi_loop *loop;	/* the fabric's event thread */
	struct ofi_eq *eq;	/* bound with fi_domain_bind; default for its endpoints */
	struct fi_info *info;	/* attributes it was opened with */
	struct ofi_stats *stats;
	struct ofi_triggers triggers;
	struct ofi_mr_cache *cache; /* registration cache for FI_EP_RDM endpoints, or NULL */
	size_t packet;		    /* packet size of these endpoints, including the header */
	struct ofi_rdm_domain_progress *progress; /* domain progress of these endpoints, or NULL */
};

static inline struct ofi_domain *ofi_domain(struct fid_domain *fid)
{
	return (struct ofi_domain *)fid;
}

#endif
