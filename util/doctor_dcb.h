/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Asks the kernel for the flow control of a network interface, by netlink (DCB). */
#ifndef DOCTOR_DCB_H
#define DOCTOR_DCB_H

#include <stddef.h>

#include "doctor_roce.h"

/* Returns false if the interface or its driver has no DCB. */
bool doctor_dcb_read(const char *netdev, struct doctor_dcb *dcb);
/* Evaluates the answer. */
bool doctor_dcb_parse(const void *answer, size_t len, struct doctor_dcb *dcb);

#endif
