/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A poll set: completion queues and counters of a domain that are looked at in one call. */
#ifndef OFI_POLL_H
#define OFI_POLL_H

#include <rdma/fi_eq.h>
#include <rdma/providers/fi_prov.h>
#include "ref.h"

/* Opens a poll set whose close gives the reference on *parent, the domain's, back. */
int ofi_poll_open(const struct fi_provider *prov, struct ofi_ref *parent,
		  const struct fi_poll_attr *attr, struct fid_poll **set);

#endif
