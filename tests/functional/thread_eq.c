/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that wait on one event queue share its events: each event is read once. Others write
 * meanwhile.
 */
#include <pthread.h>
#include "steps.h"

#define THREADS 4
#define EACH	300

static struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };
static uint8_t seen[THREADS * EACH];
static unsigned int count;

static void *write_events(void *arg)
{
	struct fi_eq_entry entry = { 0 };
	static unsigned int next;
	struct fid_eq *eq = arg;
	int i;

	for (i = 0; i < EACH; i++) {
		entry.data = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
		RETURNS(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof(entry), 0), sizeof(entry));
	}
	return NULL;
}

static void *read_events(void *arg)
{
	struct fi_eq_entry entry;
	struct fid_eq *eq = arg;
	uint64_t limit = deadline();
	uint32_t event;
	ssize_t ret;

	while (__atomic_load_n(&count, __ATOMIC_RELAXED) < THREADS * EACH) {
		ret = fi_eq_sread(eq, &event, &entry, sizeof(entry), 50, 0);
		pause_until(limit, "all events");
		if (ret == -FI_EAGAIN)
			continue;
		RETURNS(ret, sizeof(entry));
		EQUAL(__atomic_fetch_add(&seen[entry.data], 1, __ATOMIC_RELAXED), 0);
		__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct fi_eq_attr attr = { .flags = FI_WRITE, .wait_obj = FI_WAIT_FD };
	pthread_t threads[2 * THREADS];
	struct fid_eq *eq;
	int i;

	end_open(&end, info_for(&setup, local_addr(), NULL, FI_SOURCE));
	OK(fi_eq_open(end.fabric, &attr, &eq, NULL));
	for (i = 0; i < 2 * THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, i % 2 ? write_events : read_events, eq));
	for (i = 0; i < 2 * THREADS; i++)
		pthread_join(threads[i], NULL);
	EQUAL(count, THREADS * EACH);
	OK(fi_close(&eq->fid));
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
