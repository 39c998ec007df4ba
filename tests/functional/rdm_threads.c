/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threading levels are granted as requested; with FI_THREAD_SAFE, threads post to one endpoint and
 * read one queue.
 */
#include "rdm.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 3, MESSAGES = 60 };

static struct rdm_pair pair;
static unsigned int sent, received; /* atomic */
static enum fi_threading level;

static void ask(struct fi_info *hints)
{
	hints->domain_attr->threading = level;
}

static void levels(void)
{
	static const enum fi_threading all[] = { FI_THREAD_SAFE, FI_THREAD_FID, FI_THREAD_ENDPOINT,
						 FI_THREAD_COMPLETION, FI_THREAD_DOMAIN };
	struct fi_info *hints = fi_allocinfo(), *info;
	size_t i;

	CHECK(hints);
	hints->ep_attr->type = FI_EP_RDM;
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		hints->domain_attr->threading = all[i];
		OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
		EQUAL(info->domain_attr->threading, all[i]);
		fi_freeinfo(info);
	}
	fi_freeinfo(hints);
}

static bool read_one(int side, unsigned int *count)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(pair.side[side].cq, &entry, 1);

	if (ret == -FI_EAGAIN) {
		sched_yield();
		return false;
	}
	RETURNS(ret, 1);
	__atomic_add_fetch(count, 1, __ATOMIC_RELEASE);
	return true;
}

/* Each sends and receives its own tags, and reads both queues for all. */
static void *work(void *arg)
{
	uint64_t tag = (uintptr_t)arg << 32, out[MESSAGES], in[MESSAGES], end;
	ssize_t ret;
	bool some;
	int i;

	for (i = 0; i < MESSAGES; i++) {
		out[i] = tag + (uint64_t)i;
		OK(fi_trecv(pair.side[1].ep, &in[i], 8, NULL, FI_ADDR_UNSPEC, out[i], 0, NULL));
		while ((ret = fi_tsend(pair.side[0].ep, &out[i], 8, NULL, pair.side[0].peer, out[i],
				       NULL)) == -FI_EAGAIN)
			read_one(0, &sent);
		OK(ret);
		read_one(1, &received);
	}
	end = deadline();
	while (__atomic_load_n(&received, __ATOMIC_ACQUIRE) < THREADS * MESSAGES ||
	       __atomic_load_n(&sent, __ATOMIC_ACQUIRE) < THREADS * MESSAGES) {
		some = read_one(0, &sent);
		some = read_one(1, &received) || some;
		if (some)
			end = deadline();
		else
			pause_until(end, "all messages");
	}
	for (i = 0; i < MESSAGES; i++)
		CHECK(in[i] == out[i]);
	return NULL;
}

/* This is not tested here, and is slow where threads spin. */
static void connect_first(void)
{
	OK(fi_trecv(pair.side[1].ep, NULL, 0, NULL, FI_ADDR_UNSPEC, 0, 0, NULL));
	OK(fi_tsend(pair.side[0].ep, NULL, 0, NULL, pair.side[0].peer, 0, NULL));
	rdm_wait(&pair, 1);
	rdm_wait(&pair, 0);
}

static void test(void)
{
	struct rdm_change change = { .hints = ask, .wait = FI_WAIT_NONE };
	pthread_t thread[THREADS];
	uintptr_t i;

	levels();
	level = FI_THREAD_SAFE;
	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	connect_first();
	for (i = 0; i < THREADS; i++)
		OK(pthread_create(&thread[i], NULL, work, (void *)(i + 1)));
	for (i = 0; i < THREADS; i++)
		OK(pthread_join(thread[i], NULL));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
