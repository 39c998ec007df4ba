/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_doctor on the locked memory of processes that sshd, slurmd and the like start. */
#include "unit.h"

#include "doctor_rig.h"
#include "util/doctor_launch.h"

static void daemon_runs(const char *pid, const char *name, const char *soft, const char *hard)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	snprintf(text, sizeof(text), "%s\n", name);
	rig_file(path, text);
	snprintf(path, sizeof(path), "/proc/%s/limits", pid);
	snprintf(text, sizeof(text), "Max locked memory         %-20s %-20s bytes\n", soft, hard);
	rig_file(path, text);
}

static void check(const char *user)
{
	rig_listen();
	doctor_launch(&doctor, user);
	rig_heard();
}

static void test_none(void **state)
{
	(void)state;
	daemon_runs("17", "cron", "65536", "65536");
	check(NULL);
	rig_expect("ok", "no daemon that starts processes of MPI runs here", NULL);
}

static void test_daemons(void **state)
{
	(void)state;
	daemon_runs("17", "slurmd", "8388608", "unlimited");
	daemon_runs("18", "pbs_mom", "8388608", "unlimited");
	daemon_runs("19", "sge_execd", "134217728", "134217728");
	check(NULL);
	rig_expect("ok", "processes that slurmd starts may lock any memory", NULL);
	rig_expect("warn", "processes that pbs_mom starts may lock 8192 KiB", "edit pbs_mom");
	rig_expect("ok", "processes that sge_execd starts may lock 131072 KiB", NULL);
	rig_file("/proc/17/limits", "Max locked memory  65536  65536  bytes\n");
	check(NULL);
	rig_expect("warn", "processes that slurmd starts may lock 64 KiB", "LimitMEMLOCK=infinity");
}

/* Without PAM the rules do not count. */
static void test_sshd(void **state)
{
	(void)state;
	daemon_runs("17", "sshd", "8388608", "8388608");
	rig_file("/etc/security/limits.conf", "* - memlock unlimited\n");
	rig_file("/etc/pam.d/sshd", "# session required pam_limits.so\n");
	check(NULL);
	rig_expect("warn", "processes that sshd starts may lock 8192 KiB", "UsePAM yes");
	rig_file("/etc/pam.d/sshd", "session    required     pam_limits.so\n");
	check(NULL);
	rig_expect("ok", "processes that sshd starts may lock any memory", NULL);
}

static void test_rules(void **state)
{
	(void)state;
	daemon_runs("17", "sshd", "65536", "65536");
	rig_file("/etc/pam.d/system-auth", "session required pam_limits.so\n");
	rig_file("/etc/security/limits.conf", "# comment\nann - memlock 1048576\n* - nofile 9\n");
	rig_file("/etc/security/limits.d/10.conf", "* hard memlock 131072\n* soft memlock 32\n");
	rig_file("/etc/security/limits.d/20.conf.off", "* - memlock unlimited\n");
	check(NULL);
	rig_expect("warn", "sshd starts may lock 32 KiB", "limits.d");
	check("ann");
	rig_expect("ok", "sshd starts may lock 1048576 KiB", NULL);
	rig_file("/etc/security/limits.d/10.conf", "* soft memlock infinity\n* hard memlock -1\n");
	check("bob");
	rig_expect("ok", "sshd starts may lock any memory", NULL);
	/* "100" comes before "20". */
	rig_file("/etc/security/limits.d/20.conf", "* hard memlock 24\n");
	rig_file("/etc/security/limits.d/100.conf", "* hard memlock 48\n");
	check("bob");
	rig_expect("warn", "sshd starts may lock 24 KiB", "limits.d");
	rig_file("/etc/security/limits.d/30.conf", "* hard memlock 16\n");
	check("bob");
	rig_expect("warn", "sshd starts may lock 16 KiB", "limits.d");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_none),
		TEST(test_daemons),
		TEST(test_sshd),
		TEST(test_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
