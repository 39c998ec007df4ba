/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address vectors of datagram endpoints: names of queue pairs, and the address handles for sending
 * to them.
 *
 * If fi_av_remove is called while another thread sends to the address, the datagram may be sent,
 * may fail, or may go to an address inserted meanwhile. Address handles are shared per path (GID,
 * LID, service level, traffic class), created on first use, and kept as long as the address vector,
 * or the domain with Elastic Fabric Adapters, so none is freed while a sender uses it.
 */
#ifndef VRB_AV_H
#define VRB_AV_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <infiniband/verbs.h>
#include "prov/base/ops.h"
#include "prov/base/av.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/tclass.h"
#include "ud_name.h"
#include "ud_port.h"
#include "src/ds/compiler.h"

struct vrb_late_addr;
struct vrb_source_slots;

/*
 * Finds the address that a datagram came from: indices of an address vector by GID and queue pair
 * number. There is one writer at a time; readers take no lock and retry if a change was in
 * progress.
 */
struct vrb_sources {
	struct vrb_source_slots *slots; /* atomic; replaced ones are linked to it */
	size_t count;
	unsigned int seq; /* atomic; odd during a change */
};

/*
 * IP addresses that no endpoint had when they were inserted: sends query them again. Sends return
 * -FI_EAGAIN for a multiple of resolve_timeout, and then the reason of the failure; they still
 * query, so that one of them finds an endpoint that opens later.
 */
struct vrb_late {
	struct ofi_lock lock; /* taken before the address vector's lock; no event takes it */
	size_t count;
	LIST_HEAD(, vrb_late_addr) addrs; /* being queried */
};

struct vrb_av {
	struct ofi_av base;
	struct vrb_domain *domain;
	struct vrb_ud_port port;
	uint32_t addr_format;	 /* never FI_SOCKADDR */
	void *paths;		 /* tree of address handles, guarded by base.lock */
	struct ofi_table groups; /* struct vrb_dest of multicast groups; base.lock guards changes */
	/*
	 * The traffic class of the address handles: that of the first endpoint that was bound.
	 * Guarded by base.lock until then.
	 */
	struct vrb_tclass tclass;
	bool has_tclass;
	bool has_sources; /* guarded by base.lock */
	struct vrb_sources sources;
	struct vrb_late late;
};

static inline struct vrb_av *vrb_av(struct fid_av *fid)
{
	return (struct vrb_av *)fid;
}

OFI_CALL(fi_ops_domain, av_open) vrb_av_open;

/* Slow path: first use of an address, multicast groups, and errors. */
const struct vrb_dest *vrb_av_dest_slow(struct vrb_av *av, fi_addr_t addr);

/*
 * Returns the destination of an address with ah set. Returns NULL with errno set to a positive
 * FI_E*: EINVAL if the address is unknown or removed, EAGAIN while its queue pair is looked up,
 * otherwise the reason why no address handle could be created. Takes no lock.
 */
static inline const struct vrb_dest *vrb_av_dest(struct vrb_av *av, fi_addr_t addr)
{
	const struct vrb_dest *dest = ofi_av_at(&av->base, addr);

	if (ofi_likely(dest && __atomic_load_n(&dest->ah, __ATOMIC_ACQUIRE)))
		return dest;
	return vrb_av_dest_slow(av, addr);
}

/* Returns the address handle for a destination that need not be an address; NULL on failure. */
struct ibv_ah *vrb_av_ah(struct vrb_av *av, const struct vrb_dest *dest);

/*
 * Called for each bound endpoint. Returns false if the address handles have a different traffic
 * class; the endpoint then calls vrb_av_dest_as() for each send.
 */
bool vrb_av_adopt(struct vrb_av *av, struct vrb_tclass tclass);
/*
 * Like vrb_av_dest(), with a given traffic class. Stores the address handle in the entry, or in a
 * copy of the entry if `own` is given.
 */
const struct vrb_dest *vrb_av_dest_as(struct vrb_av *av, fi_addr_t addr, struct vrb_tclass tclass,
				      struct vrb_dest *own);
/*
 * Maintains the reverse lookup from now on, for an endpoint bound with FI_SOURCE. Returns 0 or
 * -FI_ENOMEM.
 */
int vrb_av_keep_sources(struct vrb_av *av);
/*
 * Returns the source to report in a completion: the address, its user id, or FI_ADDR_NOTAVAIL.
 * Takes no lock.
 */
fi_addr_t vrb_av_source(const struct vrb_av *av, const union ibv_gid *gid, uint32_t qpn);

/*
 * Adds a multicast group, whose addresses start at 2^62. Returns FI_ADDR_NOTAVAIL with errno set on
 * failure.
 */
fi_addr_t vrb_av_add_group(struct vrb_av *av, const struct vrb_dest *dest);
void vrb_av_remove_group(struct vrb_av *av, fi_addr_t addr);

/* The reverse lookup (av_source.c). */
void vrb_sources_fini(struct vrb_sources *sources);
/*
 * Sets an entry, unless `from` is NULL, and adds it to the index if `indexed`. The entry does not
 * change until it is removed. Returns false when out of memory.
 */
bool vrb_sources_put(struct vrb_sources *sources, const struct ofi_table *table, size_t index,
		     struct vrb_dest *entry, const struct vrb_dest *from, bool indexed);
void vrb_sources_remove(struct vrb_sources *sources, const struct ofi_table *table, size_t index);
/* Returns OFI_TABLE_NONE if there is no such entry. Of equal entries it may return any. */
size_t vrb_sources_find(const struct vrb_sources *sources, const struct ofi_table *table,
			const union ibv_gid *gid, uint32_t qpn);
/* Sets all fields of an entry but ah; the ones that readers compare are stored atomically. */
void vrb_dest_set(struct vrb_dest *entry, const struct vrb_dest *from);

/* Late addresses (av_late.c). */
void vrb_late_init(struct vrb_late *late);
void vrb_late_fini(struct vrb_late *late);
/*
 * Queries an address whose queue pair is unknown; the caller holds no lock. Returns true if the
 * queue pair is known now or the address was removed; otherwise errno is EAGAIN or the reason.
 */
bool vrb_late_find(struct vrb_av *av, fi_addr_t addr);

/* Addresses that the connection manager resolves (av_svc.c): IP addresses, nodes and services. */

/* The entry of an IP address. */
struct vrb_av_ip_entry {
	struct vrb_dest dest;	  /* first */
	struct sockaddr_in6 addr; /* of either family */
};

/* An IP address to be inserted and its result. */
struct vrb_av_found {
	struct vrb_dest dest;
	struct sockaddr_storage addr;
};

/*
 * Inserts IP addresses in the address vector's format, like fi_av_insert. The arguments have been
 * checked.
 */
int vrb_av_insert_addrs(struct vrb_av *av, const void *addrs, size_t count, fi_addr_t *fi_addr,
			uint64_t flags, void *context);
OFI_CALL(fi_ops_av, insertsvc) vrb_av_insertsvc;
OFI_CALL(fi_ops_av, insertsym) vrb_av_insertsym;

#endif
