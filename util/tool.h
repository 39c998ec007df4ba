/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tools share: their name, the library's messages, providers that are not there. */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * First in main(): messages begin with the tool's name and no directory. Unless the user asks for a
 * log, the library's warnings are printed the same way.
 */
void tool_start(char **argv);
/* The version of the interface that both the tool and the library know. */
uint32_t tool_api_version(void);
/* Is there a provider of this name, or any for NULL? If not, text says what there is. */
bool tool_has_provider(const char *wanted, char *text, size_t len);

#endif
