/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each call of librdmacm fails in turn. */
#include <stddef.h>
#include "run.h"

int main(int argc, char **argv)
{
	static const char *const functions[] = {
		"rdma_create_event_channel",
		"rdma_create_id",
		"rdma_set_option",
		"rdma_bind_addr",
		"rdma_listen",
		"rdma_resolve_addr",
		"rdma_resolve_route",
		"rdma_connect",
		"rdma_accept",
		"rdma_establish",
		"rdma_reject",
		"rdma_disconnect",
		"rdma_notify",
		"rdma_init_qp_attr",
		"rdma_get_cm_event",
		"rdma_join_multicast",
		"rdma_getaddrinfo",
		NULL,
	};

	return run_faults(argc, argv, functions);
}
