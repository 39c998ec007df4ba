/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the examples of the manual pages use without declaring it. */
#ifndef SNIPPET_H
#define SNIPPET_H

#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_explain.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_stats.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_peer.h>
#include <rdma/providers/fi_prov.h>

enum { SNIPPET_LEN = 4096 };

/* For all examples that need a device. */
extern struct fi_info *hints, *info;

/* Of the example's own endpoint. */
extern struct fid_fabric *fabric;
extern struct fid_domain *domain;
extern struct fid_eq *eq; /* not for reliable datagrams */
extern struct fid_cq *cq; /* format FI_CQ_FORMAT_TAGGED */
extern struct fid_av *av; /* not for connected endpoints */
extern struct fid_ep *ep;
extern fi_addr_t peer, self;
extern struct fid_cntr *cntr; /* NULL; if an example opens it, it is closed after ep */
extern struct fid_mr *mr;     /* buf, with every access */
extern char *buf;	      /* SNIPPET_LEN bytes */
extern size_t len;	      /* SNIPPET_LEN */
extern void *desc;

/* Of the other endpoint, which is in the same process. */
extern struct fid_ep *peer_ep;
extern struct fid_cq *peer_cq;
extern char *peer_buf;
extern void *peer_desc;
extern uint64_t remote_addr, remote_key; /* peer_buf, for RMA */

/* An example returns 0, or a negative error number. */
struct example {
	const char *page;
	const char *where;
	int (*run)(void);
};

/* The last one has no page. */
extern const struct example examples[];

#endif
