/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Aliases of connected endpoints whose default flags include FI_TRIGGER, and their calls. */
#ifndef VRB_ALIAS_TRIGGER_H
#define VRB_ALIAS_TRIGGER_H

#include "prov/base/ops.h"
#include "ep.h"

/* An alias of a connected endpoint, with ops tables of its own. */
struct vrb_msg_alias {
	struct vrb_ep ep;
	struct fi_ops_msg msg;
	struct fi_ops_rma rma;
	struct fi_ops_atomic atomic;
};

/*
 * Calls that become the fid's call with flags, with its default flags. Endpoints with FI_HMEM have
 * them, too.
 */
OFI_CALL(fi_ops_msg, send) vrb_call_send;
OFI_CALL(fi_ops_msg, senddata) vrb_call_senddata;
OFI_CALL(fi_ops_rma, write) vrb_call_write;
OFI_CALL(fi_ops_rma, writedata) vrb_call_writedata;
OFI_CALL(fi_ops_atomic, write) vrb_call_atomic_write;
OFI_CALL(fi_ops_atomic, readwrite) vrb_call_fetch;
OFI_CALL(fi_ops_atomic, compwrite) vrb_call_compare;

/* Selects the ops tables of an alias: the endpoint's, or those that pass FI_TRIGGER on. */
void vrb_alias_set_tables(struct vrb_ep *alias);

#endif
