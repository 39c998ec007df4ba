/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's own parameters, beside what fi_prov.h has for providers. */
#ifndef OFI_PARAM_H
#define OFI_PARAM_H

/* Defines the core's parameters and warns of FI_* variables that are nearly one of them. */
void ofi_param_init(void);
void ofi_param_fini(void);

#endif
