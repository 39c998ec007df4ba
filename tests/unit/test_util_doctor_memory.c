/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_doctor on the limit of locked memory, fork and huge pages. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#include "doctor_rig.h"
#include "util/doctor_memory.h"

#define NEW_KERNEL "6.1.0-56-amd64\n"
#define OLD_KERNEL "5.11.22\n"

static void check(void)
{
	rig_listen();
	doctor_memory(&doctor);
	rig_heard();
}

static void set_limit(const char *soft, const char *hard)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "Limit                     Soft Limit           Hard Limit           Units\n"
		 "Max locked memory         %-20s %-20s bytes\n",
		 soft, hard);
	rig_file("/proc/self/limits", text);
}

static void test_memlock(void **state)
{
	(void)state;
	set_limit("unlimited", "unlimited");
	check();
	rig_expect("ok", "locked memory is not limited", NULL);
	set_limit("134217728", "134217728");
	check();
	rig_expect("ok", "limited to 131072 KiB, registering 64 MiB fits", NULL);
	set_limit("8388608", "8388608");
	check();
	rig_expect("warn", "limited to 8192 KiB, registering 64 MiB does not fit",
		   "/etc/security/limits.d/rdma.conf");
	set_limit("8388608", "134217728");
	check();
	rig_expect("warn", "does not fit", "ulimit -l 131072");
	set_limit("8388608", "unlimited");
	check();
	rig_expect("warn", "does not fit", "ulimit -l unlimited");
	set_limit("65536", "65536");
	check();
	rig_expect("fail", "limited to 64 KiB", "limits.d");
}

static void test_ipc_lock(void **state)
{
	(void)state;
	set_limit("65536", "65536");
	rig_file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000004000\n");
	check();
	rig_expect("ok", "limited to 64 KiB, but not for this user", NULL);
	rig_file("/proc/self/uid_map", "         0          0 4294967295\n");
	check();
	rig_expect("ok", "limited to 64 KiB, but not for this user", NULL);
	rig_file("/proc/self/uid_map", "         0       1000          1\n");
	check();
	rig_expect("fail", "limited to 64 KiB", "for a container --ulimit memlock=-1");
	rig_remove("/proc/self/uid_map");
	rig_file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
	check();
	rig_expect("fail", "limited to 64 KiB", "limits.d");
}

static void test_no_limits(void **state)
{
	(void)state;
	check();
	rig_expect("note", "the limit of locked memory is unknown", "mount -t proc");
	rig_file("/proc/self/limits", "Max locked memory\n");
	check();
	rig_expect("note", "the limit of locked memory is unknown", "mount -t proc");
}

static void test_fork_new_kernel(void **state)
{
	(void)state;
	rig_file("/proc/sys/kernel/osrelease", NEW_KERNEL);
	check();
	rig_expect("ok", "protects registered memory at fork by itself", NULL);
	setenv("IBV_FORK_SAFE", "1", 1);
	check();
	rig_expect("note", "IBV_FORK_SAFE is set, but", "unset IBV_FORK_SAFE");
	setenv("RDMAV_FORK_SAFE", "1", 1);
	check();
	rig_expect("note", "RDMAV_FORK_SAFE is set, but", "unset RDMAV_FORK_SAFE");
}

static void test_fork_old_kernel(void **state)
{
	(void)state;
	rig_file("/proc/sys/kernel/osrelease", OLD_KERNEL);
	check();
	rig_expect("note", "does not protect registered memory", "export RDMAV_FORK_SAFE=1");
	setenv("FI_FORK_UNSAFE", "no", 1);
	check();
	rig_expect("note", "does not protect registered memory", "export RDMAV_FORK_SAFE=1");
	setenv("FI_FORK_UNSAFE", "1", 1);
	check();
	rig_expect("warn", "FI_FORK_UNSAFE is set", "unset FI_FORK_UNSAFE");
	setenv("RDMAV_FORK_SAFE", "1", 1);
	check();
	rig_expect("ok", "RDMAV_FORK_SAFE protects", NULL);
}

static void test_huge_pages(void **state)
{
	(void)state;
	rig_file("/proc/meminfo", "MemTotal: 1 kB\nHugePages_Total:      16\n");
	rig_file("/proc/sys/kernel/osrelease", NEW_KERNEL);
	check();
	rig_expect("ok", "16 huge pages, safe", NULL);
	rig_file("/proc/sys/kernel/osrelease", OLD_KERNEL);
	check();
	rig_expect("warn", "16 huge pages", "export RDMAV_HUGEPAGES_SAFE=1");
	setenv("RDMAV_HUGEPAGES_SAFE", "1", 1);
	check();
	rig_expect("ok", "16 huge pages, safe", NULL);
	unsetenv("RDMAV_HUGEPAGES_SAFE");
	rig_file("/proc/meminfo", "HugePages_Total:       0\n");
	check();
	rig_expect("ok", "0 huge pages", NULL);
}

static void userfaultfd(int err, bool old)
{
	rig_listen();
	doctor_userfaultfd(&doctor, err, old);
	rig_heard();
}

static void test_userfaultfd(void **state)
{
	(void)state;
	userfaultfd(0, false);
	rig_expect("ok", "the kernel reports freed memory", NULL);
	userfaultfd(EPERM, false);
	rig_expect("warn", "userfaultfd is refused (Operation not permitted)",
		   "--device /dev/userfaultfd");
	userfaultfd(EPERM, true);
	rig_expect("warn", "userfaultfd is refused", "sysctl -w vm.unprivileged_userfaultfd=1");
	userfaultfd(ENOSYS, false);
	rig_expect("warn", "userfaultfd is refused", "CONFIG_USERFAULTFD=y");
	userfaultfd(EOPNOTSUPP, false);
	rig_expect("warn", "userfaultfd cannot watch memory", "on aarch64, Linux 6.10");
}

/* Of this host it is asked, of the files of another one it is not. */
static void test_userfaultfd_here(void **state)
{
	(void)state;
	check();
	rig_none("warn  userfaultfd");
	rig_none("ok    the kernel tells of freed");
	rig_listen();
	doctor.root = "";
	doctor_memory(&doctor);
	rig_heard();
	assert_true(doctor.counts[DOCTOR_OK] + doctor.counts[DOCTOR_WARN] +
			    doctor.counts[DOCTOR_FAIL] + doctor.counts[DOCTOR_NOTE] ==
		    4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_memlock),	    TEST(test_ipc_lock),	 TEST(test_no_limits),
		TEST(test_fork_new_kernel), TEST(test_fork_old_kernel),	 TEST(test_huge_pages),
		TEST(test_userfaultfd),	    TEST(test_userfaultfd_here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
