/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queue pairs of the fake adapter leave completions in completion queues: an adapter completes the
 * work requests of a queue pair that is destroyed, and polling fails once for each of them.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include "fake.h"

enum { CQS = 1024, EACH = 3 };

static struct {
	const struct ibv_cq *cq; /* NULL: the place is free */
	int count;
} stale[CQS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns CQS if there is none. */
static int find(const struct ibv_cq *cq)
{
	int i;

	for (i = 0; i < CQS && stale[i].cq != cq; i++)
		;
	return i;
}

static void add(const struct ibv_cq *cq)
{
	int i;

	pthread_mutex_lock(&lock);
	i = find(cq);
	if (i == CQS)
		i = find(NULL);
	if (i == CQS)
		abort();
	stale[i].cq = cq;
	stale[i].count += EACH;
	pthread_mutex_unlock(&lock);
}

void fake_add_stale(const struct ibv_qp *qp)
{
	add(qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		add(qp->recv_cq);
}

bool fake_take_stale(const struct ibv_cq *cq)
{
	bool some;
	int i;

	pthread_mutex_lock(&lock);
	i = find(cq);
	some = i < CQS;
	if (some && !--stale[i].count)
		stale[i].cq = NULL;
	pthread_mutex_unlock(&lock);
	return some;
}

/* This replaces the function of libibverbs. */
#pragma GCC visibility push(default)

int ibv_destroy_cq(struct ibv_cq *cq)
{
	int (*call)(struct ibv_cq *) = dlsym(RTLD_NEXT, "ibv_destroy_cq");

	if (!call)
		abort();
	while (fake_take_stale(cq))
		;
	return call(cq);
}

#pragma GCC visibility pop
