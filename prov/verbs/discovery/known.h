/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process remembers what was found out about devices, because probes are slow and warnings are
 * not repeated.
 */
#ifndef VRB_KNOWN_H
#define VRB_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <infiniband/verbs.h>

/* These are the things known of a device. Each has a value of one size. */
enum {
	VRB_KNOWN_EFA,		    /* what efadv_query_device tells */
	VRB_KNOWN_INLINE = 0x100,   /* plus enum ibv_qp_type: the inline limit */
	VRB_KNOWN_WARNED = 0x10000, /* plus an errno: the failure was logged; no value */
};

/* Returns false if there is nothing; otherwise copies the value out. */
bool vrb_known_get(const char *name, __be64 guid, int what, void *value, size_t size);
/* Returns false when out of memory. */
bool vrb_known_set(const char *name, __be64 guid, int what, const void *value, size_t size);
void vrb_known_forget(void);

#endif
