/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics without locks, for applications that serialize. */
#define VRB_BARE
#include "atomic.c" /* the same source */
