/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Aliases of connected endpoints whose default flags include FI_TRIGGER. */
#ifndef VRB_ALIAS_TRIGGER_H
#define VRB_ALIAS_TRIGGER_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "ep.h"

/* An alias of a connected endpoint, with ops tables of its own. */
struct vrb_msg_alias {
	struct vrb_ep ep;
	struct fi_ops_msg msg;
	struct fi_ops_rma rma;
	struct fi_ops_atomic atomic;
};

/* Selects the ops tables of an alias: the endpoint's, or those that pass FI_TRIGGER on. */
void vrb_alias_set_tables(struct vrb_ep *alias);

#endif
