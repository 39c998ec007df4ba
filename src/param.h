/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's own parameters, in addition to those of providers (fi_prov.h). */
#ifndef OFI_PARAM_H
#define OFI_PARAM_H

#include <stdbool.h>

/*
 * Defines the core's parameters, and reads those that fi_getinfo needs each time, because getenv()
 * must not be called while another thread changes the environment. Warns of values that are invalid
 * or have no effect, and of FI_* variables whose spelling is close to that of one of them.
 */
void ofi_param_init(void);
/* Returns FI_ADDR_FORMAT, or NULL if it is unset or not a format. */
const char *ofi_param_addr_format(void);
/* Returns FI_GETINFO_EXPLAIN. */
bool ofi_param_explain(void);
/* Warns of entries in libfabric.conf for parameters that the provider has not defined. */
void ofi_param_check_file(const char *prov);
/* Returns true if the core or a provider has defined the variable. */
bool ofi_param_defined(const char *env);
void ofi_param_fini(void);

#endif
