/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source address of an endpoint whose fi_info has none. */
#ifndef VRB_SOURCE_H
#define VRB_SOURCE_H

#include <rdma/fabric.h>

struct vrb_domain;

/*
 * If an endpoint's fi_info has no source address, sets the domain's, or else the one that
 * fi_getinfo offers first for its device. Returns 0, or logs and returns -FI_E*.
 */
int vrb_source_choose(const struct vrb_domain *domain, struct fi_info *info);

#endif
