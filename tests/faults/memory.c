/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each allocation fails in turn. */
#include <stdlib.h>
#include "run.h"

int main(int argc, char **argv)
{
	static const char *const functions[] = {
		"malloc",  "calloc",	    "realloc",	 "strdup",
		"strndup", "aligned_alloc", "vasprintf", NULL,
	};

	/* Without the memory of statistics queues are on the heap. */
	setenv("FI_STATS", "0", 1);
	return run_faults(argc, argv, functions);
}
