/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The snapshot that calls of fi_getinfo share while the machine does not change. */
#ifndef VRB_SNAPSHOT_H
#define VRB_SNAPSHOT_H

#include <stdbool.h>
#include "device.h"

/*
 * Returns the last snapshot if nothing has changed since; otherwise, or with `fresh`, takes a new
 * one. The snapshot does not change while it is held. Returns 0 or -FI_E*.
 */
int vrb_snapshot_get(bool fresh, const struct vrb_snapshot **snapshot);
void vrb_snapshot_put(const struct vrb_snapshot *snapshot);
/* Makes the next call take a new snapshot. */
void vrb_snapshot_forget(void);

#endif
