/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A poll set: completion queues and counters of a domain that are looked at in one call. */
#ifndef OFI_POLL_H
#define OFI_POLL_H

#include <stdbool.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_prov.h>
#include "ref.h"

/* What only the provider knows of its completion queues. */
struct ofi_poll_ops {
	/*
	 * The references of an object of FI_CLASS_CQ, if it is a queue of the domain whose
	 * references are *domain, else NULL.
	 */
	struct ofi_ref *(*cq_ref)(struct fid *cq, const struct ofi_ref *domain);
	/* There may be something to read. */
	bool (*cq_ready)(struct fid *cq);
};

/* Opens a poll set whose close gives the reference on *parent, the domain's, back. */
int ofi_poll_open(const struct fi_provider *prov, struct ofi_ref *parent,
		  const struct ofi_poll_ops *ops, const struct fi_poll_attr *attr,
		  struct fid_poll **set);

#endif
