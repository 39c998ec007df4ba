/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the files of scalable endpoints: the object, its indexes and its contexts. */
#ifndef OFI_RDM_SEP_INT_H
#define OFI_RDM_SEP_INT_H

#include "sep.h"

struct ofi_rdm_sep;

/* A context is half of the endpoint of its index. Its aliases are of the same kind. */
struct ofi_rdm_context {
	struct ofi_rdm_fid head; /* first */
	struct ofi_rdm_sep *sep;
	struct ofi_rdm_context *base; /* itself, or what it is an alias of */
	unsigned int fids;	      /* of a base: its own and its aliases */
	uint64_t cntrs;		      /* of a base: flags of the counters that it has bound */
	size_t index;
	bool rx;
};

struct ofi_rdm_part {
	struct ofi_rdm_ep *ep;		    /* NULL while its contexts are closed */
	struct ofi_rdm_context *context[2]; /* transmit, receive */
};

struct ofi_rdm_sep {
	struct fid_ep fid;
	struct ofi_domain *domain;
	struct fid_domain *domain_fid;
	ofi_rdm_sep_open_fn *open;
	struct fi_info *info;
	struct ofi_rdm_av *av;
	struct sockaddr_storage name;
	struct ofi_lock lock; /* guards the parts */
	size_t count[2];      /* transmit and receive contexts */
	size_t parts;	      /* the larger of the two */
	struct ofi_rdm_part part[OFI_RDM_SEP_MAX];
};

static inline struct ofi_rdm_sep *ofi_rdm_sep_of(struct fid *fid)
{
	return (struct ofi_rdm_sep *)fid;
}

static inline const char *ofi_rdm_context_kind(bool rx)
{
	return rx ? "receive" : "transmit";
}

/* Opens the endpoint of an index. Returns 0 or -FI_E*. */
int ofi_rdm_part_open(struct ofi_rdm_sep *sep, size_t index);
void ofi_rdm_part_close(struct ofi_rdm_part *part);
/* Opens the endpoints of all indexes at ports in a row. Returns 0 or -FI_E*. */
int ofi_rdm_parts_open(struct ofi_rdm_sep *sep);
void ofi_rdm_parts_close(struct ofi_rdm_sep *sep);
/* Implements fi_getname() of a scalable endpoint and its contexts. */
int ofi_rdm_sep_name(struct ofi_rdm_sep *sep, void *addr, size_t *len);

/* Opens a context. The caller holds the lock. Returns 0 or -FI_E*. */
int ofi_rdm_context_open(struct ofi_rdm_sep *sep, size_t index, bool rx, uint64_t op_flags,
			 void *user, struct fid_ep **fid);

#endif
