/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What libfabric offers on this host, and why not more. */
#ifndef DOCTOR_OFFER_H
#define DOCTOR_OFFER_H

#include <stdint.h>

#include <rdma/fabric.h>

#include "doctor.h"
#include "doctor_port.h"

void doctor_offer_check(struct doctor *doctor, const struct doctor_ports *ports);

/* The version of the API to ask for. */
uint32_t doctor_api(void);
/*
 * Hints of an application that leaves everything open but the endpoint type. NULL without memory.
 */
struct fi_info *doctor_hints(enum fi_ep_type type);
/* fi_getinfo; when nothing is offered text says why. */
int doctor_getinfo(const char *node, const char *service, uint64_t flags,
		   const struct fi_info *hints, struct fi_info **list, char *text, size_t len);

#endif
