/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A poll set: completion queues and counters of a domain that are polled in one call. */
#ifndef OFI_POLL_H
#define OFI_POLL_H

#include <rdma/fi_eq.h>
#include <rdma/providers/fi_prov.h>
#include "domain.h"

/* Opens a poll set; closing it releases a reference on the domain. */
int ofi_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **set);

#endif
