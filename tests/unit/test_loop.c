/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The event thread: serving sources, removing them while it serves, signals, forking. */
#include "unit.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <prov/base/loop.h>
#include "src/ds/process.h"

static const struct fi_provider prov = { .name = "verbs" };

struct probe {
	struct ofi_source source;
	struct ofi_loop *loop;
	int count, slow_us;
	bool busy, remove_self;
};

static void probe_ready(struct ofi_source *source)
{
	struct probe *probe = (struct probe *)source;
	uint64_t n;

	__atomic_store_n(&probe->busy, true, __ATOMIC_SEQ_CST);
	(void)!read(source->fd, &n, sizeof(n));
	if (probe->slow_us)
		usleep(probe->slow_us);
	if (probe->remove_self)
		ofi_loop_remove(probe->loop, source);
	__atomic_add_fetch(&probe->count, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&probe->busy, false, __ATOMIC_SEQ_CST);
}

static void probe_open(struct probe *probe, struct ofi_loop *loop)
{
	*probe = (struct probe){ .loop = loop };
	probe->source.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	probe->source.ready = probe_ready;
	assert_int_equal(ofi_loop_add(loop, &probe->source), 0);
}

static void kick(struct probe *probe)
{
	const uint64_t one = 1;

	assert_int_equal(write(probe->source.fd, &one, sizeof(one)), sizeof(one));
}

static void wait_count(struct probe *probe, int count)
{
	int i;

	for (i = 0; i < 5000 && __atomic_load_n(&probe->count, __ATOMIC_SEQ_CST) < count; i++)
		usleep(1000);
	assert_int_equal(__atomic_load_n(&probe->count, __ATOMIC_SEQ_CST), count);
}

static bool no_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			  void *arg)
{
	return no_threads ? EAGAIN : __real_pthread_create(thread, attr, run, arg);
}

/* -FI_EAGAIN would make the application try again for ever. */
static void the_limit_of_threads_is_an_error(void **state)
{
	struct probe probe = { .source.ready = probe_ready };
	struct ofi_loop loop;

	(void)state;
	assert_int_equal(ofi_loop_init(&loop, &prov), 0);
	probe.source.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	no_threads = true;
	assert_int_equal(ofi_loop_add(&loop, &probe.source), -FI_ENOMEM);
	no_threads = false;
	close(probe.source.fd);
	ofi_loop_fini(&loop);
}

static void starts_with_the_first_source(void **state)
{
	struct ofi_loop loop;
	struct probe probe;

	(void)state;
	assert_int_equal(ofi_loop_init(&loop, &prov), 0);
	assert_int_equal(loop.process, 0);
	probe_open(&probe, &loop);
	assert_int_equal(loop.process, ofi_process());
	kick(&probe);
	wait_count(&probe, 1);
	kick(&probe);
	wait_count(&probe, 2);
	ofi_loop_remove(&loop, &probe.source);
	kick(&probe);
	usleep(10000);
	assert_int_equal(probe.count, 2);
	ofi_loop_remove(&loop, &probe.source);
	ofi_loop_fini(&loop);
	close(probe.source.fd);
}

static void idle_loop_ends(void **state)
{
	struct ofi_loop loop;

	(void)state;
	assert_int_equal(ofi_loop_init(&loop, &prov), 0);
	ofi_loop_fini(&loop);
}

static void remove_waits_for_ready(void **state)
{
	struct ofi_loop loop;
	struct probe probe;

	(void)state;
	assert_int_equal(ofi_loop_init(&loop, &prov), 0);
	probe_open(&probe, &loop);
	probe.slow_us = 50000;
	kick(&probe);
	/* On a busy machine it may be over before this thread runs. */
	while (!__atomic_load_n(&probe.busy, __ATOMIC_SEQ_CST) &&
	       !__atomic_load_n(&probe.count, __ATOMIC_SEQ_CST))
		usleep(100);
	ofi_loop_remove(&loop, &probe.source);
	assert_false(probe.busy);
	assert_int_equal(probe.count, 1);
	ofi_loop_fini(&loop);
	close(probe.source.fd);
}

static void ready_may_remove_itself(void **state)
{
	struct ofi_loop loop;
	struct probe probe;

	(void)state;
	assert_int_equal(ofi_loop_init(&loop, &prov), 0);
	probe_open(&probe, &loop);
	probe.remove_self = true;
	kick(&probe);
	wait_count(&probe, 1);
	ofi_loop_fini(&loop);
	close(probe.source.fd);
}

static pthread_t got_signal;

static void on_signal(int sig)
{
	(void)sig;
	got_signal = pthread_self();
}

static void signals_stay_with_the_application(void **state)
{
	struct sigaction action = { .sa_handler = on_signal }, old;
	struct ofi_loop loop;
	struct probe probe;

	(void)state;
	assert_int_equal(ofi_loop_init(&loop, &prov), 0);
	probe_open(&probe, &loop);
	sigaction(SIGUSR1, &action, &old);
	kill(getpid(), SIGUSR1);
	assert_true(pthread_equal(got_signal, pthread_self()));
	sigaction(SIGUSR1, &old, NULL);
	ofi_loop_remove(&loop, &probe.source);
	ofi_loop_fini(&loop);
	close(probe.source.fd);
}

static bool is_first; /* each process is the first of a PID namespace */

pid_t __real_getpid(void);
pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void)
{
	return is_first ? 1 : __real_getpid();
}

static int begin_first(void **state)
{
	(void)state;
	is_first = true;
	return 0;
}

static int end_first(void **state)
{
	(void)state;
	is_first = false;
	return 0;
}

static void a_child_can_close_and_open(void **state)
{
	struct ofi_loop loop, own;
	struct probe probe, mine;
	pid_t child;
	int status;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* it has no threads after a fork of several */
#endif
	assert_int_equal(ofi_loop_init(&loop, &prov), 0);
	probe_open(&probe, &loop);
	child = fork();
	if (!child) {
		alarm(10);
		ofi_loop_remove(&loop, &probe.source);
		ofi_loop_fini(&loop);
		ofi_loop_init(&own, &prov);
		probe_open(&mine, &own);
		kick(&mine);
		wait_count(&mine, 1);
		ofi_loop_remove(&own, &mine.source);
		ofi_loop_fini(&own);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	/* The parent's is untouched. */
	kick(&probe);
	wait_count(&probe, 1);
	ofi_loop_remove(&loop, &probe.source);
	ofi_loop_fini(&loop);
	close(probe.source.fd);
}

static void *churn(void *arg)
{
	struct probe probe;
	int i;

	for (i = 0; i < 300; i++) {
		probe_open(&probe, arg);
		kick(&probe);
		ofi_loop_remove(arg, &probe.source);
		close(probe.source.fd);
	}
	return NULL;
}

static void sources_come_and_go_at_once(void **state)
{
	struct ofi_loop loop;
	pthread_t threads[2];
	int i;

	(void)state;
	assert_int_equal(ofi_loop_init(&loop, &prov), 0);
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, churn, &loop);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ofi_loop_fini(&loop);
}

/* A claim ends OFI_LOOP_CLAIM_MS after `now`; this one does not. */
static void shared_open(struct probe *probe, struct ofi_loop *loop)
{
	assert_int_equal(ofi_loop_init(loop, &prov), 0);
	probe_open(probe, loop);
	ofi_lock_init(&probe->source.lock);
	probe->source.shared = probe->source.idle = true;
	ofi_loop_claim(loop, &probe->source, UINT64_MAX / 2);
	assert_true(ofi_loop_claimed(loop, &probe->source));
}

static void shared_close(struct probe *probe, struct ofi_loop *loop)
{
	ofi_loop_remove(loop, &probe->source);
	assert_int_equal(loop->claims, 0);
	ofi_loop_fini(loop);
	close(probe->source.fd);
}

static void a_claimed_source_is_served_by_who_waits(void **state)
{
	struct ofi_loop loop;
	struct probe probe;

	(void)state;
	shared_open(&probe, &loop);
	assert_int_equal(ofi_loop_wait(&probe.source, -1, 0), -FI_ETIMEDOUT);
	assert_int_equal(ofi_loop_wait(&probe.source, -1, 10000), 0);
	kick(&probe);
	usleep(30000);
	assert_int_equal(__atomic_load_n(&probe.count, __ATOMIC_SEQ_CST), 0);
	assert_int_equal(ofi_loop_wait(&probe.source, -1, 10000), 0);
	ofi_loop_serve(&probe.source);
	assert_int_equal(probe.count, 1);
	/* More may be there. */
	probe.source.idle = false;
	assert_int_equal(ofi_loop_wait(&probe.source, -1, 10000), 0);
	shared_close(&probe, &loop);
}

static void a_claim_expires(void **state)
{
	struct ofi_loop loop;
	struct probe probe;

	(void)state;
	shared_open(&probe, &loop);
	ofi_loop_claim(&loop, &probe.source, 0);
	kick(&probe);
	wait_count(&probe, 1);
	assert_false(ofi_loop_claimed(&loop, &probe.source));
	ofi_loop_claim(&loop, &probe.source, UINT64_MAX / 2);
	assert_true(ofi_loop_claimed(&loop, &probe.source));
	shared_close(&probe, &loop);
}

static void only_the_thread_serves_what_is_not_shared(void **state)
{
	struct ofi_loop loop;
	struct probe probe;

	(void)state;
	shared_open(&probe, &loop);
	ofi_loop_unshare(&loop, &probe.source);
	ofi_loop_claim(&loop, &probe.source, UINT64_MAX / 2);
	assert_false(ofi_loop_claimed(&loop, &probe.source));
	kick(&probe);
	wait_count(&probe, 1);
	ofi_loop_serve(&probe.source);
	assert_int_equal(probe.count, 1);
	shared_close(&probe, &loop);
}

/* Calls the function in a forked child, whose exit status is to be 0. */
static void in_child(int (*call)(struct ofi_loop *loop, struct probe *probe), struct ofi_loop *loop,
		     struct probe *probe)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(call(loop, probe));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int is_claimed(struct ofi_loop *loop, struct probe *probe)
{
	return ofi_loop_claimed(loop, &probe->source);
}

static int unshare_source(struct ofi_loop *loop, struct probe *probe)
{
	ofi_loop_unshare(loop, &probe->source);
	return 0;
}

static void a_child_does_not_serve(void **state)
{
	struct ofi_loop loop;
	struct probe probe;

	(void)state;
	shared_open(&probe, &loop);
	in_child(is_claimed, &loop, &probe);
	shared_close(&probe, &loop);
}

/* The parent's claim still ends afterward. */
static void a_child_does_not_end_a_claim(void **state)
{
	struct ofi_loop loop;
	struct probe probe;

	(void)state;
	shared_open(&probe, &loop);
	in_child(unshare_source, &loop, &probe);
	kick(&probe);
	usleep(30000);
	assert_int_equal(__atomic_load_n(&probe.count, __ATOMIC_SEQ_CST), 0);
	ofi_loop_claim(&loop, &probe.source, 0);
	wait_count(&probe, 1);
	shared_close(&probe, &loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_with_the_first_source),
		cmocka_unit_test(the_limit_of_threads_is_an_error),
		cmocka_unit_test(idle_loop_ends),
		cmocka_unit_test(remove_waits_for_ready),
		cmocka_unit_test(ready_may_remove_itself),
		cmocka_unit_test(signals_stay_with_the_application),
		cmocka_unit_test(a_child_can_close_and_open),
		cmocka_unit_test(sources_come_and_go_at_once),
		cmocka_unit_test(a_claimed_source_is_served_by_who_waits),
		cmocka_unit_test(a_claim_expires),
		cmocka_unit_test(only_the_thread_serves_what_is_not_shared),
		cmocka_unit_test(a_child_does_not_end_a_claim),
		cmocka_unit_test(a_child_does_not_serve),
		cmocka_unit_test_setup_teardown(a_child_can_close_and_open, begin_first, end_first),
		cmocka_unit_test_setup_teardown(a_child_does_not_end_a_claim, begin_first,
						end_first),
		cmocka_unit_test_setup_teardown(a_child_does_not_serve, begin_first, end_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
