/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receives without locks, for applications that serialize. */
#define VRB_BARE
#include "srx_recv.c" /* the same source */
