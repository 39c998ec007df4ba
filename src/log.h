/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's own log messages, and how an application replaces the log. */
#ifndef OFI_LOG_H
#define OFI_LOG_H

#include <rdma/fabric.h>
#include <rdma/providers/fi_log.h>

/* The provider under whose name the core logs; it has only a name. */
extern const struct fi_provider ofi_core_prov;

/* Implements fi_open("logging"): opens an object that can import one struct fid_logging. */
int ofi_log_open(void *attr, size_t attr_len, uint64_t flags, struct fid **fid, void *context);
void ofi_log_fini(void);

#endif
