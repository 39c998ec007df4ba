/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_doctor on modules, devices, versions of interfaces and device files. */
#include "unit.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "doctor_rig.h"
#include "util/doctor_access.h"
#include "util/doctor_kernel.h"

static void check(void)
{
	rig_listen();
	doctor_kernel(&doctor);
	doctor_access(&doctor);
	rig_heard();
}

static void test_healthy(void **state)
{
	(void)state;
	rig_healthy();
	check();
	rig_expect("ok", "the kernel has ib_uverbs", NULL);
	rig_expect("ok", "the kernel has rdma_ucm", NULL);
	rig_expect("ok", "the verbs interface has version 6", NULL);
	rig_expect("ok", "the connection manager's interface has version 4", NULL);
	rig_expect("ok", "device rxe0, software on eth0", NULL);
	rig_expect("ok", "/dev/infiniband/uverbs0 (rxe0) is readable", NULL);
	rig_expect("ok", "/dev/infiniband/rdma_cm (connection manager) is readable", NULL);
	rig_none("note");
	rig_none("warn");
	rig_none("fail");
}

static void test_nothing(void **state)
{
	(void)state;
	check();
	rig_expect("fail", "module ib_uverbs is not loaded", "modprobe ib_uverbs");
	rig_expect("fail", "module rdma_ucm is not loaded", "modprobe rdma_ucm");
	rig_expect("fail", "no RDMA device", "rdma link add rxe0 type rxe netdev eth0");
	rig_none("ok");
}

/* A kernel with everything built in has no directories of modules. */
static void test_built_in(void **state)
{
	(void)state;
	rig_healthy();
	rig_remove("/sys/module");
	check();
	rig_expect("ok", "the kernel has ib_uverbs", NULL);
	rig_expect("ok", "the kernel has rdma_ucm", NULL);
}

static void test_no_driver(void **state)
{
	(void)state;
	rig_file("/sys/class/net/lo/type", "772\n");
	rig_file("/sys/class/net/ens3/type", "1\n");
	rig_file("/sys/class/net/ens3/device/vendor", "0x1af4\n");
	rig_file("/sys/bus/pci/devices/0000:00:03.0/vendor", "0x1af4\n");
	rig_file("/sys/bus/pci/devices/0000:00:03.0/class", "0x020000\n");
	check();
	rig_expect("fail", "no RDMA device", "netdev ens3");
	rig_file("/sys/bus/pci/devices/0000:00:04.0/vendor", "0x15b3\n");
	rig_file("/sys/bus/pci/devices/0000:00:04.0/class", "0x020700\n");
	check();
	rig_expect("fail", "adapter that mlx5_ib may drive", "modprobe mlx5_ib");
}

static void test_driver(void **state)
{
	(void)state;
	rig_healthy();
	rig_link("/sys/class/infiniband/mlx5_0/device/driver", "../../bus/pci/drivers/mlx5_core");
	rig_file("/sys/class/infiniband/odd_0/node_type", "1: CA\n");
	check();
	rig_expect("ok", "device mlx5_0, driver mlx5_core", NULL);
	rig_expect("ok", "device odd_0", NULL);
}

static void test_versions(void **state)
{
	(void)state;
	rig_healthy();
	rig_file("/sys/class/infiniband_verbs/abi_version", "7\n");
	rig_file("/sys/class/misc/rdma_cm/abi_version", "5\n");
	check();
	rig_expect("fail", "the verbs interface has version 7", "rdma-core");
	rig_expect("fail", "the connection manager's interface has version 5", "rdma-core");
	rig_remove("/sys/class/infiniband_verbs/abi_version");
	check();
	rig_expect("note", "the version of the verbs interface is unknown", "ls -l");
}

static void test_files_missing(void **state)
{
	(void)state;
	rig_healthy();
	rig_remove("/dev");
	check();
	rig_expect("fail", "/dev/infiniband/uverbs0 (rxe0): No such file",
		   "udevadm trigger --subsystem-match=infiniband_verbs");
	rig_expect("fail", "/dev/infiniband/rdma_cm (connection manager): No such file",
		   "--device=/dev/infiniband/rdma_cm");
}

/* The rights of root are those of another user for a while. */
static void test_files_forbidden(void **state)
{
	char path[256];
	bool root = !geteuid();

	(void)state;
	rig_healthy();
	rig_listen();
	snprintf(path, sizeof(path), "%s/dev/infiniband/uverbs0", doctor.root);
	assert_int_equal(chmod(path, 0400), 0);
	if (root)
		assert_int_equal(seteuid(65534), 0);
	doctor_access(&doctor);
	if (root)
		assert_int_equal(seteuid(0), 0);
	rig_heard();
	rig_expect("fail", "uverbs0 (rxe0): Permission denied",
		   "chmod a+rw /dev/infiniband/uverbs0");
}

static void test_files_of_group(void **state)
{
	char path[256];

	(void)state;
	if (geteuid())
		skip();
	rig_healthy();
	rig_listen();
	snprintf(path, sizeof(path), "%s/dev/infiniband/uverbs0", doctor.root);
	assert_int_equal(chown(path, 0, 1), 0);
	assert_int_equal(chmod(path, 0660), 0);
	assert_int_equal(seteuid(65534), 0);
	doctor_access(&doctor);
	assert_int_equal(seteuid(0), 0);
	rig_heard();
	rig_expect("fail", "uverbs0 (rxe0): Permission denied", "usermod -aG daemon");
}

/* The mode of a device file does not tell that its mount forbids to open it. */
static void test_files_of_mount(void **state)
{
	char dir[256], path[300];
	bool made;

	(void)state;
	if (geteuid() || unshare(CLONE_NEWNS) || mount("", "/", "", MS_REC | MS_PRIVATE, NULL))
		skip();
	rig_healthy();
	rig_listen();
	snprintf(dir, sizeof(dir), "%s/dev/infiniband", doctor.root);
	snprintf(path, sizeof(path), "%s/uverbs0", dir);
	assert_int_equal(mount("none", dir, "tmpfs", MS_NODEV, NULL), 0);
	rig_file("/dev/infiniband/rdma_cm", "");
	made = !mknod(path, S_IFCHR, makedev(1, 3)) && !chmod(path, 0666);
	doctor_access(&doctor);
	assert_int_equal(umount(dir), 0);
	rig_heard();
	if (!made)
		skip();
	rig_expect("fail", "uverbs0 (rxe0): Permission denied",
		   "start the container with --device=/dev/infiniband/uverbs0");
	rig_expect("ok", "/dev/infiniband/rdma_cm (connection manager) is readable", NULL);
}

/* A file that nobody may change gives the error of a device that a control group forbids. */
static void test_files_of_control_group(void **state)
{
	char command[256];
	bool made;

	(void)state;
	rig_healthy();
	rig_listen();
	snprintf(command, sizeof(command), "chattr +i %s/dev/infiniband/uverbs0 2>/dev/null",
		 doctor.root);
	made = !system(command);
	doctor_access(&doctor);
	rig_heard();
	if (!made)
		skip();
	*strchr(command, '+') = '-';
	assert_int_equal(system(command), 0);
	rig_expect("fail", "uverbs0 (rxe0): Operation not permitted",
		   "start the container with --device=/dev/infiniband/uverbs0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_healthy),
		TEST(test_nothing),
		TEST(test_built_in),
		TEST(test_no_driver),
		TEST(test_driver),
		TEST(test_versions),
		TEST(test_files_missing),
		TEST(test_files_forbidden),
		TEST(test_files_of_group),
		TEST(test_files_of_mount),
		TEST(test_files_of_control_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
