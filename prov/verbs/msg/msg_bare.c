/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages without locks, for applications that serialize. */
#define VRB_BARE
#include "msg.c" /* the same source */
