/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The addresses of a named address vector, in memory that processes share. An address has one
 * index, for as long as the vector lives: it gets it back when it is removed and inserted again,
 * from whatever process. So what a process remembers of an index never becomes another address.
 *
 * Nothing that another process wrote is believed: indices and sizes are bounded by what was checked
 * when it was opened, and an entry is copied before it is looked at.
 */
#ifndef OFI_AV_SHARED_H
#define OFI_AV_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_prov.h>

#define OFI_AV_SHARED_NONE  SIZE_MAX
#define OFI_AV_SHARED_ENTRY 64 /* bytes of an entry, at most */

struct ofi_av_shared;

/* What is shared: bytes that mean the same in each process. */
struct ofi_av_shared_class {
	size_t entry_size;
	bool (*valid)(const void *entry); /* what another process wrote is an address */
	int (*compare)(const void *a, const void *b);
};

/*
 * Opens the vector of attr->name among those of the scope, or makes it; attr->type and
 * attr->map_addr become what they are. 0; -FI_ENOENT: it is for reading and there is none; other
 * -FI_E* are logged as a warning.
 */
int ofi_av_shared_open(const struct fi_provider *prov, const struct ofi_av_shared_class *cls,
		       const char *scope, uint32_t addr_format, struct fi_av_attr *attr,
		       struct ofi_av_shared **shared);
void ofi_av_shared_close(struct ofi_av_shared *shared); /* or NULL */
bool ofi_av_shared_read_only(const struct ofi_av_shared *shared);

/* Around insertions, of one thread at a time. 0 or -FI_E*, logged. */
int ofi_av_shared_begin(struct ofi_av_shared *shared);
void ofi_av_shared_end(struct ofi_av_shared *shared);
/*
 * The index of an address: the one it has, else the first from *index on that is behind all others.
 * 0 or -FI_E*.
 */
int ofi_av_shared_add(struct ofi_av_shared *shared, const void *entry, size_t *index);
/* False when there is no such address. */
bool ofi_av_shared_remove(struct ofi_av_shared *shared, size_t index);

/* Indices are below it. Needs no lock. */
size_t ofi_av_shared_limit(const struct ofi_av_shared *shared);
/* Copies an entry out. False when there is no such address. Needs no lock. */
bool ofi_av_shared_get(const struct ofi_av_shared *shared, size_t index, void *entry);
/*
 * The index of an address, OFI_AV_SHARED_NONE. Takes a lock of its own, and no other while it has
 * it.
 */
size_t ofi_av_shared_find(struct ofi_av_shared *shared, const void *entry);

#endif
