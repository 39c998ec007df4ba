/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint whose work waits for a counter, and whose calls are only noted. */
#ifndef RDM_WORK_RIG_H
#define RDM_WORK_RIG_H

#include "unit.h"
#include "prov/base/cntr.h"
#include "prov/base/cq_ring.h"
#include "prov/verbs/provider/prov.h"
#include "prov/rdm/rdm.h"
#include "prov/rdm/work.h"

enum { WORK_LISTS = OFI_RDM_PROTO_IOV };

/* A call as it was made: its arrays, and the bytes of what it sends, one after the other. */
struct work_call {
	enum fi_op_type type;
	uint64_t flags, mark;
	struct fi_msg_tagged msg;
	struct fi_msg_rma rma;
	struct ofi_rdm_atomic_args atomic;
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
/* What work waits for, completes to, and what the endpoint counts receives with. */
extern struct ofi_cntr work_when, work_to, work_received;

extern struct work_call work_made; /* the last one */
extern unsigned int work_checks, work_calls;
extern ssize_t work_check_ret, work_call_ret;
extern int work_lend_ret;

/* The last entry or completion, and how many. */
extern struct ofi_cq_item work_put;
extern struct ofi_rdm_cq *work_put_to;
extern unsigned int work_entries, work_completions;

extern int work_fail_at; /* which allocation from now on fails; 0: none */

int work_begin(void **state);
/* What waits is dropped. */
int work_end(void **state);
/* The counter goes on, and somebody looks. */
void work_count(uint64_t n);

#endif
