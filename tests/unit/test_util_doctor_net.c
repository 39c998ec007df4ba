/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_doctor on the addresses of interfaces and on several of them in one subnet. */
#include "unit.h"

#include <stdlib.h>

#include "doctor_rig.h"
#include "util/doctor_net.h"

#define CONF "/proc/sys/net/ipv4/conf"
#define PORT "/sys/class/infiniband/rxe0/ports/1"

static void check(void)
{
	struct doctor_ports ports;
	struct doctor_addrs addrs;

	rig_listen();
	assert_true(doctor_ports_read(&ports, doctor.root));
	assert_true(doctor_addrs_read(&addrs, doctor.root));
	doctor_net_check(&doctor, &ports, &addrs);
	doctor_addrs_free(&addrs);
	doctor_ports_free(&ports);
	rig_heard();
}

static void test_address(void **state)
{
	(void)state;
	rig_healthy();
	check();
	rig_expect("ok", "rxe0 port 1: the connection manager has 10.77.0.1 on eth0", NULL);
	rig_none("warn");
	rig_file("/ip-addr", "1: lo    inet 127.0.0.1/8 scope host lo\n");
	check();
	rig_expect("fail", "eth0 has no IP address: the connection manager cannot use rxe0 port 1",
		   "ip addr add ADDRESS/24 dev eth0");
	rig_file("/ip-addr", "2: eth0    inet6 fe80::1/64 scope link\n");
	check();
	rig_expect("warn", "eth0 has no IP address but fe80::1, which is link-local",
		   "ip addr add");
	rig_file("/ip-addr", "2: eth0    inet 169.254.0.1/16 scope link\n");
	check();
	rig_expect("warn", "eth0 has no IP address but 169.254.0.1", "ip addr add");
	rig_file("/ip-addr", "2: eth0    inet6 fd77::1/64 scope global\n");
	check();
	rig_expect("ok", "the connection manager has fd77::1 on eth0", NULL);
}

static void add_second(const char *addr)
{
	char text[256];

	rig_healthy();
	rig_file("/sys/class/infiniband/rxe1/parent", "eth1\n");
	rig_file("/sys/class/infiniband/rxe1/ports/1/state", "4: ACTIVE\n");
	rig_file("/sys/class/infiniband/rxe1/ports/1/link_layer", "Ethernet\n");
	snprintf(text, sizeof(text),
		 "2: eth0    inet 10.77.0.1/24 scope global eth0\n"
		 "3: eth1    %s\n",
		 addr);
	rig_file("/ip-addr", text);
}

static void test_one_of_two(void **state)
{
	(void)state;
	add_second("inet6 fe80::2/64 scope link");
	rig_file("/ip-addr", "2: eth0    inet 10.77.0.1/24 scope global eth0\n");
	check();
	rig_expect("warn", "eth1 has no IP address: the connection manager cannot use rxe1",
		   "dev eth1");
	rig_none("fail");
}

static void test_two_subnets(void **state)
{
	(void)state;
	add_second("inet 10.77.1.1/24 scope global eth1");
	check();
	rig_expect("ok", "rxe1 port 1: the connection manager has 10.77.1.1 on eth1", NULL);
	rig_none("warn");
}

static void test_one_subnet(void **state)
{
	(void)state;
	add_second("inet 10.77.0.2/24 scope global eth1");
	check();
	rig_expect("warn", "eth0 answers for addresses of other interfaces",
		   "sysctl -w net/ipv4/conf/eth0/arp_ignore=1 net/ipv4/conf/eth0/arp_announce=2");
	rig_expect("warn", "eth1 answers for addresses", "net/ipv4/conf/eth1/arp_ignore=1");
	rig_expect("ok", "eth0 accepts packets whatever route", NULL);

	rig_file(CONF "/eth0/arp_ignore", "1\n");
	rig_file(CONF "/eth0/arp_announce", "2\n");
	rig_file(CONF "/all/rp_filter", "1\n");
	rig_file(CONF "/eth1/rp_filter", "2\n");
	check();
	rig_expect("ok", "eth0 answers for its own addresses only", NULL);
	rig_expect("warn", "eth1 answers for addresses", "arp_ignore");
	rig_expect("warn", "eth0 drops packets", "net/ipv4/conf/eth0/rp_filter=2");
	rig_expect("ok", "eth1 accepts packets", NULL);

	rig_file(CONF "/all/arp_ignore", "1\n");
	rig_file(CONF "/all/arp_announce", "2\n");
	rig_file(CONF "/all/rp_filter", "2\n");
	check();
	rig_none("warn");
}

/* The GIDs of interfaces on top of eth0 follow its own. */
static void add_vlan(const char *addrs)
{
	rig_healthy();
	rig_file(PORT "/gid_attrs/ndevs/2", "eth0.100\n");
	rig_file(PORT "/gid_attrs/ndevs/3", "eth0.100\n");
	rig_file(PORT "/gid_attrs/ndevs/4", "br0\n");
	rig_file("/sys/class/net/eth0.100/mtu", "4200\n");
	rig_file("/ip-addr", addrs);
}

static void test_vlan(void **state)
{
	(void)state;
	add_vlan("2: eth0    inet6 fe80::1/64 scope link\n"
		 "3: eth0.100    inet 192.168.100.1/24 scope global eth0.100\n");
	setenv("FI_VERBS_IFACE", "eth0.100", 1);
	check();
	rig_expect("ok", "rxe0 port 1: the connection manager has 192.168.100.1 on eth0.100", NULL);
	rig_expect("ok", "eth0.100 has MTU 4200, room for 4096 bytes", NULL);
	rig_none("note");
	rig_none("warn");
	rig_none("fail");
	setenv("FI_VERBS_IFACE", "eth1", 1);
	rig_file("/sys/class/net/eth0.100/mtu", "1500\n");
	check();
	rig_expect("note", "eth0.100 is left out by FI_VERBS_IFACE=eth1", "unset FI_VERBS_IFACE");
	rig_expect("note", "eth0.100 has MTU 1500", "ip link set eth0.100 mtu 4200");
}

static void test_bridge(void **state)
{
	(void)state;
	add_vlan("2: br0    inet6 fe80::1/64 scope link\n");
	check();
	rig_expect("warn", "br0 has no IP address but fe80::1, which is link-local", "dev br0");
	add_vlan("2: br0    inet 10.77.0.1/24 scope global br0\n");
	rig_file("/sys/class/net/br0/mtu", "9000\n");
	check();
	rig_expect("ok", "the connection manager has 10.77.0.1 on br0", NULL);
	rig_expect("ok", "br0 has MTU 9000, room for 4096 bytes", NULL);
	rig_none("fail");
}

static void test_vlans_one_subnet(void **state)
{
	(void)state;
	add_second("inet 10.77.1.1/24 scope global eth1");
	add_vlan("2: eth0    inet 10.77.0.1/24 scope global eth0\n"
		 "3: eth0.100    inet 10.77.1.2/24 scope global eth0.100\n"
		 "4: eth1    inet 10.77.1.1/24 scope global eth1\n");
	check();
	rig_expect("ok", "eth0.100 and eth1 are on one subnet", NULL);
	rig_expect("ok", "eth1 and eth0.100 are on one subnet", NULL);
	rig_expect("warn", "eth0.100 answers for addresses",
		   "sysctl -w net/ipv4/conf/eth0.100/arp_ignore=1");
}

static void test_port_of(void **state)
{
	struct doctor_ports ports;
	const struct doctor_port *port;

	(void)state;
	add_second("");
	add_vlan("");
	rig_listen();
	assert_true(doctor_ports_read(&ports, doctor.root));
	rig_heard();
	port = doctor_port_of(&ports, "eth0.100");
	assert_non_null(port);
	assert_string_equal(port->device, "rxe0");
	assert_ptr_equal(doctor_port_of(&ports, "eth0"), port);
	assert_ptr_equal(doctor_port_of(&ports, "br0"), port);
	assert_string_equal(doctor_port_of(&ports, "eth1")->device, "rxe1");
	assert_null(doctor_port_of(&ports, "eth2"));
	doctor_ports_free(&ports);
}

static void test_filters(void **state)
{
	(void)state;
	rig_healthy();
	setenv("FI_VERBS_IFACE", "ib,eth", 1);
	setenv("FI_VERBS_DEVICE_NAME", "rxe0", 1);
	check();
	rig_none("note");
	unsetenv("FI_VERBS_IFACE");
	rig_conf("FI_VERBS_IFACE", "ib7");
	check();
	rig_expect("note", "eth0 is left out by FI_VERBS_IFACE=ib7",
		   "remove FI_VERBS_IFACE from libfabric.conf");
	setenv("FI_VERBS_IFACE", "ib0", 1);
	setenv("FI_VERBS_DEVICE_NAME", "mlx5", 1);
	check();
	rig_expect("note", "eth0 is left out by FI_VERBS_IFACE=ib0", "unset FI_VERBS_IFACE");
	rig_expect("note", "rxe0 is left out by FI_VERBS_DEVICE_NAME=mlx5",
		   "unset FI_VERBS_DEVICE_NAME");
}

static void test_addresses(void **state)
{
	struct doctor_addrs addrs;

	(void)state;
	rig_listen();
	assert_false(doctor_addrs_read(&addrs, doctor.root));
	rig_heard();
	rig_file("/ip-addr", "nonsense\n"
			     "2: eth0    inet x/24\n"
			     "2: eth0    inet 10.0.0.1/99 scope global\n");
	rig_listen();
	assert_true(doctor_addrs_read(&addrs, doctor.root));
	rig_heard();
	assert_string_equal(STAILQ_FIRST(&addrs)->text, "10.0.0.1");
	assert_int_equal(STAILQ_FIRST(&addrs)->mask, 0);
	doctor_addrs_free(&addrs);
	assert_true(doctor_addrs_read(&addrs, ""));
	doctor_addrs_free(&addrs);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_address),    TEST(test_one_of_two), TEST(test_two_subnets),
		TEST(test_one_subnet), TEST(test_filters),    TEST(test_addresses),
		TEST(test_vlan),       TEST(test_bridge),     TEST(test_vlans_one_subnet),
		TEST(test_port_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
