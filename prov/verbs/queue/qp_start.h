/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Starting queue pairs for datagrams. */
#ifndef VRB_QP_START_H
#define VRB_QP_START_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

struct vrb_ud_port;

/*
 * Starts a UD queue pair. After an error it is reset, which discards its work requests, so none may
 * be outstanding. With `retries`, its device tries again once, not as often as it likes, while a
 * receiver is not ready. Returns 0 or an errno.
 */
int vrb_qp_to_rts(const struct vrb_ud_port *port, struct ibv_qp *qp, uint32_t qkey, bool retries);

#endif
