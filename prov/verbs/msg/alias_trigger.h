/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Aliases of connected endpoints whose default flags include FI_TRIGGER, and their calls. */
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

/*
 * Calls that become the fid's call with flags, with its default flags. Endpoints with FI_HMEM have
 * them, too.
 */
ssize_t vrb_call_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest,
		      void *context);
ssize_t vrb_call_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			  uint64_t data, fi_addr_t dest, void *context);
ssize_t vrb_call_write(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t dest,
		       uint64_t addr, uint64_t key, void *context);
ssize_t vrb_call_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
			   void *context);

/* Selects the ops tables of an alias: the endpoint's, or those that pass FI_TRIGGER on. */
void vrb_alias_set_tables(struct vrb_ep *alias);

#endif
