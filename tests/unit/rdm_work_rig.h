/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint whose work waits for a counter, and whose calls are only recorded. */
#ifndef RDM_WORK_RIG_H
#define RDM_WORK_RIG_H

#include "unit.h"
#include "prov/base/cntr.h"
#include "prov/base/cq_ring.h"
#include "prov/verbs/provider/prov.h"
#include "prov/rdm/rdm.h"
#include "prov/rdm/work.h"

enum { WORK_LISTS = OFI_RDM_PROTO_IOV };

/* A recorded call: its arrays, and the bytes that it sends. */
struct work_call {
	enum fi_op_type type;
	uint64_t flags, mark;
	struct fi_msg_tagged msg;
	struct fi_msg_rma rma;
	struct ofi_atomic_args atomic;
	struct iovec iov[WORK_LISTS];
	void *desc[WORK_LISTS];
	struct fi_rma_iov rma_iov[WORK_LISTS];
	struct fi_rma_ioc rma_ioc[WORK_LISTS];
	struct fi_ioc ioc[WORK_LISTS], compare[WORK_LISTS], result[WORK_LISTS];
	uint8_t bytes[64];
};

extern struct ofi_rdm_ep work_ep;
extern struct ofi_domain work_domain;
extern struct fi_info work_info;
/*
 * The counters that work waits for, that count its completions, and that count the endpoint's
 * receives.
 */
extern struct ofi_cntr work_when, work_to, work_received;

extern struct work_call work_made; /* the last call */
extern unsigned int work_checks, work_calls;
extern ssize_t work_check_ret, work_call_ret;
extern int work_lend_ret;
extern unsigned int work_watches; /* number of watched completion counters */

/* The last entry or completion, and their number. */
extern struct ofi_cq_item work_put;
extern struct ofi_rdm_cq *work_put_to;
extern unsigned int work_entries, work_completions;

extern int work_fail_at; /* which allocation from now on fails; 0 for none */

int work_begin(void **state);
/* Drops waiting work. */
int work_end(void **state);
/* Advances the counter and reads it. */
void work_count(uint64_t n);

#endif
