/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading completions without locks, for applications that serialize. */
#define VRB_BARE
#include "cq_read.c" /* the same source */
