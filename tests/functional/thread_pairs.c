/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs all pairs of calls in threads, with a watchdog. */
#include "thread_pairs.h"

#include <pthread.h>
#include <rdma/fi_errno.h>

enum { CALLS_MAX = 64, HANG_MS = 20000 };
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { PAIR_MS = 12 };
#else
enum { PAIR_MS = 3 };
#endif

/* The threads wait for a round, and each makes its call for some time. */
struct engine {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	unsigned int round, workers, running; /* of the round, up to here under lock */
	const struct call *calls[2];
	bool stop;
	struct worker worker[STAGE_WORKERS];
};

static struct engine engine = { .lock = PTHREAD_MUTEX_INITIALIZER,
				.cond = PTHREAD_COND_INITIALIZER };

void may_at(const char *file, int line, const char *call, ssize_t ret, int err)
{
	if (ret < 0 && ret != -FI_EAGAIN && ret != -err)
		returns_at(file, line, call, ret, 0);
}

/* Returns false at the end. */
static bool wait_round(unsigned int *round, unsigned int number)
{
	bool stop;

	pthread_mutex_lock(&engine.lock);
	do {
		while (engine.round == *round && !engine.stop)
			pthread_cond_wait(&engine.cond, &engine.lock);
		*round = engine.round;
	} while (number >= engine.workers && !engine.stop);
	stop = engine.stop;
	pthread_mutex_unlock(&engine.lock);
	return !stop;
}

static void round_done(void)
{
	pthread_mutex_lock(&engine.lock);
	if (!--engine.running)
		pthread_cond_broadcast(&engine.cond);
	pthread_mutex_unlock(&engine.lock);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	unsigned int round = 0;
	uint64_t end;

	while (wait_round(&round, worker->number)) {
		end = now_ms() + PAIR_MS;
		do
			engine.calls[worker->number % 2]->run(worker->stage, worker);
		while (now_ms() < end);
		round_done();
	}
	return NULL;
}

static void run_pair(const struct call *a, const struct call *b)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += HANG_MS / 1000;
	pthread_mutex_lock(&engine.lock);
	engine.calls[0] = a;
	engine.calls[1] = b;
	engine.workers = engine.running = a == b ? STAGE_WORKERS : 2;
	engine.round++;
	pthread_cond_broadcast(&engine.cond);
	while (engine.running)
		if (pthread_cond_clockwait(&engine.cond, &engine.lock, CLOCK_MONOTONIC, &until))
			FAIL("%s and %s at once: not done after %d ms", a->name, b->name, HANG_MS);
	pthread_mutex_unlock(&engine.lock);
}

static void stop_all(void)
{
	pthread_mutex_lock(&engine.lock);
	engine.stop = true;
	pthread_cond_broadcast(&engine.cond);
	pthread_mutex_unlock(&engine.lock);
}

void stage_run(struct stage *stage, const struct call *extra, size_t count)
{
	const struct call *all[CALLS_MAX];
	pthread_t threads[STAGE_WORKERS];
	size_t i, j, n = 0;

	for (i = 0; stage_calls[i].name; i++)
		all[n++] = &stage_calls[i];
	for (i = 0; i < count; i++)
		all[n++] = &extra[i];
	CHECK(n <= CALLS_MAX);
	for (i = 0; i < STAGE_WORKERS; i++)
		worker_open(&engine.worker[i], stage, (unsigned int)i);
	for (i = 0; i < STAGE_WORKERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, work, &engine.worker[i]));
	for (i = 0; i < n; i++)
		for (j = i; j < n; j++)
			run_pair(all[i], all[j]);
	stop_all();
	for (i = 0; i < STAGE_WORKERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	for (i = 0; i < STAGE_WORKERS; i++)
		worker_close(&engine.worker[i]);
}
