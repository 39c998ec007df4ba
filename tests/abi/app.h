/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef APP_H
#define APP_H

#include <stdint.h>

/*
 * Connects two verbs endpoints on WEFT_ADDR and sends messages both ways. Returns 0, or 1 after
 * printing a message.
 */
int app_run(uint32_t api);

#endif
