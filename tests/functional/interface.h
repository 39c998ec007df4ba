/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A table of the supported parts of the interface: a row per name, a column per endpoint type. */
#ifndef INTERFACE_H
#define INTERFACE_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include "check.h"

/* The endpoint type being tried. */
extern enum fi_ep_type kind;

/* Records the result of a try with this type in a row of the section. */
void tried(const char *section, const char *name, long ret);

struct fi_info *hints_of_kind(void);

/* Tries a value under the library's name for it; each_* calls it for all named values. */
typedef void try_value(uint64_t value, const char *name);

void named(enum fi_type type, uint64_t value, try_value *try);
void each_bit(enum fi_type type, try_value *try);
void each_number(enum fi_type type, try_value *try);

/* Each tries all features of one kind. */
void try_attributes(void);
void try_calls(void);
void try_core(void);
void try_datatypes(struct fid_domain *domain);
/* Keys of a domain whose endpoints take them from address vectors, if there is one. */
void try_auth_keys(struct fid_fabric *fabric, struct fid_domain *domain);
/* Calls without an endpoint. */
void try_waits(struct fid_fabric *fabric, struct fid_domain *domain, struct fid_cq *cq,
	       struct fid_cntr *cntr);

#endif
