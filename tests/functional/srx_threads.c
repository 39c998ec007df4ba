/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_THREAD_SAFE: threads post to one shared receive context while others send to its endpoints and
 * read its two completion queues, and endpoints come and go. Each message arrives once.
 */
#include <pthread.h>
#include "links.h"

#define LINKS	4
#define THREADS 6
#define SLOTS	64
#ifdef __SANITIZE_THREAD__
#define EACH 150
#else
#define EACH 600
#endif

static struct setup setup = { .buf_size = 16384,
			      .srx_size = SLOTS,
			      .tx_bind = FI_SELECTIVE_COMPLETION };
static struct end end = { .setup = &setup, .sock = -1 };
static struct link links[LINKS];
static struct fid_cq *cqs[2];
static unsigned int sent, arrived; /* atomic */

/* Sends while there is something to send, reads a CQ, and posts again what it has read. */
static void *work(void *arg)
{
	size_t me = (size_t)arg;
	struct fi_cq_tagged_entry entries[4];
	uint64_t limit = deadline();
	ssize_t i, n;

	while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < LINKS * EACH) {
		if (__atomic_fetch_add(&sent, 1, __ATOMIC_RELAXED) < LINKS * EACH)
			while (AGAIN(limit, fi_inject(links[me % LINKS].from, &me, sizeof(me), 0)))
				;
		n = fi_cq_read(cqs[me % 2], entries, ARRAY_SIZE(entries));
		if (n == -FI_EAGAIN) {
			pause_until(limit, "all messages");
			continue;
		}
		CHECK(n > 0);
		for (i = 0; i < n; i++) {
			EQUAL(entries[i].flags, FI_MSG | FI_RECV);
			while (AGAIN(limit, fi_recv(end.srx, entries[i].op_context, 64, end.desc, 0,
						    entries[i].op_context)))
				;
		}
		__atomic_add_fetch(&arrived, (unsigned int)n, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* An endpoint on the same queues to which nobody connects. */
static void *come_and_go(void *arg)
{
	struct fi_info *info = arg;
	struct fid_ep *ep;

	while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < LINKS * EACH) {
		ep = end_ep(&end, info);
		CHECK(fi_rx_size_left(end.srx) <= SLOTS);
		OK(fi_close(&ep->fid));
		sleep_ms(1);
	}
	return NULL;
}

static void test(void)
{
	pthread_t threads[THREADS + 1];
	struct fi_info *info;
	struct place place;
	size_t i;

	end_listen(&end, local_addr(), &place);
	info = fi_dupinfo(end.info);
	cqs[0] = end.rxcq;
	cqs[1] = end_cq(&end, &(struct fi_cq_attr){ .format = FI_CQ_FORMAT_TAGGED });
	for (i = 0; i < LINKS; i++) {
		end.rxcq = cqs[i % 2];
		link_open(&end, &place, &links[i], NULL, NULL);
	}
	for (i = 0; i < SLOTS; i++)
		OK(fi_recv(end.srx, end.buf + i * 64, 64, end.desc, 0, end.buf + i * 64));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
	CHECK(!pthread_create(&threads[THREADS], NULL, come_and_go, info));
	for (i = 0; i <= THREADS; i++)
		pthread_join(threads[i], NULL);
	EQUAL(arrived, LINKS * EACH);
	EQUAL(fi_rx_size_left(end.srx), 0);
	for (i = 0; i < LINKS; i++)
		link_close(&links[i]);
	OK(fi_close(&cqs[1]->fid));
	end.rxcq = cqs[0];
	fi_freeinfo(info);
	end_close(&end);
}

int main(void)
{
	setup.format = FI_CQ_FORMAT_TAGGED;
	return run_test(test);
}
