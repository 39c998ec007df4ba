/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The order of devices by their distance to the process, on a simulated sysfs. */
#include "unit.h"
#include "capture.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "prov/verbs/discovery/affinity.h"
#include "prov/verbs/provider/prov.h"

enum { DEVICES = 4 };

#define ALL  "0-1023"
#define NONE "1020-1022,1023"

static struct vrb_snapshot snapshot;
static struct vrb_device devices[DEVICES];
static struct vrb_port ports[DEVICES];
static char root[] = "/tmp/affinity-XXXXXX";

static int only_cpu = -1; /* of a host with 2048, where this process may run; -1: as it is */

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	if (only_cpu < 0)
		return __real_sched_getaffinity(pid, size, set);
	errno = EINVAL;
	if (size < 2048 / 8)
		return -1;
	CPU_ZERO_S(size, set);
	CPU_SET_S(only_cpu, size, set);
	return 0;
}

static void write_cpus(struct vrb_device *dev, const char *cpus)
{
	char path[IBV_SYSFS_PATH_MAX + 64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/device/local_cpulist", dev->path);
	remove(path);
	if (!cpus)
		return;
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", cpus);
	fclose(file);
}

static int make_root(void **state)
{
	char path[IBV_SYSFS_PATH_MAX + 64];
	int i;

	(void)state;
	if (!mkdtemp(root))
		return -1;
	for (i = 0; i < DEVICES; i++) {
		snprintf(devices[i].path, sizeof(devices[i].path), "%s/mlx5_%d", root, i);
		mkdir(devices[i].path, 0700);
		snprintf(path, sizeof(path), "%s/device", devices[i].path);
		mkdir(path, 0700);
	}
	return 0;
}

static int remove_root(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

static int setup(void **state)
{
	int i;

	(void)state;
	vrb_params.nic_affinity = vrb_params.nic_affinity_policy = NULL;
	unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
	unsetenv("SLURM_LOCALID");
	STAILQ_INIT(&snapshot);
	for (i = 0; i < DEVICES; i++) {
		snprintf(devices[i].name, sizeof(devices[i].name), "mlx5_%d", i);
		devices[i].err = 0;
		devices[i].transport = IBV_TRANSPORT_IB;
		devices[i].num_ports = 1;
		devices[i].ports = &ports[i];
		ports[i].subnet = 0;
		ports[i].attr = (struct ibv_port_attr){ .state = IBV_PORT_ACTIVE,
							.active_speed = 32,
							.active_width = 2 };
		STAILQ_INSERT_TAIL(&snapshot, &devices[i], next);
		write_cpus(&devices[i], ALL);
	}
	return 0;
}

/* "0123" */
static const char *order(struct vrb_affinity *affinity)
{
	static char text[DEVICES + 1];
	int i;

	vrb_affinity_rank(affinity, &snapshot);
	memset(text, '-', DEVICES);
	for (i = 0; i < DEVICES; i++)
		if (vrb_affinity_place(affinity, &devices[i]) < DEVICES)
			text[vrb_affinity_place(affinity, &devices[i])] = (char)('0' + i);
	return text;
}

/* Nobody is asked where the only device is. */
static void test_alone(void **state)
{
	struct vrb_affinity affinity;
	int i;

	(void)state;
	for (i = 1; i < DEVICES; i++)
		devices[i].err = ENODEV;
	vrb_affinity_rank(&affinity, &snapshot);
	assert_int_equal(affinity.count, 1);
	assert_int_equal(affinity.devices[0].nearness, VRB_NEAR_UNKNOWN);
	devices[1].err = 0;
	vrb_affinity_rank(&affinity, &snapshot);
	assert_int_equal(affinity.count, 2);
	assert_int_equal(affinity.devices[0].nearness, VRB_NEAR_ALL);
}

static void test_nearest_first(void **state)
{
	struct vrb_affinity affinity;
	struct ofi_miss miss;

	(void)state;
	write_cpus(&devices[0], NULL);
	write_cpus(&devices[1], NONE);
	ports[2].attr.active_width = 1;
	assert_string_equal(order(&affinity), "3210");
	assert_true(vrb_affinity_is_far(&affinity, &devices[1], &miss));
	assert_string_equal(miss.has, "near CPUs " NONE "; offered behind mlx5_3");
	assert_false(vrb_affinity_is_far(&affinity, &devices[0], &miss));
	assert_false(vrb_affinity_is_far(&affinity, &devices[2], &miss));
	devices[3].err = ENODEV;
	assert_string_equal(order(&affinity), "2103");
}

static void test_in_turn(void **state)
{
	struct vrb_affinity affinity;

	(void)state;
	write_cpus(&devices[0], NONE);
	assert_string_equal(order(&affinity), "1230");
	setenv("SLURM_LOCALID", "4", 1);
	assert_string_equal(order(&affinity), "2310");
	setenv("OMPI_COMM_WORLD_LOCAL_RANK", "2", 1);
	assert_string_equal(order(&affinity), "3120");
	setenv("OMPI_COMM_WORLD_LOCAL_RANK", "many", 1);
	assert_string_equal(order(&affinity), "2310");
}

/* Processes of equal rank on two hosts begin in the same subnet, so that they can connect. */
static void test_subnets(void **state)
{
	struct vrb_affinity affinity;

	(void)state;
	ports[1].subnet = ports[3].subnet = htobe64(0xfec0000000000001);
	setenv("SLURM_LOCALID", "1", 1);
	assert_string_equal(order(&affinity), "2103");
	setenv("SLURM_LOCALID", "2", 1);
	assert_string_equal(order(&affinity), "0123");
	ports[2].subnet = htobe64(0xfec0000000000002);
	setenv("SLURM_LOCALID", "1", 1);
	assert_string_equal(order(&affinity), "0123");
	for (int i = 0; i < DEVICES; i++)
		devices[i].transport = IBV_TRANSPORT_IWARP; /* its prefixes are parts of MACs */
	assert_string_equal(order(&affinity), "1230");
}

/* The mask of a host with so many processors does not fit in a cpu_set_t. */
static void test_large_host(void **state)
{
	struct vrb_affinity affinity;

	(void)state;
	only_cpu = 1500;
	write_cpus(&devices[2], "1024-2047");
	assert_string_equal(order(&affinity), "2013");
	assert_int_equal(affinity.devices[0].nearness, VRB_NEAR_ALL);
	assert_int_equal(affinity.devices[1].nearness, VRB_NEAR_NONE);
	only_cpu = -1;
}

/* Devices in software keep their order. */
static void test_software(void **state)
{
	struct vrb_affinity affinity;
	int i;

	(void)state;
	for (i = 0; i < DEVICES; i++)
		write_cpus(&devices[i], NULL);
	setenv("SLURM_LOCALID", "1", 1);
	assert_string_equal(order(&affinity), "0123");
}

static void test_policies(void **state)
{
	struct vrb_affinity affinity;
	struct ofi_miss miss;

	(void)state;
	write_cpus(&devices[0], NONE);
	vrb_params.nic_affinity = "manual:mlx5_2,mlx5_0";
	assert_string_equal(order(&affinity), "2013");
	assert_false(vrb_affinity_is_far(&affinity, &devices[0], &miss));
	vrb_params.nic_affinity = "none";
	vrb_affinity_rank(&affinity, &snapshot);
	assert_int_equal(vrb_affinity_place(&affinity, &devices[3]), 0);
	vrb_params.nic_affinity = NULL;
	vrb_params.nic_affinity_policy = "none";
	vrb_affinity_rank(&affinity, &snapshot);
	assert_int_equal(affinity.count, 0);
	vrb_params.nic_affinity = "nearest";
	capture_start();
	assert_string_equal(order(&affinity), "1230");
	assert_non_null(strstr(capture_stop(), "using auto"));
}

int main(void)
{
#define TEST(test) cmocka_unit_test_setup(test, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_alone),    TEST(test_nearest_first), TEST(test_in_turn),
		TEST(test_software), TEST(test_policies),      TEST(test_large_host),
		TEST(test_subnets),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
