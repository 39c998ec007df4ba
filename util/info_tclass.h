/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The traffic class of an entry, and the code point (DSCP) that its provider sends for it. */
#ifndef INFO_TCLASS_H
#define INFO_TCLASS_H

#include <stdint.h>
#include <stdio.h>
#include <rdma/fabric.h>

/* A name of a class, or the number of a code point. -1 after it has said what is wrong. */
int info_tclass_parse(const char *text, uint32_t *tclass);
/* One line, or nothing where no class was asked for. */
void info_tclass_print(FILE *out, const struct fi_info *info);

#endif
