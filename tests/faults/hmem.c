/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * With memory of the fake GPU, registrations and allocations fail in turn: those of the
 * application, of its dma-buf, and of each long message.
 */
#include <stdlib.h>
#include "run.h"
#include "script.h"

int main(int argc, char **argv)
{
	static const char *const functions[] = { "ibv_reg_dmabuf_mr", "ibv_reg_mr",
						 "ibv_reg_mr_iova2", "calloc", NULL };

	setenv("FI_STATS", "0", 1);
	return run_faults_of(argc, argv, functions, script_hmem);
}
