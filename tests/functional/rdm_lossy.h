/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of all sizes arrive once and in order, in both directions, over a network that loses,
 * delays, reorders or duplicates packets, also while the two hosts connect.
 */
#ifndef RDM_LOSSY_H
#define RDM_LOSSY_H

/* `how` is the network's behavior for netem, see tc-netem(8); NULL: it is good again. */
void lossy_shape(const char *how);
/* Returns the exit status. */
int lossy_run(const char *how);

#endif
