/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each call of libibverbs fails in turn. */
#include <stddef.h>
#include "run.h"

int main(int argc, char **argv)
{
	static const char *const functions[] = {
		"ibv_fork_init",       "ibv_get_device_list",
		"ibv_open_device",     "ibv_query_device",
		"ibv_query_port",      "ibv_query_pkey",
		"ibv_alloc_pd",	       "_ibv_query_gid_table",
		"ibv_reg_mr",	       "ibv_reg_mr_iova2",
		"ibv_create_cq",       "ibv_create_comp_channel",
		"ibv_resize_cq",       "ibv_get_cq_event",
		"ibv_create_qp",       "ibv_modify_qp",
		"ibv_get_async_event", "ibv_post_send",
		"ibv_post_recv",       "ibv_req_notify_cq",
		"ibv_create_ah",       "ibv_attach_mcast",
		"ibv_create_srq",      "ibv_modify_srq",
		"ibv_post_srq_recv",   NULL,
	};

	return run_faults(argc, argv, functions);
}
