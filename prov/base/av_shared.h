/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The addresses of a named address vector, in memory shared between processes. An address keeps its
 * index for the lifetime of the vector: if it is removed and inserted again, by any process, it
 * gets the same index. An index that a process remembers therefore never refers to a different
 * address.
 *
 * Data written by other processes is not trusted: indices and sizes are bounded by what was
 * validated at open, and an entry is copied before it is examined.
 */
#ifndef OFI_AV_SHARED_H
#define OFI_AV_SHARED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_prov.h>

#define OFI_AV_SHARED_NONE  SIZE_MAX
#define OFI_AV_SHARED_ENTRY 64 /* maximum size of an entry in bytes */

struct ofi_av_shared;

/* The stored entries: bytes with the same meaning in every process. */
struct ofi_av_shared_class {
	size_t entry_size;
	/* Returns true if data from another process is an address. */
	bool (*valid)(const void *entry);
	int (*compare)(const void *a, const void *b);
};

/*
 * Opens the vector named attr->name within the scope, or creates it. Sets attr->type and
 * attr->map_addr to the actual values. Returns 0; -FI_ENOENT if it was to be opened read-only and
 * does not exist; or another -FI_E*, logged as a warning.
 */
int ofi_av_shared_open(const struct fi_provider *prov, const struct ofi_av_shared_class *cls,
		       const char *scope, uint32_t addr_format, struct fi_av_attr *attr,
		       struct ofi_av_shared **shared);
void ofi_av_shared_close(struct ofi_av_shared *shared); /* NULL-safe */
bool ofi_av_shared_read_only(const struct ofi_av_shared *shared);

/*
 * Begin and end insertions; only one thread at a time may insert. Return 0, or log and return
 * -FI_E*.
 */
int ofi_av_shared_begin(struct ofi_av_shared *shared);
void ofi_av_shared_end(struct ofi_av_shared *shared);
/*
 * Adds an address and sets *index to its index. An address that has none yet gets the first index
 * after all others, at least the given *index. Returns 0 or -FI_E*.
 */
int ofi_av_shared_add(struct ofi_av_shared *shared, const void *entry, size_t *index);
/* Returns false if there is no such address. */
bool ofi_av_shared_remove(struct ofi_av_shared *shared, size_t index);

/* Returns a bound that all indices are below. Takes no lock. */
size_t ofi_av_shared_limit(const struct ofi_av_shared *shared);
/* Copies an entry out. Returns false if there is no such address. Takes no lock. */
bool ofi_av_shared_get(const struct ofi_av_shared *shared, size_t index, void *entry);
/*
 * Returns the index of an address, or OFI_AV_SHARED_NONE. Takes its own lock, which is innermost.
 */
size_t ofi_av_shared_find(struct ofi_av_shared *shared, const void *entry);

#endif
