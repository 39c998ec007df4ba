/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading a CQ without locks, where the application serializes. */
#define VRB_BARE
#include "read.c" /* the same source */
