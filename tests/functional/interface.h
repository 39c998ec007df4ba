/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A table of what of the interface there is: rows of names, a column for each kind of endpoint. */
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

/* The kind of endpoint that is tried. */
extern enum fi_ep_type kind;

/* The result of what was tried with this kind: a row of the section. */
void tried(const char *section, const char *name, long ret);

struct fi_info *hints_of_kind(void);

/* Tries a value by the name that the library has for it; each_*: all that have names. */
typedef void try_value(uint64_t value, const char *name);

void named(enum fi_type type, uint64_t value, try_value *try);
void each_bit(enum fi_type type, try_value *try);
void each_number(enum fi_type type, try_value *try);

/* Each tries all of one kind of endpoint. */
void try_attributes(void);
void try_calls(void);
void try_core(void);
void try_datatypes(struct fid_domain *domain);
/* Their own calls, with no endpoint. */
void try_waits(struct fid_fabric *fabric, struct fid_domain *domain, struct fid_cq *cq,
	       struct fid_cntr *cntr);

#endif
