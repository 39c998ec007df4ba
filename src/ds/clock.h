/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The clock of all timeouts and ages. */
#ifndef OFI_CLOCK_H
#define OFI_CLOCK_H

#include <stdint.h>

/* Returns the monotonic time in milliseconds. */
uint64_t ofi_now_ms(void);

#endif
