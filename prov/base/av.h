/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An address vector: what each provider's has in common. Addresses are indices of a table, for
 * FI_AV_TABLE and FI_AV_MAP alike. A provider says what an entry holds. One with a name has its
 * table in memory that processes share.
 */
#ifndef OFI_AV_H
#define OFI_AV_H

#include <stdbool.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_prov.h>
#include "av_shared.h"
#include "eq.h"
#include "src/ds/lock.h"
#include "ref.h"
#include "src/ds/table.h"

#define OFI_AV_FLAGS (FI_EVENT | FI_SYMMETRIC | FI_AV_USER_ID | FI_READ) /* of fi_av_open */

struct ofi_av;

/* What a provider does with entries; each is called with av->lock held. */
struct ofi_av_class {
	size_t addr_size;  /* of an address in the array that ofi_av_insert() gets */
	size_t entry_size; /* of what is kept of it */
	/* Fills an entry, which may hold what `drop` left in it. 0 or -FI_E*. */
	int (*put)(struct ofi_av *av, size_t index, void *entry, const void *addr);
	/* Senders that hold an address may still read the entry while and after it goes. */
	void (*drop)(struct ofi_av *av, size_t index, void *entry);
	int rx_ctx_bits; /* at most: whose addresses end below 2^(64 - rx_ctx_bits) */
	/* NULL when they are not shared. Else there is no put, and drop's entry is a copy. */
	const struct ofi_av_shared_class *shared;
	int (*pack)(struct ofi_av *av, void *entry, const void *addr); /* 0 or -FI_E* */
};

struct ofi_av {
	struct fid_av fid;
	struct ofi_ref ref; /* endpoints bound to it */
	struct ofi_ref *parent;
	const struct ofi_ref *fabric; /* the parent's: the EQ is to be one of it */
	const struct fi_provider *prov;
	const struct ofi_av_class *cls;
	struct ofi_eq *eq;    /* bound */
	bool event;	      /* FI_EVENT: insertions report to eq */
	bool user_ids;	      /* some entry has one; atomic */
	struct ofi_lock lock; /* guards changes of the table; readers need none */
	struct ofi_table table;
	struct ofi_av_shared *shared; /* what takes the table's place when it has a name; or NULL */
};

static inline struct ofi_av *ofi_av(struct fid_av *fid)
{
	return (struct ofi_av *)fid;
}

/*
 * Checks the attributes and sets up the base; fid.ops is the provider's to set. attr->type becomes
 * what it is. 0, or -FI_E*, logged, with nothing to undo.
 */
int ofi_av_init(struct ofi_av *av, const struct fi_provider *prov, struct ofi_ref *parent,
		const struct ofi_ref *fabric, const struct ofi_av_class *cls,
		struct fi_av_attr *attr, void *context);
/*
 * After ofi_av_init(), for an attr->name: among those of the scope. 0 or -FI_E*, with ofi_av_fini()
 * to follow.
 */
int ofi_av_share(struct ofi_av *av, const char *scope, uint32_t addr_format,
		 struct fi_av_attr *attr);
/* Drops all entries. -FI_EBUSY when an endpoint is bound; else the provider frees the rest. */
int ofi_av_fini(struct ofi_av *av);
/* fi_av_bind */
int ofi_av_bind(struct fid *fid, struct fid *bfid, uint64_t flags);

/* The flags and pointers of an insertion. 0 or -FI_E*, logged. */
int ofi_av_check_insert(const struct ofi_av *av, const char *call, const void *addr, size_t count,
			fi_addr_t *fi_addr, uint64_t flags, void *context);
/*
 * Inserts `count` addresses and reports as fi_av_insert does. An address whose errs[i], when errs
 * is given, is not 0 (-FI_E*) fails with that. The call has been checked.
 */
int ofi_av_insert(struct ofi_av *av, const void *addrs, const int *errs, size_t count,
		  fi_addr_t *fi_addr, uint64_t flags, void *context);
/* fi_av_remove, fi_av_set_user_id: ready for the ops table. */
int ofi_av_remove(struct fid_av *av, fi_addr_t *fi_addr, size_t count, uint64_t flags);
int ofi_av_set_user_id(struct fid_av *av, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags);
/* The entry of an address that is in use and not shared, with av->lock held; else NULL. */
void *ofi_av_entry(const struct ofi_av *av, fi_addr_t fi_addr);
/* Is an address in use? To be asked with av->lock held. */
bool ofi_av_has(const struct ofi_av *av, fi_addr_t fi_addr);
/* Addresses are below it. Needs no lock. */
fi_addr_t ofi_av_limit(const struct ofi_av *av);
/* Copies an address out, as fi_av_lookup says: cut to *len, *len set to what it takes. */
int ofi_av_copy_out(const struct ofi_av *av, const char *call, const void *from, size_t size,
		    void *addr, size_t *len);
/*
 * The end of fi_av_straddr: the text cut to *len, *len set to what it takes; len is not NULL.
 * Returns buf.
 */
const char *ofi_av_copy_text(const char *text, char *buf, size_t *len);
/* What completions report for an entry: the user's id, else the index. Needs no lock. */
static inline fi_addr_t ofi_av_reported(const struct ofi_av *av, size_t index)
{
	return __atomic_load_n(&av->user_ids, __ATOMIC_ACQUIRE)
		       ? ofi_table_tag_of(&av->table, index)
		       : index;
}

/* The entry of an address that is or was in use, else NULL. Needs no lock. */
static inline void *ofi_av_at(const struct ofi_av *av, fi_addr_t fi_addr)
{
	return ofi_table_at(&av->table, fi_addr);
}

#endif
