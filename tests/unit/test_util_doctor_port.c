/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_doctor on ports, MTUs and GIDs. */
#include "unit.h"

#include <stdlib.h>

#include "doctor_rig.h"
#include "util/doctor_gid.h"
#include "util/doctor_port.h"

#define PORT "/sys/class/infiniband/rxe0/ports/1"
#define IB   "/sys/class/infiniband/mlx5_0"

static void check(void)
{
	struct doctor_ports ports;

	rig_listen();
	assert_true(doctor_ports_read(&ports, doctor.root));
	doctor_ports_check(&doctor, &ports);
	doctor_gids_check(&doctor, &ports);
	doctor_ports_free(&ports);
	rig_heard();
}

static void test_healthy(void **state)
{
	(void)state;
	rig_healthy();
	check();
	rig_expect("ok", "rxe0 port 1 is active, Ethernet, interface eth0", NULL);
	rig_expect("ok", "eth0 has MTU 4200, room for 4096 bytes", NULL);
	rig_expect(
		"ok",
		"rxe0 port 1 would use GID 1 ::ffff:10.77.0.1 (RoCE v2, IPv4) of 2: RoCE v2 before v1",
		NULL);
	rig_none("note");
	rig_none("warn");
	rig_none("fail");
}

static void test_down(void **state)
{
	(void)state;
	rig_healthy();
	rig_file(PORT "/state", "1: DOWN\n");
	rig_file(PORT "/phys_state", "3: Disabled\n");
	rig_remove(PORT "/gid_attrs");
	rig_file("/sys/class/net/eth0/flags", "0x1002\n");
	check();
	rig_expect("fail", "rxe0 port 1 (eth0) is in state 1: DOWN, 3: Disabled",
		   "ip link set eth0 up");
	rig_file("/sys/class/net/eth0/flags", "0x1003\n");
	check();
	rig_expect("fail", "rxe0 port 1 (eth0) is in state 1: DOWN", "ethtool eth0");
}

/* Of two ports one may be down. */
static void test_one_of_two(void **state)
{
	(void)state;
	rig_healthy();
	rig_file("/sys/class/infiniband/rxe1/parent", "eth1\n");
	rig_file("/sys/class/infiniband/rxe1/ports/1/state", "1: DOWN\n");
	rig_file("/sys/class/infiniband/rxe1/ports/1/link_layer", "Ethernet\n");
	check();
	rig_expect("warn", "rxe1 port 1 (eth1) is in state 1: DOWN", "ip link set eth1 up");
	rig_none("fail");
}

static void test_mtu(void **state)
{
	(void)state;
	assert_int_equal(doctor_roce_mtu(4200), 4096);
	assert_int_equal(doctor_roce_mtu(9000), 4096);
	assert_int_equal(doctor_roce_mtu(1500), 1024);
	assert_int_equal(doctor_roce_mtu(2200), 2048);
	assert_int_equal(doctor_roce_mtu(300), 0);
	rig_healthy();
	rig_file("/sys/class/net/eth0/mtu", "1500\n");
	check();
	rig_expect("note", "eth0 has MTU 1500, room for 1024 bytes", "ip link set eth0 mtu 4200");
	rig_file("/sys/class/net/eth0/mtu", "300\n");
	check();
	rig_expect("fail", "eth0 has MTU 300", "ip link set eth0 mtu 4200");
}

static void test_gid_scope(void **state)
{
	(void)state;
	rig_healthy();
	rig_file(PORT "/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	check();
	rig_expect("warn", "would use GID 0 fe80::5054:ff:fe77:0, which is link-local",
		   "ip addr add ADDRESS/24 dev eth0");
	rig_file(PORT "/gids/3", "fd77:0000:0000:0000:0000:0000:0000:0001\n");
	rig_file(PORT "/gid_attrs/types/3", "RoCE v2\n");
	check();
	rig_expect("ok", "would use GID 3 fd77::1 (RoCE v2, IPv6) of 2", NULL);
	rig_remove(PORT "/gids");
	check();
	rig_expect("fail", "rxe0 port 1 has no GID", "ip addr add ADDRESS/24 dev eth0");
}

static void test_gid_type(void **state)
{
	(void)state;
	rig_healthy();
	rig_file(PORT "/gid_attrs/types/1", "IB/RoCE v1\n");
	check();
	rig_expect("warn", "would use GID 0 fe80", "ip addr add");
	rig_file(PORT "/gid_attrs/types/0", "IB/RoCE v1\n");
	check();
	rig_expect("warn", "GID 1 ::ffff:10.77.0.1 of type IB/RoCE v1, which routers",
		   "cma_roce_mode -d rxe0 -p 1 -m 2");
}

static void test_gid_pinned(void **state)
{
	(void)state;
	rig_healthy();
	rig_conf("FI_VERBS_GID_IDX", "8");
	check();
	rig_expect("fail", "GID 8, selected by FI_VERBS_GID_IDX",
		   "remove FI_VERBS_GID_IDX from libfabric.conf");
	setenv("FI_VERBS_GID_IDX", "1", 1);
	check();
	rig_expect("ok", "would use GID 1", NULL);
	rig_expect("ok", "FI_VERBS_GID_IDX asks for it", NULL);
	setenv("FI_VERBS_GID_IDX", "7", 1);
	check();
	rig_expect("fail", "GID 7, selected by FI_VERBS_GID_IDX", "unset FI_VERBS_GID_IDX");
	setenv("FI_VERBS_GID_IDX", "first", 1);
	check();
	rig_expect("fail", "FI_VERBS_GID_IDX is 'first'", "unset FI_VERBS_GID_IDX");
}

static void test_infiniband(void **state)
{
	(void)state;
	rig_file(IB "/node_type", "1: CA\n");
	rig_file(IB "/ports/1/link_layer", "InfiniBand\n");
	rig_file(IB "/ports/1/state", "4: ACTIVE\n");
	rig_file(IB "/ports/1/gids/0", "fe80:0000:0000:0000:0002:c903:0000:0001\n");
	rig_file(IB "/ports/1/gid_attrs/types/0", "IB/RoCE v1\n");
	rig_file(IB "/device/net/ib0/dev_port", "0\n");
	check();
	rig_expect("ok", "mlx5_0 port 1 is active, InfiniBand, interface ib0", NULL);
	rig_expect("ok", "would use GID 0 fe80::2:c903:0:1 (IB/RoCE v1) of 1: it is the only one",
		   NULL);
	rig_none("warn");
	rig_file(IB "/ports/1/gids/1", "fe80:0000:0000:0000:0002:c903:0000:0002\n");
	check();
	rig_expect("ok", "would use GID 0", NULL);
	rig_expect("ok", "all are equivalent", NULL);
	rig_remove("/sys/class/infiniband/mlx5_0/device");
	rig_file(IB "/ports/1/state", "2: INIT\n");
	check();
	rig_expect("fail", "mlx5_0 port 1 (InfiniBand) is in state 2: INIT",
		   "systemctl start opensm");
	rig_file(IB "/ports/1/state", "1: DOWN\n");
	check();
	rig_expect("fail", "mlx5_0 port 1 (InfiniBand) is in state 1: DOWN",
		   "rdma link show mlx5_0/1");
}

/* Two ports of one PCI function have an interface each. */
static void test_two_ports(void **state)
{
	(void)state;
	rig_file("/sys/class/infiniband/mlx4_0/device/net/enp1/dev_port", "0\n");
	rig_file("/sys/class/infiniband/mlx4_0/device/net/enp1d1/dev_port", "1\n");
	rig_file("/sys/class/infiniband/mlx4_0/ports/1/state", "1: DOWN\n");
	rig_file("/sys/class/infiniband/mlx4_0/ports/2/state", "1: DOWN\n");
	check();
	rig_expect("fail", "mlx4_0 port 1 (enp1)", "ip link set enp1 up");
	rig_expect("fail", "mlx4_0 port 2 (enp1d1)", "ip link set enp1d1 up");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_healthy),    TEST(test_down),	      TEST(test_one_of_two),
		TEST(test_mtu),	       TEST(test_gid_scope),  TEST(test_gid_type),
		TEST(test_gid_pinned), TEST(test_infiniband), TEST(test_two_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
