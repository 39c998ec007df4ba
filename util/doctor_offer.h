/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports what libfabric offers on this host, and why not more. */
#ifndef DOCTOR_OFFER_H
#define DOCTOR_OFFER_H

#include <stdint.h>

#include <rdma/fabric.h>

#include "doctor.h"
#include "doctor_port.h"

void doctor_offer_check(struct doctor *doctor, const struct doctor_ports *ports);

/* Returns the API version to request. */
uint32_t doctor_api(void);
/*
 * Returns hints of an application that specifies only the endpoint type; NULL when out of memory.
 */
struct fi_info *doctor_hints(enum fi_ep_type type);
/* Calls fi_getinfo; if nothing is offered, text explains why. */
int doctor_getinfo(const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **list, char *text, size_t len);

#endif
