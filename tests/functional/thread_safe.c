/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_THREAD_SAFE: eight threads post to one endpoint and poll one completion queue at the same
 * time. Each operation completes exactly once, in any of the threads, and has the correct effect.
 */
#include <pthread.h>
#include <stdlib.h>
#include <rdma/fi_atomic.h>
#include "steps.h"

#define THREADS 8
#ifdef __SANITIZE_THREAD__
#define EACH 100
#else
#define EACH 400
#endif
#define COUNT (THREADS * EACH)

typedef ssize_t post_fn(struct end *end, uint64_t number);

/* Posts numbers from 0 on in all threads until count are posted and complete. */
struct hammer {
	struct end *end;
	struct fid_cq *cq;
	post_fn *post;
	uint64_t next, done; /* atomic */
	uint8_t seen[COUNT]; /* atomic: how often a number has completed */
};

static void reap(struct hammer *hammer)
{
	struct fi_cq_tagged_entry entries[3];
	ssize_t i, n = fi_cq_read(hammer->cq, entries, ARRAY_SIZE(entries));

	if (n == -FI_EAGAIN)
		return;
	CHECK(n > 0);
	for (i = 0; i < n; i++) {
		CHECK((uint64_t)entries[i].op_context < COUNT);
		__atomic_add_fetch(&hammer->seen[(uint64_t)entries[i].op_context], 1,
				   __ATOMIC_RELAXED);
	}
	__atomic_add_fetch(&hammer->done, (uint64_t)n, __ATOMIC_RELAXED);
}

static void *hammer_thread(void *arg)
{
	struct hammer *hammer = arg;
	uint64_t number, limit = deadline();

	while ((number = __atomic_fetch_add(&hammer->next, 1, __ATOMIC_RELAXED)) < COUNT)
		while (AGAIN(limit, hammer->post(hammer->end, number)))
			reap(hammer);
	/* FI_MORE may hold back the last operation: this one ends the batch. */
	while (hammer->cq == hammer->end->cq &&
	       AGAIN(limit, fi_inject_write(hammer->end->ep, NULL, 0, 0, hammer->end->peer.addr,
					    hammer->end->peer.key)))
		reap(hammer);
	while (__atomic_load_n(&hammer->done, __ATOMIC_RELAXED) < COUNT) {
		reap(hammer);
		pause_until(limit, "all completions");
	}
	return NULL;
}

static void hammer_all(struct end *end, struct fid_cq *cq, post_fn *post)
{
	struct hammer *hammer = calloc(1, sizeof(*hammer));
	pthread_t threads[THREADS];
	size_t i;

	CHECK(hammer);
	hammer->end = end;
	hammer->cq = cq;
	hammer->post = post;
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, hammer_thread, hammer));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	EQUAL(hammer->done, COUNT);
	for (i = 0; i < COUNT; i++)
		EQUAL(hammer->seen[i], 1);
	free(hammer);
}

/* Writes, reads and fetch-and-adds in turn; some are held back by FI_MORE. */
static ssize_t post_rma(struct end *end, uint64_t number)
{
	uint64_t at = end->peer.addr + 4096 + number * 8, *own = (uint64_t *)end->buf + number;
	void *context = (void *)(uintptr_t)number;
	struct iovec iov = { own, 8 };
	struct fi_rma_iov target = { at, 8, end->peer.key };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &end->desc,
				  .iov_count = 1,
				  .rma_iov = &target,
				  .rma_iov_count = 1,
				  .context = context };

	*own = number + 1;
	switch (number % 4) {
	case 0:
		return fi_write(end->ep, own, 8, end->desc, 0, at, end->peer.key, context);
	case 1:
		return fi_writemsg(end->ep, &msg, number % 8 == 1 ? FI_MORE : 0);
	case 2:
		return fi_writemsg(end->ep, &msg, FI_INJECT);
	default:
		return fi_fetch_atomic(end->ep, own, 1, end->desc, own, end->desc, 0,
				       end->peer.addr, end->peer.key, FI_UINT64, FI_SUM, context);
	}
}

/* Every fourth number was added to the first word; each of the others is at its address. */
static void step_check_rma(struct end *end, void *arg)
{
	uint64_t sum = 0, i, *words = (uint64_t *)(end->buf + 4096);

	(void)arg;
	for (i = 0; i < COUNT; i++)
		if (i % 4 == 3)
			sum += i + 1;
		else
			EQUAL(words[i], i + 1);
	EQUAL(*(uint64_t *)end->buf, sum);
}

static ssize_t post_number(struct end *end, uint64_t number)
{
	uint64_t *own = (uint64_t *)end->buf + number;

	*own = number;
	return fi_send(end->ep, own, 8, end->desc, 0, (void *)(uintptr_t)number);
}

static ssize_t post_recv_number(struct end *end, uint64_t number)
{
	return fi_recv(end->ep, end->buf + number * 8, 8, end->desc, 0, (void *)(uintptr_t)number);
}

static void step_recv_all(struct end *end, void *arg)
{
	uint8_t *seen = calloc(COUNT, 1);
	uint64_t i, *words = (uint64_t *)end->buf;

	(void)arg;
	CHECK(seen);
	hammer_all(end, end->rxcq, post_recv_number);
	for (i = 0; i < COUNT; i++) {
		CHECK(words[i] < COUNT && !seen[words[i]]);
		seen[words[i]] = 1;
	}
	free(seen);
}

static void *recv_thread(void *arg)
{
	step_recv_all(arg, NULL);
	return NULL;
}

static void test(struct pair *pair)
{
	pthread_t thread;

	hammer_all(&pair->client, pair->client.cq, post_rma);
	at(&pair->server, step_check_rma, NULL, 0);
	if (two_processes(pair))
		at_begin(&pair->server, step_recv_all, NULL, 0);
	else
		CHECK(!pthread_create(&thread, NULL, recv_thread, &pair->server));
	hammer_all(&pair->client, pair->client.cq, post_number);
	if (two_processes(pair))
		at_end(&pair->server, NULL, 0);
	else
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .threading = FI_THREAD_SAFE, .one_cq = true };

	return run_pair(argc, argv, &setup, test);
}
