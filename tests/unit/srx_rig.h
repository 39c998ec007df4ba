/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A shared receive context on the fake device, and endpoints bound to it. */
#ifndef SRX_RIG_H
#define SRX_RIG_H

#include "prov/verbs/msg/srx.h"
#include "verbs_rig.h"

enum { SRX_SIZE = 8, SRX_IOVS = 4 };

extern struct fid_ep *rig_srx;
extern struct fi_rx_attr srx_attr;     /* attributes it is opened with */
extern char srx_buf[64], srx_mark[64]; /* buffers; contexts */

void srx_open(struct rig *rig);	    /* opens one for SRX_SIZE receives, with CQs */
void srx_open_all(struct rig *rig); /* also opens rig->ep, which completes receives on cq[1] */
/* Returns a bound and connected endpoint that completes receives on rx_cq. */
struct fid_ep *srx_bound_ep(struct rig *rig, struct fid_cq *rx_cq);
struct fid_ep *srx_ep(struct rig *rig, struct fid_cq *rx_cq);
void srx_close_ep(struct fid_ep **ep);
struct fake_srq *srx_device(void);

int srx_post(void *context);
void srx_post_all(int first, int count); /* contexts are &srx_mark[first] and the following */
/* Lets the endpoint take the oldest receive: it completes, or fails. */
void srx_arrive(struct fid_ep *ep);
void srx_break(struct fid_ep *ep, enum ibv_wc_status status);

#endif
