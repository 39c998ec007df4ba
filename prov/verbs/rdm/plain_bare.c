/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends, receives and writes without locks, where the application serializes. */
#define VRB_BARE
#include "plain.c" /* the same source */
