/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams without locks, for applications that serialize. */
#define VRB_BARE
#include "dgram_msg.c" /* the same source */
