/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks the quality of service of RoCE: the default DSCP of connections, and flow control. */
#ifndef DOCTOR_ROCE_H
#define DOCTOR_ROCE_H

#include <stdint.h>

#include "doctor_port.h"

/* What an interface says about its priorities. */
struct doctor_dcb {
	uint8_t pfc; /* priorities with flow control (PFC), one bit for each */
	bool dscp;   /* some DSCP have a priority */
};

void doctor_roce_check(struct doctor *doctor, const struct doctor_ports *ports);
/* Reports on an interface; dcb is NULL if it says nothing. */
void doctor_roce_dcb(struct doctor *doctor, const char *netdev, const struct doctor_dcb *dcb);

#endif
