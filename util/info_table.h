/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of fi_info: a line for each device and address, with the endpoint types that it has. */
#ifndef INFO_TABLE_H
#define INFO_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include <rdma/fabric.h>

#include "info_options.h"

struct info_table_style {
	unsigned int columns; /* the line should not be longer, if that is possible */
	bool colors;
};

/* Returns 0 or -FI_ENOMEM, and then has printed nothing. */
int info_table_print(FILE *out, const struct info_table_style *style,
		     const struct info_options *opts, const struct fi_info *list);

#endif
