/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef APP_H
#define APP_H

#include <stdint.h>

/*
 * Connects two endpoints of verbs on WEFT_ADDR and sends messages both ways. 0, or 1 with a
 * message.
 */
int app_run(uint32_t api);

#endif
