/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each allocation, each call of libibverbs and librdmacm and those for shared memory fail in turn
 * under reliable datagrams.
 */
#include <stdlib.h>
#include "run.h"
#include "script.h"

int main(int argc, char **argv)
{
	static const char *const functions[] = {
		"malloc",
		"calloc",
		"realloc",
		"ibv_reg_mr",
		"ibv_alloc_mw",
		"ibv_create_cq",
		"ibv_create_comp_channel",
		"ibv_create_srq",
		"ibv_create_qp",
		"ibv_modify_qp",
		"ibv_post_send",
		"ibv_post_srq_recv",
		"ibv_req_notify_cq",
		"rdma_create_id",
		"rdma_set_option",
		"rdma_bind_addr",
		"rdma_listen",
		"rdma_resolve_addr",
		"rdma_resolve_route",
		"rdma_connect",
		"rdma_accept",
		"rdma_establish",
		"rdma_disconnect",
		"rdma_init_qp_attr",
		"shm_open",
		"ftruncate",
		"posix_fallocate",
		"pthread_create",
		"epoll_create1",
		"epoll_ctl",
		"eventfd",
		"fcntl",
		NULL,
	};

	/* Without the memory of statistics queues are on the heap. */
	setenv("FI_STATS", "0", 1);
	/* Also soft-RoCE's, on which nothing is lost here. */
	setenv("FI_VERBS_RDM_USE_WINDOWS", "1", 1);
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "4000", 1);
	return run_faults_of(argc, argv, functions, script_rdm);
}
