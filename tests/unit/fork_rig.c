/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forks in the middle of a call of another thread. */
#include "unit.h"
#include "fork_rig.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOLD_US = 50000, LIMIT_S = 10 };

static _Thread_local bool watched;
static unsigned int turn, released;
static void (*made)(void);
static sem_t ready;

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	if (watched && released++ == turn) {
		sem_post(&ready);
		usleep(HOLD_US);
	}
	return __real_pthread_mutex_unlock(mutex);
}

static void *run(void *arg)
{
	watched = true;
	made();
	watched = false;
	if (released <= turn)
		sem_post(&ready);
	return arg;
}

static void fork_once(void)
{
	pthread_t thread;
	int status;
	pid_t pid;

	released = 0;
	assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
	sem_wait(&ready);
	alarm(2 * LIMIT_S);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		alarm(LIMIT_S);
		made();
		/* What the thread has allocated is lost here, which is no leak. */
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	alarm(0);
	assert_int_equal(status, 0);
}

void fork_amid(void (*call)(void))
{
	assert_int_equal(sem_init(&ready, 0, 0), 0);
	made = call;
	turn = 0;
	do
		fork_once();
	while (released > turn++);
	assert_true(turn > 1);
	sem_destroy(&ready);
}
