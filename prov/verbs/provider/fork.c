/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Keeps registered memory intact when the process forks. */
#include <pthread.h>
#include <string.h>
#include <infiniband/verbs.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov.h"

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Kernels that copy pinned pages at fork need nothing; on others this must be requested early. */
static void fork_init(void)
{
	int unsafe = 0, err;

	fi_param_get_bool(NULL, "fork_unsafe", &unsafe);
	if (unsafe || ibv_is_fork_initialized() != IBV_FORK_DISABLED)
		return;
	err = ibv_fork_init();
	if (err)
		FI_WARN(&vrb_prov, FI_LOG_FABRIC,
			"ibv_fork_init failed: %s: a child process may take registered memory away from this one; set RDMAV_FORK_SAFE=1 before it starts, or "
			"FI_FORK_UNSAFE=1 when it does not fork\n",
			strerror(err));
}

void vrb_fork_init(void)
{
	pthread_once(&fork_once, fork_init);
}
