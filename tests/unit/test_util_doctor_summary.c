/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_doctor on GPUs, and its summary for a bug report. */
#include "unit.h"

#include <string.h>

#include "doctor_rig.h"
#include "util/doctor_gpu.h"
#include "util/doctor_summary.h"

static void check(const char *library)
{
	struct doctor_ports ports;

	rig_listen();
	assert_true(doctor_ports_read(&ports, doctor.root));
	doctor_gpu(&doctor);
	doctor_summary(&doctor, &ports, library);
	doctor_ports_free(&ports);
	rig_heard();
}

static void test_no_gpu(void **state)
{
	(void)state;
	check(NULL);
	rig_expect("ok", "no driver of a GPU for computing is loaded", NULL);
	rig_expect("  GPU ", "none", NULL);
	rig_expect("  device ", "none", NULL);
	rig_expect("  system ", "Linux unknown, unknown", NULL);
	rig_expect("  versions ", "weft " PACKAGE_VERSION ", libfabric not used", NULL);
}

static void test_nvidia(void **state)
{
	(void)state;
	rig_file("/sys/module/nvidia/version", "550\n");
	rig_file("/proc/driver/nvidia/version",
		 "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550\n");
	check(NULL);
	rig_expect("warn", "memory of GPUs cannot be registered", "modprobe nvidia-peermem");
	rig_expect("  GPU ", "nvidia", NULL);
	rig_file("/proc/driver/nvidia/version",
		 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550\n");
	check(NULL);
	rig_expect("ok", "the driver nvidia is open: it exports dma-bufs", NULL);
	rig_file("/sys/module/nvidia_peermem/version", "\n");
	check(NULL);
	rig_expect("ok", "the driver nvidia and a module for peer memory are loaded", NULL);
}

static void test_amd(void **state)
{
	(void)state;
	rig_file("/sys/module/amdgpu/version", "\n");
	rig_file("/sys/class/kfd/kfd/name", "\n");
	check(NULL);
	rig_expect("ok", "the driver amdgpu exports dma-bufs", NULL);
	rig_expect("  GPU ", " amdgpu", NULL);
}

static void test_intel(void **state)
{
	(void)state;
	rig_file("/sys/module/xe/srcversion", "\n");
	check(NULL);
	rig_expect("ok", "the driver xe exports dma-bufs", NULL);
	rig_expect("  GPU ", " xe", NULL);
}

static void test_summary(void **state)
{
	(void)state;
	rig_healthy();
	rig_file("/proc/sys/kernel/osrelease", "6.1.0-56-amd64\n");
	rig_file("/etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n");
	rig_file("/sys/class/infiniband/rxe0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
	check("2.6.0 (weft 0.1.0)");
	rig_expect("  versions ", ", libfabric 2.6.0 (weft 0.1.0)", NULL);
	rig_expect("  system ", "Linux 6.1.0-56-amd64, Debian GNU/Linux 12", NULL);
	rig_expect("  device ",
		   "rxe0 port 1: software, 4: ACTIVE, 2.5 Gb/sec (1X SDR), Ethernet eth0", NULL);
	rig_remove("/sys/class/infiniband/rxe0/parent");
	rig_link("/sys/class/infiniband/rxe0/device/driver", "../../drivers/mlx5_core");
	rig_file("/sys/class/infiniband/rxe0/fw_ver", "20.31.1014\n");
	check("2.6.0");
	rig_expect("  device ", "rxe0 port 1: mlx5_core 20.31.1014, 4: ACTIVE", NULL);
}

/* It is text for a reader who has asked for all. */
static void test_quiet(void **state)
{
	struct doctor_ports ports = STAILQ_HEAD_INITIALIZER(ports);

	(void)state;
	rig_listen();
	doctor.quiet = true;
	doctor_summary(&doctor, &ports, NULL);
	rig_heard();
	rig_none("  versions");
	rig_listen();
	doctor.as_json = true;
	doctor_summary(&doctor, &ports, NULL);
	rig_heard();
	rig_none("  versions");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_gpu), TEST(test_nvidia),  TEST(test_amd),
		TEST(test_intel),  TEST(test_summary), TEST(test_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
