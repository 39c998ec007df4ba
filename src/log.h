/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's own log messages, and how an application replaces the log. */
#ifndef OFI_LOG_H
#define OFI_LOG_H

#include <rdma/fabric.h>
#include <rdma/providers/fi_log.h>

/* What the core logs as; has a name and nothing else. */
extern const struct fi_provider ofi_core_prov;

/* fi_open("logging"): an object that takes one import of a struct fid_logging. */
int ofi_log_open(void *attr, size_t attr_len, uint64_t flags, struct fid **fid, void *context);
void ofi_log_fini(void);

#endif
