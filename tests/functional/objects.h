/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One object of each class, for programs that exercise all calls. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

extern struct fi_info *info;
extern struct fid_fabric *fabric;
extern struct fid_domain *domain;
extern struct fid_eq *eq;
extern struct fid_cq *cq;
extern struct fid_cntr *cntr;
extern struct fid_av *av;
extern struct fid_mr *mr;
extern struct fid_pep *pep; /* NULL if the endpoint type has none */
extern struct fid_ep *ep;   /* bound and enabled */

/* Closes all of them and frees info. */
void close_objects(void);

#endif
