/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The side of struct ofi_bias that pays: a barrier in each thread of the process, and waiting. */
#include "bias.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BIAS_YIELDS = 2, BIAS_SETTLE_NS = 10000000 };
enum { BIAS_NAP_NS = 50000, BIAS_NAP_MAX_NS = 10000000 };

__thread bool ofi_bias_outside;

static bool membarrier(int command)
{
	return !syscall(SYS_membarrier, command, 0, 0);
}

bool ofi_bias_init(void)
{
	int saved = errno;
	bool ok = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);

	errno = saved;
	return ok;
}

static void bias_nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/*
 * After the barrier either the owner's store is seen here, or its load behind that sees ours. If a
 * filter forbids the call by now, what processors have not made visible yet is so long before the
 * end of a nap.
 */
static void bias_settle(void)
{
	if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		bias_nap(BIAS_SETTLE_NS);
}

/*
 * The owner may be off the processor. The naps get longer, since on a host with more threads than
 * processors each of them takes time from the owner that it waits for.
 */
void ofi_bias_shut(struct ofi_bias *bias)
{
	long nap = BIAS_NAP_NS;
	int saved = errno, i;

	__atomic_store_n(&bias->shut, 1, __ATOMIC_RELAXED);
	bias_settle();
	for (i = 0; __atomic_load_n(&bias->inside, __ATOMIC_ACQUIRE); i++) {
		if (i < BIAS_YIELDS) {
			sched_yield();
			continue;
		}
		bias_nap(nap);
		if (nap < BIAS_NAP_MAX_NS)
			nap *= 2;
	}
	errno = saved;
}
