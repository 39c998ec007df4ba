/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Checks whether the kernel has what RDMA needs: modules, a device, interfaces of known versions.
 */
#ifndef DOCTOR_KERNEL_H
#define DOCTOR_KERNEL_H

#include "doctor.h"

void doctor_kernel(struct doctor *doctor);

#endif
