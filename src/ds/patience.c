/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Bounded waits. */
#include "clock.h"
#include "patience.h"

#define MOST_MS 50

bool ofi_patience_over(struct ofi_patience *patience)
{
	uint32_t most = patience->ms / 10 < MOST_MS ? patience->ms / 10 : MOST_MS;
	uint64_t now = ofi_now_ms(), passed = patience->last ? now - patience->last : 0;

	patience->last = now;
	patience->spent += passed < most ? (uint32_t)passed : most;
	return patience->spent >= patience->ms;
}
