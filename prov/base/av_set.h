/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* AV sets: ordered lists of members of an address vector, from which collective groups are made. */
#ifndef OFI_AV_SET_H
#define OFI_AV_SET_H

#include <stdbool.h>
#include <rdma/fi_collective.h>
#include "src/ds/lock.h"
#include "av.h"

#define OFI_AV_SET_KEY_MAX 64 /* maximum length of a communication key in bytes */

struct ofi_av_set {
	struct fid_av_set fid;
	struct ofi_av *av;    /* the set holds a reference */
	struct ofi_lock lock; /* guards the members */
	fi_addr_t *member;
	size_t count, room;
	size_t key_len; /* communication key, which distinguishes groups with the same members */
	uint8_t key[OFI_AV_SET_KEY_MAX];
};

static inline struct ofi_av_set *ofi_av_set(const struct fid_av_set *fid)
{
	return (struct ofi_av_set *)fid;
}

/* Implements fi_av_set. */
int ofi_av_set_open(struct fid_av *av, struct fi_av_set_attr *attr, struct fid_av_set **set,
		    void *context);
/* Returns a copy of the members, to be freed by the caller; NULL when out of memory. */
fi_addr_t *ofi_av_set_members(struct ofi_av_set *set, size_t *count);
/* Returns true if fi_av_set_addr of this set returned the address. */
bool ofi_av_set_owns(const struct ofi_av_set *set, fi_addr_t coll_addr);

#endif
