/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The traffic class of an entry, and the DSCP that its provider sends for it. */
#ifndef INFO_TCLASS_H
#define INFO_TCLASS_H

#include <stdint.h>
#include <stdio.h>
#include <rdma/fabric.h>

/* Parses the name of a class, or the number of a DSCP. Returns -1 after printing what is wrong. */
int info_tclass_parse(const char *text, uint32_t *tclass);
/* Prints one line, or nothing if no class was requested. */
void info_tclass_print(FILE *out, const struct fi_info *info);

#endif
