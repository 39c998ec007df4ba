/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounded waits. Time in which the process itself is stopped hardly counts, because what it waits
 * for may need it to run.
 */
#ifndef OFI_PATIENCE_H
#define OFI_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* The caller sets the limit, at least 10 ms; the rest is 0 when the wait begins. */
struct ofi_patience {
	uint32_t ms, spent;
	uint64_t last; /* time of the last call */
};

/*
 * Returns true once the time is over. The first call begins it. The caller polls: of the time
 * between two calls at most 50 ms and a tenth of the limit count.
 */
bool ofi_patience_over(struct ofi_patience *patience);

#endif
