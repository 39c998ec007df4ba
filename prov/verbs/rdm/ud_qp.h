/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoint's queue pair for datagrams, private to ud*.c. */
#ifndef VRB_RDM_UD_QP_H
#define VRB_RDM_UD_QP_H

#include "ud_int.h"

/* Logs a failure while the endpoint opens. Returns -FI_E*. */
int vrb_ud_open_failed(const char *call, int err);
/* Creates and starts the queue pair. Returns 0 or -FI_E*. */
int vrb_ud_qp_open(struct vrb_ud *all);
/* Called when posting or a work request has failed: the queue pair may be in the error state. */
void vrb_ud_qp_check(struct vrb_ud *all);
/* The same for a receive. Returns true if it stays here, false if it is to be posted again. */
bool vrb_ud_recv_failed(struct vrb_ud *all, struct ibv_recv_wr *wr);

#endif
