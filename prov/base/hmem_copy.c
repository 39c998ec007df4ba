/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the interface of device memory; modules that link no interface find none. */
#include "hmem_copy.h"

const struct ofi_hmem *(*ofi_hmem_finder)(const void *addr);
