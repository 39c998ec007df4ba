/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common parts of the tools: their name, the library's messages, providers that do not exist. */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Call it first in main(): messages start with the tool's name without its directory. Unless the
 * user asks for a log, the library's warnings are printed the same way.
 */
void tool_start(char **argv);
/*
 * Call it last in main(). Returns the tool's exit status: the given one, or 1 instead of 0, with a
 * message, if output was lost.
 */
int tool_end(int status);
/* Returns the API version that both the tool and the library support. */
uint32_t tool_api_version(void);
/* Prints the versions of the tool and of the library that it has found. */
void tool_version(FILE *out);
/*
 * Returns true if a provider with this name exists, or any provider for NULL. Otherwise text lists
 * the existing ones.
 */
bool tool_has_provider(const char *wanted, char *text, size_t len);

#endif
