/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints with counters on the fake device: the rig's, with one counter for each kind of
 * operation.
 */
#ifndef CNTR_RIG_H
#define CNTR_RIG_H

#include "verbs_rig.h"

enum { CNT_TX, CNT_RX, CNT_RD, CNT_WR, CNT_KINDS };

extern struct fid_cntr *cnt_cntrs[CNT_KINDS];
extern char cnt_context[64], cnt_word[8];

struct fid_cntr *cnt_open_cntr(struct rig *rig, enum fi_wait_obj obj);
void cnt_open_cntrs(struct rig *rig);
void cnt_bind_cntrs(struct fid_ep *ep);
/* Enables and connects rig->ep. */
void cnt_ready(struct rig *rig);
/* Opens an endpoint with both CQs and all counters. */
void cnt_open_all(struct rig *rig);
/* The same without completion queues. */
void cnt_open_bare(struct rig *rig);
/* Closes the endpoint and the counters. */
void cnt_close_all(struct rig *rig);
/* Checks the values of the counters. */
void cnt_expect(uint64_t tx, uint64_t rx, uint64_t rd, uint64_t wr);
void cnt_complete(struct rig *rig, unsigned int n);
void cnt_post_recv(struct rig *rig, int i);
void cnt_complete_recv(struct rig *rig, const uint32_t *imm, enum ibv_wc_opcode opcode);

#endif
