/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The pointer that finds device memory interfaces; it stays NULL in modules that link none. */
#include "hmem_copy.h"

const struct ofi_hmem *(*ofi_hmem_finder)(const void *addr);
