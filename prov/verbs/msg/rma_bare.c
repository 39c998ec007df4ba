/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RMA without locks, for applications that serialize. */
#define VRB_BARE
#include "rma.c" /* the same source */
