/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Snapshots of healthy, faulty and empty machines. */
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <infiniband/ib.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include "capture.h"
#include "fork_rig.h"
#include "mock_device.h"
#include "prov/verbs/dgram/ud_port.h"
#include "prov/verbs/discovery/device.h"
#include "prov/verbs/discovery/inline.h"
#include "prov/verbs/provider/prov.h"

static const uint8_t mac[6] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };
static const uint8_t other_mac[6] = { 0x52, 0x54, 0, 0, 0, 1 };

static struct vrb_snapshot snapshot;
static const char *log_text;

static const char *if_inet6; /* what the system tells about IPv6 addresses; NULL: no IPv6 */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (strcmp(path, "/proc/net/if_inet6"))
		return __real_fopen(path, mode);
	return if_inet6 ? fmemopen((char *)if_inet6, strlen(if_inet6), "r") : NULL;
}

static int setup(void **state)
{
	(void)state;
	if_inet6 = NULL;
	mock_reset();
	STAILQ_INIT(&snapshot);
	vrb_params = (struct vrb_params){ .gid_idx = -1 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	vrb_snapshot_free(&snapshot);
	return 0;
}

/* Each test has a device of another name, since limits and warnings are remembered by name. */
static struct mock_device *roce(const char *name)
{
	struct mock_device *device = mock_add_device(name);

	mock_add_gid(device, 1, 0, IBV_GID_TYPE_ROCE_V2, "fe80::5054:ff:fe12:3456", 2);
	mock_add_gid(device, 1, 1, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 2);
	mock_add_gid(device, 1, 2, IBV_GID_TYPE_ROCE_V2, "2001:db8::1", 2);
	mock_add_gid(device, 1, 3, IBV_GID_TYPE_ROCE_V1, "::ffff:169.254.1.1", 2);
	mock_add_if("lo", 1, IFF_LOOPBACK, mac, 6);
	mock_add_if("eth0", 2, 0, mac, 6);
	mock_add_if("eth1", 3, 0, other_mac, 6);
	mock_add_ip("lo", "127.0.0.1");
	mock_add_ip("eth0", "fe80::5054:ff:fe12:3456");
	mock_add_ip("eth0", "2001:db8::1");
	mock_add_ip("eth0", "169.254.1.1");
	mock_add_ip("eth0:1", "10.0.0.1");
	mock_add_ip("eth1", "10.0.1.1");
	return device;
}

static struct vrb_device *take(void)
{
	int ret;

	vrb_snapshot_free(&snapshot);
	capture_start();
	ret = vrb_snapshot_take(&snapshot);
	log_text = capture_stop();
	assert_int_equal(ret, 0);
	return STAILQ_FIRST(&snapshot);
}

static void expect_addrs(const struct vrb_port *port, const char *expected)
{
	const struct vrb_port_addr *addr;
	char text[512] = "", one[OFI_ADDR_STRLEN];

	STAILQ_FOREACH (addr, &port->addrs, next) {
		ofi_addr_str((const struct sockaddr *)&addr->addr, one, sizeof(one));
		strcat(text, strstr(one, "//") + 2);
		strcat(text, " ");
	}
	assert_string_equal(text, expected);
}

static void test_no_device(void **state)
{
	(void)state;
	assert_null(take());
	mock_fail("ibv_get_device_list", ENOSYS);
	assert_null(take());
	assert_string_equal(log_text, "");
}

static void test_list_shortage(void **state)
{
	(void)state;
	mock_fail("ibv_get_device_list", EMFILE);
	assert_int_equal(vrb_snapshot_take(&snapshot), -FI_EMFILE);
}

static void test_roce(void **state)
{
	struct mock_device *device = roce("roce0");
	struct vrb_device *dev = take();

	(void)state;
	assert_int_equal(dev->err, 0);
	assert_string_equal(dev->name, "roce0");
	assert_int_equal(dev->max_inline, 972);
	assert_int_equal(dev->num_ports, 1);
	assert_int_equal(dev->ports[0].gid_index, 1);
	assert_int_equal(be64toh(dev->ports[0].subnet) >> 32, 0xfe800000);
	assert_string_equal(dev->ports[0].link_addr, "52:54:00:12:34:56");
	expect_addrs(&dev->ports[0],
		     "10.0.0.1:0 [2001:db8::1]:0 169.254.1.1:0 [fe80::5054:ff:fe12:3456]:0 ");
	assert_string_equal(STAILQ_FIRST(&dev->ports[0].addrs)->netdev, "eth0");
	assert_int_equal(device->alive, 0);
}

/* The newest address is listed first. */
static void test_fading(void **state)
{
	struct mock_device *device = roce("roce9");
	struct vrb_device *dev;

	(void)state;
	mock_add_gid(device, 1, 4, IBV_GID_TYPE_ROCE_V2, "2001:db8::2", 2);
	mock_add_gid(device, 1, 5, IBV_GID_TYPE_ROCE_V2, "2001:db8::3", 2);
	mock_add_gid(device, 1, 6, IBV_GID_TYPE_ROCE_V2, "2001:db8::4", 2);
	mock_add_gid(device, 1, 7, IBV_GID_TYPE_ROCE_V2, "2001:db8::5", 2);
	mock_add_ip("eth0", "2001:db8::2");
	mock_add_ip("eth0", "2001:db8::3");
	mock_add_ip("eth0", "2001:db8::4");
	mock_add_ip("eth0", "2001:db8::5");
	dev = take();
	expect_addrs(&dev->ports[0], "10.0.0.1:0 [2001:db8::1]:0 [2001:db8::2]:0 [2001:db8::3]:0 "
				     "[2001:db8::4]:0 [2001:db8::5]:0 169.254.1.1:0 "
				     "[fe80::5054:ff:fe12:3456]:0 ");
	if_inet6 = "20010db8000000000000000000000001 02 40 00 a0     eth0\n"
		   "20010db8000000000000000000000002 02 40 00 01     eth0\n"
		   "20010db8000000000000000000000003 03 40 00 c0     eth1\n"
		   "20010db8000000000000000000000003 02 40 00 80     eth0\n"
		   "20010db8000000000000000000000004 02 40 00 40     eth0\n"
		   "20010db8000000000000000000000005 02 40 00 c8     eth0\n"
		   "fe80000000000000505400fffe123456 02 40 20 80     eth0\n";
	dev = take();
	expect_addrs(&dev->ports[0], "10.0.0.1:0 [2001:db8::3]:0 [2001:db8::1]:0 [2001:db8::2]:0 "
				     "169.254.1.1:0 [fe80::5054:ff:fe12:3456]:0 ");
}

/* Interfaces of other namespaces may have the index of the port's; a VLAN has its own. */
static void test_foreign_address(void **state)
{
	struct mock_device *device = roce("foreign0");

	(void)state;
	mock_add_ip("eth0", "192.168.99.1");
	mock_add_ip("eth0", "fd00::99");
	mock_add_gid(device, 1, 4, IBV_GID_TYPE_ROCE_V2, "::ffff:10.5.0.1", 7);
	mock_add_gid(device, 1, 5, IBV_GID_TYPE_ROCE_V2, "::ffff:192.168.99.1", 7);
	mock_add_gid(device, 2, 6, IBV_GID_TYPE_ROCE_V2, "fd00::99", 2);
	mock_add_if("eth0.5", 7, 0, mac, 6);
	mock_add_ip("eth0.5", "10.5.0.1");
	expect_addrs(&take()->ports[0], "10.0.0.1:0 10.5.0.1:0 [2001:db8::1]:0 169.254.1.1:0 "
					"[fe80::5054:ff:fe12:3456]:0 ");
}

static void test_probe_once(void **state)
{
	struct mock_device *device = roce("probed0");
	unsigned qps;

	(void)state;
	take();
	qps = device->qps;
	assert_in_range(qps, 1, 16);
	take();
	assert_int_equal(device->qps, qps);
	assert_int_equal(STAILQ_FIRST(&snapshot)->max_inline, 972);
}

static void test_tiny(void **state)
{
	struct mock_device *device = roce("tiny0");

	(void)state;
	device->max_inline = 0;
	assert_int_equal(take()->max_inline, 0);
}

static void test_granted_inline(void **state)
{
	struct mock_device *device = roce("granted0");

	(void)state;
	device->grants_less = true;
	device->max_inline = 0;
	assert_int_equal(take()->max_inline, 0);
	mock_reset();
	device = roce("granted64");
	device->grants_less = true;
	device->max_inline = 64;
	assert_int_equal(take()->max_inline, 64);
	assert_in_range(device->qps, 1, 4);
}

static void test_pinned_gid(void **state)
{
	(void)state;
	roce("pinned0");
	vrb_params.gid_idx = 0;
	expect_addrs(&take()->ports[0], "[fe80::5054:ff:fe12:3456]:0 ");
	vrb_params.gid_idx = 1;
	expect_addrs(&take()->ports[0], "10.0.0.1:0 ");
	vrb_params.gid_idx = 9;
	assert_int_equal(take()->ports[0].gid_index, -1);
}

static void test_iface(void **state)
{
	(void)state;
	roce("iface0");
	vrb_params.iface = "ib,eth";
	assert_false(STAILQ_EMPTY(&take()->ports[0].addrs));
	vrb_params.iface = "eth1";
	assert_true(STAILQ_EMPTY(&take()->ports[0].addrs));
}

static void test_device_name(void **state)
{
	struct mock_device *device = roce("name0");
	struct vrb_device *dev;

	(void)state;
	vrb_params.device_name = "mlx5_0,na";
	assert_int_equal(take()->err, 0);
	vrb_params.device_name = "mlx5";
	dev = take();
	assert_int_equal(dev->err, FI_ENODEV);
	assert_string_equal(dev->why.attr, "FI_VERBS_DEVICE_NAME");
	assert_string_equal(dev->why.asked, "mlx5");
	assert_string_equal(dev->why.has, "name0");
	assert_int_equal(device->opens, 1);
	assert_string_equal(log_text, "");
}

static void test_infiniband(void **state)
{
	static const uint8_t hw[20] = { 0x80, 0, 2, 8, 0xfe, 0x80, 0, 0, 0, 0,
					0,    0, 0, 2, 0xc9, 3,	   0, 1, 2, 3 };
	struct mock_device *device = mock_add_device("ib0");
	const struct vrb_port_addr *addr;
	const struct sockaddr_ib *ib;
	struct vrb_port *port;

	(void)state;
	device->port[0].link_layer = IBV_LINK_LAYER_INFINIBAND;
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_IB, "fe80::2:c903:1:203", 0);
	mock_add_if("ib0", 5, 0, hw, sizeof(hw));
	mock_add_ip("ib0", "192.168.7.1");
	port = &take()->ports[0];
	addr = STAILQ_FIRST(&port->addrs);
	assert_int_equal(addr->addr.ss_family, AF_INET);
	addr = STAILQ_NEXT(addr, next);
	assert_non_null(addr);
	ib = (const void *)&addr->addr;
	assert_int_equal(ib->sib_family, AF_IB);
	assert_int_equal(ib->sib_pkey, 0xffff);
	assert_memory_equal(&ib->sib_addr, &port->gid, sizeof(port->gid));
	assert_string_equal(port->link_addr, "fe80::2:c903:1:203");
}

/* Gives an InfiniBand device a table of P_Keys that begins with a limited membership. */
static void mix_pkeys(struct mock_device *device)
{
	static const uint16_t pkeys[] = { 0x7fff, 0, 0x8001, 0xffff };

	memcpy(device->pkey, pkeys, sizeof(pkeys));
	device->port[0].pkey_tbl_len = device->port[1].pkey_tbl_len = 4;
}

static void test_infiniband_pkey(void **state)
{
	struct mock_device *device = mock_add_device("ib0");

	(void)state;
	device->port[0].link_layer = IBV_LINK_LAYER_INFINIBAND;
	assert_int_equal(take()->ports[0].pkey, 0xffff);
	mix_pkeys(device);
	assert_int_equal(take()->ports[0].pkey, 0x8001);
	device->port[0].pkey_tbl_len = 2;
	assert_int_equal(take()->ports[0].pkey, 0x7fff);
	mock_fail("ibv_query_pkey", EIO);
	assert_int_equal(take()->ports[0].pkey, 0xffff);
}

static struct vrb_ud_port dgram_port(struct mock_device *device, const char *ip, int expected)
{
	struct ibv_context *ctx = ibv_open_device(&device->dev);
	struct sockaddr_in src = { .sin_family = AF_INET };
	struct fi_info info = { .addr_format = FI_SOCKADDR_IN,
				.src_addr = &src,
				.src_addrlen = sizeof(src) };
	struct vrb_ud_port port = { 0 };

	assert_int_equal(inet_pton(AF_INET, ip, &src.sin_addr), 1);
	capture_start();
	assert_int_equal(vrb_ud_port_find("fi_endpoint", ctx, &info, &port), expected);
	capture_stop();
	ibv_close_device(ctx);
	return port;
}

static struct mock_device *two_ports(void)
{
	uint8_t hw[20] = { 0x80, 0, 2, 8, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 2, 0xc9, 3, 0, 1, 2, 3 };
	struct mock_device *device = mock_add_device("twoport0");

	device->attr.phys_port_cnt = 2;
	device->port[0].link_layer = device->port[1].link_layer = IBV_LINK_LAYER_INFINIBAND;
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_IB, "fe80::2:c903:1:203", 0);
	mock_add_gid(device, 2, 0, IBV_GID_TYPE_IB, "fe80::2:c903:1:204", 0);
	mock_add_if("ib0", 5, 0, hw, sizeof(hw));
	hw[19] = 4;
	mock_add_if("ib1", 6, 0, hw, sizeof(hw));
	mock_add_ip("ib0", "10.0.1.1");
	mock_add_ip("ib1", "10.0.2.1");
	mock_add_if("ib1.8001", 7, 0, hw, sizeof(hw));
	mock_set_if_pkey(0x8001);
	mock_add_ip("ib1.8001", "10.0.3.1");
	return device;
}

/* Datagrams leave from the port whose IPoIB interface has the source address. */
static void test_infiniband_datagrams(void **state)
{
	struct mock_device *device = two_ports();

	(void)state;
	assert_int_equal(dgram_port(device, "10.0.2.1", 0).num, 2);
	assert_int_equal(dgram_port(device, "10.0.1.1", 0).num, 1);
	assert_int_equal(dgram_port(device, "0.0.0.0", 0).num, 1);
	assert_int_equal(dgram_port(device, "10.0.4.1", -FI_EADDRNOTAVAIL).num, 0);
	mock_fail("getifaddrs", ENOBUFS);
	assert_int_equal(dgram_port(device, "10.0.2.1", -FI_ENOBUFS).num, 0);
}

static void expect_partition(struct mock_device *device, const char *ip, uint16_t pkey,
			     uint16_t index)
{
	struct vrb_ud_port port = dgram_port(device, ip, 0);

	assert_int_equal(port.pkey, pkey);
	assert_int_equal(port.pkey_index, index);
}

/* Datagrams belong to the partition of that interface, with full membership if the port has it. */
static void test_infiniband_partitions(void **state)
{
	struct mock_device *device = two_ports();

	(void)state;
	mix_pkeys(device);
	expect_partition(device, "10.0.2.1", 0xffff, 3);
	expect_partition(device, "10.0.3.1", 0x8001, 2);
	expect_partition(device, "0.0.0.0", 0x8001, 2);
	device->port[1].pkey_tbl_len = 2;
	expect_partition(device, "10.0.2.1", 0x7fff, 0);
	dgram_port(device, "10.0.3.1", -FI_EADDRNOTAVAIL);
	mock_fail("ibv_query_pkey", EIO);
	dgram_port(device, "10.0.2.1", -FI_EIO);
}

static void test_iwarp(void **state)
{
	struct mock_device *device = mock_add_device("siw0");
	struct ibv_gid_entry *gid = &device->gid[0];

	(void)state;
	device->dev.node_type = IBV_NODE_RNIC;
	device->dev.transport_type = IBV_TRANSPORT_IWARP;
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_IB, "::", 0);
	memcpy(gid->gid.raw, mac, sizeof(mac));
	mock_add_if("eth0", 2, 0, mac, 6);
	mock_add_ip("eth0", "10.0.0.1");
	vrb_params.gid_idx = 0;
	expect_addrs(&take()->ports[0], "10.0.0.1:0 ");
}

static void test_permission(void **state)
{
	struct mock_device *device = roce("secret0");
	struct vrb_device *dev;

	(void)state;
	device->open_errno = EACCES;
	dev = take();
	assert_int_equal(dev->err, FI_EACCES);
	assert_int_equal(dev->num_ports, 0);
	assert_string_equal(dev->why.attr, "device");
	assert_string_equal(dev->why.has,
			    "Permission denied: give this user access to /dev/infiniband/uverbs0");
	assert_non_null(strstr(log_text, "secret0: ibv_open_device failed: Permission denied"));
	take();
	assert_string_equal(log_text, "");
}

static void expect_failure(const char *name, const char *call, int err, const char *text)
{
	struct mock_device *device;
	struct vrb_device *dev;

	mock_reset();
	device = roce(name);
	mock_fail(call, err);
	dev = take();
	assert_int_equal(dev->err, err);
	assert_string_equal(dev->why.asked, call);
	assert_non_null(strstr(dev->why.has, text));
	assert_non_null(strstr(log_text, text));
	assert_int_equal(dev->num_ports, 0);
	assert_int_equal(device->alive, 0);
}

static void test_failures(void **state)
{
	(void)state;
	expect_failure("f0", "ibv_query_device", EIO, "Input/output error");
	expect_failure("f1", "ibv_alloc_pd", ENOMEM,
		       "raise the limit of locked memory (ulimit -l)");
	expect_failure("f2", "ibv_create_cq", ENOMEM, "(ulimit -l)");
	expect_failure("f3", "ibv_create_qp", EOPNOTSUPP,
		       "neither reliable connected nor datagram");
	expect_failure("f4", "ibv_query_port", ENODEV, "load the module ib_uverbs");
	expect_failure("f5", "ibv_query_gid_table", EMFILE, "limit of open files (ulimit -n)");
}

static void test_getifaddrs(void **state)
{
	(void)state;
	roce("noif0");
	mock_fail("getifaddrs", ENOBUFS);
	capture_start();
	assert_int_equal(vrb_snapshot_take(&snapshot), -ENOBUFS);
	assert_non_null(strstr(capture_stop(), "getifaddrs failed"));
	assert_true(STAILQ_EMPTY(&snapshot));
}

static void test_sysfs(void **state)
{
	char dir[] = "/tmp/test_verbs_device.XXXXXX", path[64];
	struct mock_device *device = roce("pci0");
	struct vrb_device *dev;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(device->dev.ibdev_path, sizeof(device->dev.ibdev_path), "%s", dir);
	snprintf(path, sizeof(path), "%s/device", dir);
	assert_int_equal(symlink("../0000:3b:00.1", path), 0);
	dev = take();
	assert_true(dev->on_pci);
	assert_int_equal(dev->pci.domain_id, 0);
	assert_int_equal(dev->pci.bus_id, 0x3b);
	assert_int_equal(dev->pci.device_id, 0);
	assert_int_equal(dev->pci.function_id, 1);
	assert_string_equal(dev->driver, "");
	unlink(path);
	rmdir(dir);
}

static void test_open(void **state)
{
	struct mock_device *device = roce("open0");
	struct ibv_context *ctx;
	int err;

	(void)state;
	ctx = vrb_device_open("open0", false, &err);
	assert_non_null(ctx);
	assert_int_equal(err, 0);
	ibv_close_device(ctx);
	capture_start();
	assert_null(vrb_device_open("gone0", false, &err));
	log_text = capture_stop();
	assert_int_equal(err, -FI_ENODEV);
	assert_non_null(strstr(log_text, "gone0: there is no such device"));
	device->open_errno = EACCES;
	capture_start();
	assert_null(vrb_device_open("open0", false, &err));
	log_text = capture_stop();
	assert_int_equal(err, -FI_EACCES);
	assert_non_null(strstr(log_text, "give this user access to /dev/infiniband/uverbs0"));
}

/* A stale errno says nothing about a device that refuses a size without setting errno. */
static void test_errno_of_before(void **state)
{
	struct mock_device *device = roce("mute0");
	uint32_t max = 0, again = 0;
	struct ibv_context *ctx;
	const char *call;
	unsigned qps;
	int err;

	(void)state;
	device->leaves_errno = true;
	ctx = vrb_device_open("mute0", false, &err);
	assert_non_null(ctx);
	errno = EAGAIN;
	assert_int_equal(vrb_inline_max(ctx, IBV_QPT_RC, &call, &max), 0);
	assert_int_equal(max, 972);
	qps = device->qps;
	errno = EAGAIN;
	assert_int_equal(vrb_inline_max(ctx, IBV_QPT_RC, &call, &again), 0);
	assert_int_equal(again, 972);
	assert_int_equal(device->qps, qps);
	ibv_close_device(ctx);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Domains and endpoints do this while no snapshot is taken. */
static void ask_limit(void)
{
	struct ibv_context *ctx;
	const char *call;
	uint32_t max = 0;
	int err;

	ctx = vrb_device_open("forked", false, &err);
	vrb_inline_max(ctx, IBV_QPT_RC, &call, &max);
	ibv_close_device(ctx);
}

static void test_fork(void **state)
{
	(void)state;
	roce("forked");
	fork_amid(ask_limit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_device),
		TEST(test_fork),
		TEST(test_list_shortage),
		TEST(test_roce),
		TEST(test_fading),
		TEST(test_probe_once),
		TEST(test_tiny),
		TEST(test_granted_inline),
		TEST(test_foreign_address),
		TEST(test_pinned_gid),
		TEST(test_iface),
		TEST(test_device_name),
		TEST(test_infiniband),
		TEST(test_infiniband_pkey),
		TEST(test_infiniband_datagrams),
		TEST(test_infiniband_partitions),
		TEST(test_iwarp),
		TEST(test_permission),
		TEST(test_failures),
		TEST(test_getifaddrs),
		TEST(test_sysfs),
		TEST(test_open),
		TEST(test_errno_of_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
