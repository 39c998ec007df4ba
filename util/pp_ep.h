/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The libfabric objects of fi_pingpong: one endpoint, its queues and two buffers. */
#ifndef PP_EP_H
#define PP_EP_H

#include <stddef.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include "pp_ctrl.h"
#include "pp_options.h"

struct pp_ep {
	const struct pp_options *opts;
	struct pp_ctrl *ctrl;
	struct fi_info *hints;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fid_domain *domain;
	struct fid_cq *txcq;
	struct fid_cq *rxcq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct fid_mr *mr;
	void *mr_desc;
	fi_addr_t peer;
	size_t prefix;	 /* bytes before each message that belong to the provider */
	size_t buf_size; /* size of one buffer, including the prefix */
	char *buf;	 /* both buffers; of the device with -D */
	char *stage;	 /* with -D, a copy of the message that the processor may access */
	char *tx_buf;
	char *rx_buf;
	struct fi_context2 tx_context;
	struct fi_context2 rx_context;
};

/* Checks that something matches the options before contacting a peer. */
int pp_ep_probe(struct pp_ep *ep, const struct pp_options *opts);
/* Opens everything up to an endpoint that can send, with one receive posted. */
int pp_ep_open(struct pp_ep *ep, struct pp_ctrl *ctrl);
/* Accepts a partially opened or zeroed structure. */
void pp_ep_close(struct pp_ep *ep);

#endif
