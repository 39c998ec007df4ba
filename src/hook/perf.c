/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The perf hook measures calls in user-mode instructions or cycles of the CPU. Each thread has a
 * kernel counter, which is read without a system call if the CPU permits. If there is no counter,
 * time is measured instead.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "src/conf.h"
#include "src/log.h"
#include "src/ds/own_fd.h"
#include "src/ds/suggest.h"
#include <rdma/fi_errno.h>
#include "hook.h"

static const char *const kinds[] = { "cpu_instr", "cpu_cycles" };
static const uint64_t configs[] = { PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES };

static unsigned int kind;
static const char *unit = "ns"; /* one of kinds if there are counters */
static bool counters;		/* atomic */
static uint64_t overhead;	/* cost of measuring an empty call */
static pthread_key_t key;
static struct ofi_hook_site *sites; /* atomic */

static _Thread_local struct {
	bool tried;
	struct ofi_own_fd own;
	struct perf_event_mmap_page *page;
} counter = { .own = OFI_OWN_FD_INIT };

static void close_counter(void *unused)
{
	(void)unused;
	if (counter.page)
		munmap(counter.page, (size_t)sysconf(_SC_PAGESIZE));
	counter.page = NULL;
	ofi_own_fd_drop(&counter.own);
}

static void open_counter(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = configs[kind],
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	void *page;
	int fd;

	counter.tried = true;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (!ofi_own_fd_take(&counter.own, fd))
		return;
	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	counter.page = page == MAP_FAILED ? NULL : page;
	if (__atomic_load_n(&counters, __ATOMIC_RELAXED))
		pthread_setspecific(key, &counter);
}

#ifdef __x86_64__
static uint64_t rdpmc(uint32_t index)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	return low | (uint64_t)high << 32;
}

/*
 * Follows the protocol in the kernel's header. Returns false if the counter is not on this CPU now.
 */
static bool read_page(const struct perf_event_mmap_page *page, uint64_t *value)
{
	uint32_t sequence, index, shift;

	do {
		sequence = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		index = page->index;
		if (!page->cap_user_rdpmc || !index)
			return false;
		shift = 64 - page->pmc_width;
		*value = (uint64_t)page->offset +
			 (uint64_t)((int64_t)(rdpmc(index - 1) << shift) >> shift);
		__asm__ volatile("" : : : "memory"); /* keeps the order of loads on this CPU */
	} while (__atomic_load_n(&page->lock, __ATOMIC_RELAXED) != sequence);
	return true;
}
#else
static bool read_page(const struct perf_event_mmap_page *page, uint64_t *value)
{
	(void)page;
	(void)value;
	return false;
}
#endif

static uint64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t ofi_hook_perf_read(void)
{
	uint64_t value = 0;

	if (!__atomic_load_n(&counters, __ATOMIC_RELAXED))
		return nanoseconds();
	if (!counter.tried)
		open_counter();
	if (counter.own.fd < 0 || (counter.page && read_page(counter.page, &value)) ||
	    !ofi_own_fd_valid(&counter.own))
		return value;
	return read(counter.own.fd, &value, sizeof(value)) == sizeof(value) ? value : 0;
}

static void choose(void)
{
	const char *name = ofi_conf_get("FI_PERF_CNTR");

	if (!name || !*name)
		return;
	for (kind = 0; kind < 2 && strcasecmp(name, kinds[kind]); kind++)
		;
	if (kind < 2)
		return;
	kind = 0;
	FI_WARN(&ofi_core_prov, FI_LOG_CORE,
		"FI_PERF_CNTR=%s: takes cpu_instr or cpu_cycles%s; counting cpu_instr\n", name,
		ofi_did_you_mean(name, kinds, 2).text);
}

static void measure_overhead(void)
{
	uint64_t start, each;
	int i;

	overhead = UINT64_MAX;
	for (i = 0; i < 100; i++) {
		start = ofi_hook_perf_read();
		each = ofi_hook_perf_read() - start;
		overhead = each < overhead ? each : overhead;
	}
}

/*
 * The counter is that of the parent's thread. Its page is not unmapped, because the kernel gives
 * the child no copy of it.
 */
static void start_over(void)
{
	struct ofi_hook_site *site;

	ofi_own_fd_drop(&counter.own);
	counter.page = NULL;
	counter.tried = false;
	for (site = sites; site; site = site->next)
		site->calls = site->again = site->errors = site->sum = 0;
}

void ofi_hook_perf_open(void)
{
	int err;

	choose();
	pthread_atfork(NULL, NULL, start_over);
	counters = !pthread_key_create(&key, close_counter);
	open_counter();
	if (counter.own.fd < 0 || !counters) {
		err = errno;
		ofi_hook_perf_close();
		FI_WARN(&ofi_core_prov, FI_LOG_CORE,
			"FI_HOOK=perf: no counter %s: perf_event_open: %s; measuring time in ns instead%s\n",
			kinds[kind], strerror(err),
			err == EACCES || err == EPERM
				? " (sysctl kernel.perf_event_paranoid=2 permits counters)"
				: "");
	}
	if (counters)
		unit = kinds[kind];
	measure_overhead();
}

void ofi_hook_perf_close(void)
{
	if (!__atomic_exchange_n(&counters, false, __ATOMIC_RELAXED))
		return;
	close_counter(NULL);
	pthread_key_delete(key);
}

static void site_enlist(struct ofi_hook_site *site)
{
	struct ofi_hook_site *first = __atomic_load_n(&sites, __ATOMIC_RELAXED);

	if (__atomic_exchange_n(&site->listed, true, __ATOMIC_RELAXED))
		return;
	do {
		site->next = first;
	} while (!__atomic_compare_exchange_n(&sites, &first, site, false, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

void ofi_hook_perf_add(struct ofi_hook_site *site, uint64_t start, uint64_t now, ssize_t ret)
{
	if (!__atomic_load_n(&site->listed, __ATOMIC_RELAXED))
		site_enlist(site);
	__atomic_fetch_add(&site->calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&site->sum, now > start + overhead ? now - start - overhead : 0,
			   __ATOMIC_RELAXED);
	if (ret == -FI_EAGAIN)
		__atomic_fetch_add(&site->again, 1, __ATOMIC_RELAXED);
	else if (ret < 0)
		__atomic_fetch_add(&site->errors, 1, __ATOMIC_RELAXED);
}

static uint64_t perf_take(uint64_t *value)
{
	return __atomic_exchange_n(value, 0, __ATOMIC_RELAXED);
}

static void print_head(const char *when)
{
	ofi_hook_out(FI_LOG_INFO, "perf: process %d, at %s", (int)getpid(), when);
	ofi_hook_out(FI_LOG_INFO, "perf: %-22s %10s %10s %8s %14s %10s", "call", "calls", "again",
		     "errors", unit, "each");
}

void ofi_hook_perf_report(const char *when)
{
	struct ofi_hook_site *site;
	uint64_t calls, sum;
	bool any = false;

	for (site = __atomic_load_n(&sites, __ATOMIC_ACQUIRE); site; site = site->next) {
		calls = perf_take(&site->calls);
		sum = perf_take(&site->sum);
		if (!calls)
			continue;
		if (!any)
			print_head(when);
		any = true;
		ofi_hook_out(FI_LOG_INFO,
			     "perf: %-22s %10" PRIu64 " %10" PRIu64 " %8" PRIu64 " %14" PRIu64
			     " %10.1f",
			     site->name, calls, perf_take(&site->again), perf_take(&site->errors),
			     sum, (double)sum / (double)calls);
	}
}
