/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's own parameters, beside what fi_prov.h has for providers. */
#ifndef OFI_PARAM_H
#define OFI_PARAM_H

#include <stdbool.h>

/*
 * Defines the core's parameters. Warns of values that are none or have no effect, and of FI_*
 * variables that are nearly one of them.
 */
void ofi_param_init(void);
/* FI_ADDR_FORMAT, NULL if it is not set or is no format. */
const char *ofi_param_addr_format(void);
/* Warns of what libfabric.conf has for a provider that the provider has not defined. */
void ofi_param_check_file(const char *prov);
/* Is a variable one that the core or a provider has defined? */
bool ofi_param_defined(const char *env);
void ofi_param_fini(void);

#endif
