/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads read the queues of two endpoints while others send, and post to the receive context that
 * the endpoints share: each message arrives once.
 */
#include "rdm_srx.h"

#include <pthread.h>

enum { COUNT = 300, LEN = 32 };

static uint8_t in[2 * COUNT][LEN];
static struct srx_scene scene;
static unsigned int got; /* atomic */
static bool seen[2 * COUNT];

static void *post(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 2 * COUNT; i++)
		while (fi_trecv(scene.srx, in[i], LEN, NULL, FI_ADDR_UNSPEC, 0, ~0ULL, in[i]))
			;
	return NULL;
}

static void *send_all(void *arg)
{
	int which = *(int *)arg, i, n = 0;
	struct fi_cq_tagged_entry entries[8];
	uint64_t end = deadline();
	ssize_t ret;

	for (i = 0; i < COUNT; i++)
		while ((ret = fi_tsend(scene.ep[which], &scene, LEN, NULL, scene.addr[i % 2],
				       (uint64_t)((which - SRX_X) * COUNT + i), NULL))) {
			RETURNS(ret, -FI_EAGAIN);
			fi_cq_read(scene.cq[which], NULL, 0);
			pause_until(end, "room to send");
		}
	for (; n < COUNT; pause_until(end, "sends to complete")) {
		ret = fi_cq_read(scene.cq[which], entries, 8);
		n += ret > 0 ? (int)ret : 0;
		CHECK(ret > 0 || ret == -FI_EAGAIN);
	}
	return NULL;
}

static void *read_one(void *arg)
{
	int which = *(int *)arg;
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while (__atomic_load_n(&got, __ATOMIC_RELAXED) < 2 * COUNT) {
		ret = fi_cq_read(scene.cq[which], &entry, 1);
		if (ret == -FI_EAGAIN) {
			pause_until(end, "messages");
			continue;
		}
		RETURNS(ret, 1);
		CHECK(entry.tag < 2 * COUNT && (int)(entry.tag % COUNT % 2) == which);
		CHECK(!__atomic_exchange_n(&seen[entry.tag], true, __ATOMIC_RELAXED));
		__atomic_add_fetch(&got, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void test(void)
{
	void *(*const work[])(void *) = { read_one, read_one, send_all, send_all, post };
	int which[] = { SRX_A, SRX_B, SRX_X, SRX_Y, 0 };
	pthread_t threads[ARRAY_SIZE(work)];
	size_t i;

	srx_open(&scene, FI_MSG | FI_TAGGED);
	for (i = 0; i < ARRAY_SIZE(work); i++)
		CHECK(!pthread_create(&threads[i], NULL, work[i], &which[i]));
	for (i = 0; i < ARRAY_SIZE(work); i++)
		CHECK(!pthread_join(threads[i], NULL));
	srx_close(&scene);
}

int main(void)
{
	return run_test(test);
}
