/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For programs without device memory. */
#include "gpu.h"

const struct gpu *const gpu;
