/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the rows of FI_EP_RDM have in common. */
#ifndef BENCH_INSTRUCTIONS_RDM_H
#define BENCH_INSTRUCTIONS_RDM_H

#include "instructions.h"

#define TAG 100000

enum { A_TX, A_RX, B_TX, B_RX };

/* Waits for completions, and reads all four CQs meanwhile; nothing of it is to be counted. */
void rdm_wait_for(struct pair *pair, int which, int count);
void rdm_post_recv(struct pair *pair, uint64_t tag);
/* Tries again while there is no connection. */
void rdm_post_send(struct pair *pair, uint64_t tag);
/* The first time: sends one message, so that they are connected. */
void rdm_connect_both(struct pair *pair);

#endif
