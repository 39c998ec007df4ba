/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Under scalable endpoints, what is allocated, and the calls that open an index, fail in turn; for
 * all other calls see rdm.c.
 */
#include <stdlib.h>
#include "run.h"
#include "script.h"

int main(int argc, char **argv)
{
	static const char *const functions[] = { "calloc", "ibv_create_srq", "rdma_bind_addr",
						 NULL };

	setenv("FI_STATS", "0", 1);
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "4000", 1);
	setenv("FI_VERBS_RDM_RX_BUFFERS", "32", 1);
	setenv("FI_VERBS_RDM_BUFFER_SIZE", "2048", 1);
	return run_faults_of(argc, argv, functions, script_sep);
}
