/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common parts of the FI_EP_RDM rows. */
#ifndef BENCH_INSTRUCTIONS_RDM_H
#define BENCH_INSTRUCTIONS_RDM_H

#include "instructions.h"

#define TAG 100000

enum { A_TX, A_RX, B_TX, B_RX };

/* Waits for completions and reads all four CQs meanwhile, without counting. */
void rdm_wait_for(struct pair *pair, int which, int count);
void rdm_post_recv(struct pair *pair, uint64_t tag);
/* Retries while there is no connection. */
void rdm_post_send(struct pair *pair, uint64_t tag);
/* On the first call, sends one message so that the two are connected. */
void rdm_connect_both(struct pair *pair);

#endif
