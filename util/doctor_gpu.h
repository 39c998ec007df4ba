/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks whether RDMA devices can reach the memory of GPUs. */
#ifndef DOCTOR_GPU_H
#define DOCTOR_GPU_H

#include "doctor.h"

void doctor_gpu(struct doctor *doctor);

#endif
