/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each allocation fails in turn, with objects under hooks. */
#include <stdlib.h>
#include "run.h"

int main(int argc, char **argv)
{
	static const char *const functions[] = { "malloc", "calloc", NULL };

	setenv("FI_HOOK", "noop", 1);
	return run_faults(argc, argv, functions);
}
