/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What fi_info --why reports about a system without a usable RDMA device, on simulated systems. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/info_system.h"

static char root[] = "/tmp/test_util_system.XXXXXX";
static char said[4096];

static void say(void *context, const char *text)
{
	(void)context;
	strcat(said, text);
	strcat(said, "\n");
}

static void check(void)
{
	said[0] = '\0';
	info_system_check(root, say, NULL);
}

static void make_dir(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s%s", root, path);
	assert_int_equal(mkdir(full, 0755), 0);
}

static void make_file(const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s%s", root, path);
	file = fopen(full, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* One test: each step adds what the finding before asked for. */
static void test_findings(void **state)
{
	(void)state;
	unsetenv("FI_PROVIDER");
	check();
	assert_non_null(strstr(said, "no RDMA device in /sys/class/infiniband"));
	make_dir("/sys");
	make_dir("/sys/class");
	make_dir("/sys/class/infiniband");
	make_dir("/sys/class/infiniband/rxe0");
	make_dir("/sys/class/infiniband/rxe0/ports");
	make_dir("/sys/class/infiniband/rxe0/ports/1");
	make_file("/sys/class/infiniband/rxe0/ports/1/state", "1: DOWN\n");
	check();
	assert_string_equal(
		said,
		"no /dev/infiniband/uverbs*: modprobe ib_uverbs\n"
		"no /dev/infiniband/rdma_cm: modprobe rdma_ucm\n"
		"device rxe0 port 1 is in state 1: DOWN: bring its link and its network interface up\n");
	make_dir("/dev");
	make_dir("/dev/infiniband");
	make_file("/dev/infiniband/uverbs0", "");
	make_file("/dev/infiniband/rdma_cm", "");
	make_file("/sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
	check();
	assert_non_null(strstr(said, "look usable"));
	setenv("FI_PROVIDER", "tcp", 1);
	check();
	assert_string_equal(said, "FI_PROVIDER=tcp limits the providers\n");
}

static int setup(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_findings, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
