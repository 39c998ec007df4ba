/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The expensive side of struct ofi_bias: a barrier in every thread of the process, then a wait. */
#include "bias.h"
#include "clock.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BIAS_YIELDS = 2, BIAS_SETTLE_NS = 10000000 };
enum { BIAS_COST_MAX = 200 };
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

static uint64_t bias_cost; /* atomic */

uint64_t ofi_bias_cost(void)
{
	return __atomic_load_n(&bias_cost, __ATOMIC_RELAXED);
}

static void bias_nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/*
 * The barrier interrupts the processors that run threads of the process, which takes microseconds,
 * unless they belong to a virtual machine and its host is busy.
 *
 * After the barrier, either the owner's store is visible here, or the owner's following load sees
 * ours. If a seccomp filter has forbidden the system call in the meantime, a nap is long enough for
 * all processors to make their stores visible.
 */
static void bias_settle(void)
{
	uint64_t start = ofi_now_ms(), cost;

	if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		bias_nap(BIAS_SETTLE_NS);
	cost = ofi_now_ms() - start;
	__atomic_store_n(&bias_cost, cost < BIAS_COST_MAX ? cost : BIAS_COST_MAX, __ATOMIC_RELAXED);
}

/* The owner stays out until the bias is opened, so one barrier is enough for several tries. */
bool ofi_bias_try_shut(struct ofi_bias *bias)
{
	int saved = errno;

	if (__atomic_load_n(&bias->shut, __ATOMIC_RELAXED) != OFI_BIAS_SHUT) {
		__atomic_store_n(&bias->shut, OFI_BIAS_SHUT, __ATOMIC_RELAXED);
		bias_settle();
	}
	errno = saved;
	return !__atomic_load_n(&bias->inside, __ATOMIC_ACQUIRE);
}

/*
 * The owner may be waiting for a processor. The naps get longer, because on a host with more
 * threads than processors each wake-up takes processor time from the owner that it waits for.
 */
void ofi_bias_shut(struct ofi_bias *bias)
{
	long nap = BIAS_NAP_NS;
	int saved = errno, i;

	for (i = 0; !ofi_bias_try_shut(bias); i++) {
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
