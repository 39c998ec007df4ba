/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which process this is, for objects that a forked child inherits and must leave alone. */
#ifndef OFI_PROCESS_H
#define OFI_PROCESS_H

#include <stdint.h>

/*
 * Returns a number that no process has from which this one was forked, and never 0. A process ID is
 * not enough: a process and its child have the same one if each is the first of a PID namespace.
 */
uint64_t ofi_process(void);

#endif
