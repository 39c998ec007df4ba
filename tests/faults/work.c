/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each allocation and each call of libibverbs fails in turn during pending work of reliable
 * datagrams: triggered, deferred, fenced.
 */
#include <stdlib.h>
#include "run.h"
#include "script.h"

int main(int argc, char **argv)
{
	static const char *const functions[] = {
		"malloc",  "calloc",	    "realloc",	 "ibv_reg_mr", "ibv_post_send",
		"eventfd", "epoll_create1", "epoll_ctl", NULL,
	};

	setenv("FI_STATS", "0", 1);
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "4000", 1);
	setenv("FI_VERBS_RDM_RX_BUFFERS", "32", 1);
	setenv("FI_VERBS_RDM_BUFFER_SIZE", "2048", 1);
	return run_faults_of(argc, argv, functions, script_work);
}
