/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registry starts once, from any thread, applies FI_PROVIDER, and logs mistakes. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <ofi/explain.h>
#include "src/provider.h"

enum { THREADS = 8 };

struct fi_provider *fi_verbs_ini(void);
struct fi_provider *fi_efa_ini(void);

static char dir[] = "/tmp/test_provider_XXXXXX";

static void list(void)
{
	struct ofi_provider *entry;

	TAILQ_FOREACH (entry, ofi_providers(), link)
		dprintf(STDERR_FILENO, "%s%s ", entry->prov->name, entry->excluded ? "(off)" : "");
}

static bool lists_at_start;

/* In the place of the providers that are built in: a machine without devices. */
struct fi_provider *fi_verbs_ini(void)
{
	if (lists_at_start)
		list();
	return NULL;
}

struct fi_provider *fi_efa_ini(void)
{
	return NULL;
}

static bool without_proc;

int __real_stat(const char *path, struct stat *st);
int __wrap_stat(const char *path, struct stat *st);

int __wrap_stat(const char *path, struct stat *st)
{
	if (!without_proc || strncmp(path, "/proc/", 6))
		return __real_stat(path, st);
	errno = ENOENT;
	return -1;
}

static bool tell_what_stays;

/* Runs after the library's destructor, because that has no priority. */
__attribute__((destructor(101))) static void tell(void)
{
	if (tell_what_stays)
		list();
}

static void *sleep_forever(void *arg)
{
	pause();
	return arg;
}

/* What a child with this FI_PROVIDER writes; it ends by way of the library's destructor. */
static const char *told(const char *filter, void (*then)(void))
{
	static char text[4096];
	int pipefd[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipefd), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(pipefd[1], STDERR_FILENO);
		setenv("FI_PROVIDER_PATH", dir, 1);
		if (filter)
			setenv("FI_PROVIDER", filter, 1);
		then();
		exit(0);
	}
	close(pipefd[1]);
	while ((n = read(pipefd[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(pipefd[0]);
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	return text;
}

static const char *listed(const char *filter)
{
	return told(filter, list);
}

static void exit_alone(void)
{
	ofi_providers();
	tell_what_stays = true;
}

static void exit_beside_thread(void)
{
	pthread_t thread;

	exit_alone();
	pthread_create(&thread, NULL, sleep_forever, NULL);
}

static void exit_without_proc(void)
{
	exit_beside_thread();
	without_proc = true;
}

/* What threads may use stays while the process exits. */
static void test_exit(void **state)
{
	(void)state;
	assert_string_equal(told(NULL, exit_alone), "");
	assert_string_equal(told(NULL, exit_beside_thread), "alpha beta ");
	assert_string_equal(told(NULL, exit_without_proc), "alpha beta ");
}

static void list_at_start(void)
{
	alarm(20);
	lists_at_start = true;
	list();
}

/* A provider that starts and asks for the providers gets those that have started before. */
static void test_asked_at_start(void **state)
{
	(void)state;
	assert_string_equal(told(NULL, list_at_start), "alpha beta alpha beta ");
}

static void test_filter(void **state)
{
	(void)state;
	assert_string_equal(listed(NULL), "alpha beta ");
	assert_string_equal(listed("beta"), "alpha(off) beta ");
	assert_string_equal(listed("^beta"), "alpha beta(off) ");
	assert_string_equal(listed("ofi_rxm;alpha"), "alpha beta(off) ");
	assert_string_equal(listed("^ofi_rxm,efa"), "alpha beta ");
}

static void test_unknown_names(void **state)
{
	(void)state;
	assert_non_null(
		strstr(listed("alpah"),
		       "FI_PROVIDER=alpah: there is no provider alpah, did you mean alpha?"));
	assert_non_null(strstr(listed("beta,efa"), "there is no provider efa; fi_info -l"));
	assert_non_null(strstr(
		listed("shm"),
		"the available ones (alpha, beta); plug-ins of other libfabric builds are loaded from the directories of FI_PROVIDER_PATH"));
	assert_non_null(strstr(listed("^bta"), "did you mean beta?"));
	assert_non_null(strstr(listed("efa;ofi_rxm"), "there is no provider efa;ofi_rxm"));
}

static void ask_for_another(void)
{
	struct fi_fabric_attr attr = { .prov_name = (char *)"gamma" };
	struct fi_info hints = { .fabric_attr = &attr }, *info;

	setenv("FI_GETINFO_EXPLAIN", "1", 1);
	fi_getinfo(FI_VERSION(2, 6), NULL, NULL, 0, &hints, &info);
}

/* The first fi_getinfo, which starts the registry, obeys FI_GETINFO_EXPLAIN, too. */
static void test_explained(void **state)
{
	const char *text = told(NULL, ask_for_another);

	(void)state;
	assert_non_null(strstr(text, "candidate alpha rejected: "));
	assert_non_null(strstr(text, "candidate beta rejected: "));
}

static void *start_one(void *arg)
{
	*(const struct ofi_provider_list **)arg = ofi_providers();
	return NULL;
}

static void race(void)
{
	const struct ofi_provider_list *lists[THREADS] = { NULL };
	const struct ofi_prov_context *context;
	pthread_t threads[THREADS];
	struct ofi_provider *entry;
	int i, count = 0;

	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, start_one, &lists[i]);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < THREADS; i++)
		assert_ptr_equal(lists[i], lists[0]);
	TAILQ_FOREACH (entry, lists[0], link) {
		context = (const void *)&entry->prov->context;
		assert_ptr_equal(context->magic, OFI_PROV_CONTEXT_MAGIC);
		assert_non_null(context->reject);
		count++;
	}
	assert_int_equal(count, 2);
}

static void test_threads(void **state)
{
	(void)state;
	setenv("FI_PROVIDER_PATH", dir, 1);
	race();
}

static int make_dir(void **state)
{
	char line[512];

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(line, sizeof(line), "cp %s %s/alpha_1_0-fi.so && cp %s %s/beta_1_0-fi.so", PLUGIN,
		 dir, PLUGIN, dir);
	return system(line);
}

static int remove_dir(void **state)
{
	char line[128];

	(void)state;
	snprintf(line, sizeof(line), "rm -r %s", dir);
	return system(line);
}

int main(void)
{
	/* The threads come last: they start the registry of this process. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter),	  cmocka_unit_test(test_unknown_names),
		cmocka_unit_test(test_exit),	  cmocka_unit_test(test_asked_at_start),
		cmocka_unit_test(test_explained), cmocka_unit_test(test_threads),
	};

	unsetenv("FI_PROVIDER");
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
