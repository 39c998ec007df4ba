/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The provider's identity, its run-time parameters, and its fi_info. Everything else, from
 * fi_getinfo to the data path, is that of prov/verbs.
 */
#ifndef EFA_H
#define EFA_H

#include <stddef.h>
#include "prov/base/params.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/provider/prov.h"

extern struct fi_provider efa_prov;
extern const struct vrb_kind efa_kind;

/* Holds the values of the parameters. */
extern struct vrb_params efa_params;
extern const struct ofi_param efa_param_table[];
extern const size_t efa_param_count;
void efa_params_init(void);

int efa_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info);

#endif
