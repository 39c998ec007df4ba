/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The address handles of an address vector: one per path, shared by all addresses with that path.
 */
#ifndef VRB_AV_PATH_H
#define VRB_AV_PATH_H

struct vrb_av;

/* Frees all address handles. */
void vrb_paths_fini(struct vrb_av *av);

#endif
