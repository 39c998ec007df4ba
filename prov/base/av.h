/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of an address vector that all providers share. Addresses are indices into a table, for
 * FI_AV_TABLE and FI_AV_MAP alike. The provider defines what an entry holds. The table of a named
 * address vector is in memory shared between processes.
 */
#ifndef OFI_AV_H
#define OFI_AV_H

#include <stdbool.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_prov.h>
#include <ofi/addr.h>
#include "av_shared.h"
#include "eq.h"
#include "src/ds/lock.h"
#include "ref.h"
#include "src/ds/table.h"

/* Flags that fi_av_open accepts. */
#define OFI_AV_FLAGS (FI_EVENT | FI_SYMMETRIC | FI_AV_USER_ID | FI_READ)

enum { OFI_AV_NAME = OFI_ADDR_STRLEN, OFI_AV_TEXT = 160 };

struct ofi_av;

/*
 * The provider's operations on entries. put, drop and pack are called with av->lock held, but
 * ofi_av_fini() calls drop() without it.
 */
struct ofi_av_class {
	size_t addr_size;  /* size of an address in the array passed to ofi_av_insert() */
	size_t entry_size; /* size of an entry */
	/* Fills an entry, which may still hold what `drop` left in it. Returns 0 or -FI_E*. */
	int (*put)(struct ofi_av *av, size_t index, void *entry, const void *addr);
	/*
	 * Called when an entry is removed. Senders that hold the address may still read the entry.
	 */
	void (*drop)(struct ofi_av *av, size_t index, void *entry);
	int rx_ctx_bits; /* maximum, so that addresses stay below 2^(64 - rx_ctx_bits) */
	/*
	 * NULL if the AV cannot be shared. For a shared AV, put is not used, and drop gets a copy
	 * of the entry.
	 */
	const struct ofi_av_shared_class *shared;
	int (*pack)(struct ofi_av *av, void *entry, const void *addr); /* returns 0 or -FI_E* */
	/*
	 * Writes an address as fi_av_lookup returns it, at most OFI_AV_NAME bytes. Returns its
	 * size, or 0 if the fi_addr is unknown.
	 */
	size_t (*name)(struct ofi_av *av, fi_addr_t fi_addr, void *name);
	/* Writes the text of the application's address, which is not NULL. */
	void (*text)(const struct ofi_av *av, const void *addr, char *text, size_t len);
	/* Frees the provider's object after its entries have been dropped. */
	void (*free)(struct ofi_av *av);
};

struct ofi_av {
	struct fid_av fid;
	struct ofi_ref ref; /* bound endpoints */
	struct ofi_ref *parent;
	/* The parent's references; an EQ must belong to the same fabric. */
	const struct ofi_ref *fabric;
	const struct fi_provider *prov;
	const struct ofi_av_class *cls;
	struct ofi_eq *eq;    /* bound event queue */
	bool event;	      /* FI_EVENT: insertions report to eq */
	bool user_ids;	      /* some entry has a user id; atomic */
	struct ofi_lock lock; /* guards changes of the table; readers take no lock */
	struct ofi_table table;
	struct ofi_av_shared *shared; /* replaces the table if the AV has a name, else NULL */
};

static inline struct ofi_av *ofi_av(struct fid_av *fid)
{
	return (struct ofi_av *)fid;
}

/*
 * Checks the attributes and initializes the base; the provider sets fid.ops. Sets attr->type to the
 * actual type. Returns 0, or logs and returns -FI_E* with nothing to undo.
 */
int ofi_av_init(struct ofi_av *av, const struct fi_provider *prov, struct ofi_ref *parent,
		const struct ofi_ref *fabric, const struct ofi_av_class *cls,
		struct fi_av_attr *attr, void *context);
/*
 * Opens the shared table of a named AV, after ofi_av_init(); `scope` separates names of different
 * domains. Returns 0 or -FI_E*; ofi_av_fini() follows in either case.
 */
int ofi_av_share(struct ofi_av *av, const char *scope, uint32_t addr_format,
		 struct fi_av_attr *attr);
/*
 * Drops all entries, but not those of a shared table. Returns -FI_EBUSY if an endpoint is bound;
 * otherwise the provider frees the rest.
 */
int ofi_av_fini(struct ofi_av *av);
/* Implements fi_av_bind. */
int ofi_av_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
/* Implements fi_close: ofi_av_fini(), then the provider's free(). */
int ofi_av_close(struct fid *fid);
extern const struct fi_ops ofi_av_fid_ops;

/* Checks the flags and pointers of an insertion. Returns 0, or logs and returns -FI_E*. */
int ofi_av_check_insert(const struct ofi_av *av, const char *call, const void *addr, size_t count,
			fi_addr_t *fi_addr, uint64_t flags, void *context);
/*
 * Inserts `count` addresses and reports the result like fi_av_insert. If errs is given, an address
 * with errs[i] != 0 (-FI_E*) fails with that error. The arguments have been checked.
 */
int ofi_av_insert(struct ofi_av *av, const void *addrs, const int *errs, size_t count,
		  fi_addr_t *fi_addr, uint64_t flags, void *context);
/* Implement fi_av_remove and fi_av_set_user_id for ops tables. */
int ofi_av_remove(struct fid_av *av, fi_addr_t *fi_addr, size_t count, uint64_t flags);
int ofi_av_set_user_id(struct fid_av *av, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags);
/*
 * Returns the entry of an address that is in use and not shared, else NULL. The caller holds
 * av->lock.
 */
void *ofi_av_entry(const struct ofi_av *av, fi_addr_t fi_addr);
/* Returns true if the address is in use. The caller holds av->lock. */
bool ofi_av_has(const struct ofi_av *av, fi_addr_t fi_addr);
/* Returns a bound that all addresses are below. Takes no lock. */
fi_addr_t ofi_av_limit(const struct ofi_av *av);
/* Implement fi_av_lookup and fi_av_straddr for ops tables. */
int ofi_av_lookup(struct fid_av *av, fi_addr_t fi_addr, void *addr, size_t *len);
const char *ofi_av_straddr(struct fid_av *av, const void *addr, char *buf, size_t *len);
/* These implement name and text of a class whose addresses are strings or IP addresses. */
size_t ofi_av_addr_name(uint32_t format, const void *addr, void *name);
/*
 * An address that is not in this format is called so: only its family is read, as the rest may be
 * longer than the caller's address.
 */
void ofi_av_addr_text(uint32_t format, const void *addr, char *text, size_t len);
/* Returns what completions report for an entry: the user's id, or the index. Takes no lock. */
static inline fi_addr_t ofi_av_reported(const struct ofi_av *av, size_t index)
{
	return __atomic_load_n(&av->user_ids, __ATOMIC_ACQUIRE)
		       ? ofi_table_tag_of(&av->table, index)
		       : index;
}

/* Returns the entry of an address that is or was in use, else NULL. Takes no lock. */
static inline void *ofi_av_at(const struct ofi_av *av, fi_addr_t fi_addr)
{
	return ofi_table_at(&av->table, fi_addr);
}

#endif
