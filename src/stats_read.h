/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The statistics of other processes. */
#ifndef OFI_STATS_READ_H
#define OFI_STATS_READ_H

#include <stddef.h>
#include <rdma/fabric.h>

/* Implements fi_open("stats"). */
int ofi_stats_open(void *attr, size_t attr_len, uint64_t flags, struct fid **fid, void *context);

#endif
