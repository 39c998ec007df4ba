/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Buffers of FI_MULTI_RECV without locks, for applications that serialize. */
#define VRB_BARE
#include "multi_recv.c" /* the same source */
