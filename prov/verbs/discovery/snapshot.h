/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The snapshot that calls of fi_getinfo share as long as the machine does not change. */
#ifndef VRB_SNAPSHOT_H
#define VRB_SNAPSHOT_H

#include <stdbool.h>
#include "device.h"

/*
 * Gives the last snapshot if nothing has changed since, else, or if it is to be fresh, takes one.
 * It does not change while it is held. 0 or -FI_E*.
 */
int vrb_snapshot_get(bool fresh, const struct vrb_snapshot **snapshot);
void vrb_snapshot_put(const struct vrb_snapshot *snapshot);
/* The next one will be fresh. */
void vrb_snapshot_forget(void);

#endif
