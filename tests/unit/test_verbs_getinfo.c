/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The provider's fi_getinfo on a simulated machine: its offers, their order, and rejections. */
#include "unit.h"
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/addr.h>
#include <ofi/explain.h>
#include <rdma/fi_errno.h>
#include "capture.h"
#include "mock_device.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/provider/fabric.h"
#include "prov/verbs/discovery/info.h"
#include "prov/verbs/discovery/known.h"
#include "prov/verbs/provider/prov.h"

#define V2 FI_VERSION(2, 6)
static const uint8_t mac[6] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };

static struct mock_device *device;
static struct fi_info *info, *hints;
static char why[4096];
static enum fi_ep_type type; /* what is looked at */

static void on_reject(const struct fi_explain_entry *entry)
{
	size_t len = strlen(why);

	if (entry->ep_type != FI_EP_UNSPEC && entry->ep_type != type)
		return;
	snprintf(why + len, sizeof(why) - len, "%s port %u misses %u: %s: asked %s, has %s\n",
		 entry->domain_name ? entry->domain_name : "-", entry->port, entry->misses,
		 entry->attr, entry->asked, entry->has);
}

static int setup(void **state)
{
	struct ofi_prov_context context = { .magic = OFI_PROV_CONTEXT_MAGIC, .reject = on_reject };

	(void)state;
	memcpy(&vrb_prov.context, &context, sizeof(context));
	why[0] = '\0';
	type = FI_EP_MSG;
	vrb_known_forget();
	mock_reset();
	vrb_params = (struct vrb_params){ .tx_size = 384,
					  .rx_size = 384,
					  .tx_iov_limit = 4,
					  .rx_iov_limit = 4,
					  .inline_size = 256,
					  .gid_idx = -1 };
	hints = fi_allocinfo();
	hints->mode = ~0ULL;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fi_freeinfo(info);
	fi_freeinfo(hints);
	info = NULL;
	return 0;
}

/* rxe0 on eth0 with 10.0.0.1 and fd00::1, rxe1 on eth1 with 10.0.1.1 */
static void two_devices(void)
{
	struct mock_device *other;

	device = mock_add_device("rxe0");
	other = mock_add_device("rxe1");
	mock_add_gid(device, 1, 0, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 2);
	mock_add_gid(device, 1, 1, IBV_GID_TYPE_ROCE_V2, "fd00::1", 2);
	mock_add_gid(other, 1, 0, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.1.1", 3);
	mock_add_if("eth0", 2, 0, mac, 6);
	mock_add_if("eth1", 3, 0, mac, 6);
	mock_add_ip("eth0", "fd00::1");
	mock_add_ip("eth0", "10.0.0.1");
	mock_add_ip("eth1", "10.0.1.1");
	mock_add_route("10.0.0.9", "10.0.0.1", "eth0");
	mock_add_route("10.0.1.9", "10.0.1.1", "eth1");
	mock_add_route("10.9.9.9", "10.0.1.1", "eth1");
	mock_add_route("10.9.9.9", "10.0.0.1", "eth0");
}

static int get(const char *node, const char *service, uint64_t flags, const struct fi_info *asked)
{
	fi_freeinfo(info);
	info = NULL;
	why[0] = '\0';
	return vrb_getinfo(V2, node, service, flags, asked, &info);
}

/* "rxe0 10.0.0.1:0 > 10.0.0.9:7471\n" for each */
static void expect(const char *expected)
{
	char text[2048] = "", addr[OFI_ADDR_STRLEN];
	const struct fi_info *i;

	for (i = info; i; i = i->next) {
		if (i->ep_attr->type != type)
			continue;
		strcpy(addr, "//name");
		if (i->addr_format != FI_ADDR_IB_UD)
			ofi_addr_str(i->src_addr, addr, sizeof(addr));
		sprintf(text + strlen(text), "%s %s", i->domain_attr->name, strstr(addr, "//") + 2);
		if (i->dest_addr) {
			ofi_addr_str(i->dest_addr, addr, sizeof(addr));
			sprintf(text + strlen(text), " > %s", strstr(addr, "//") + 2);
		}
		strcat(text, "\n");
	}
	assert_string_equal(text, expected);
}

static void expect_none(const char *expected)
{
	assert_null(info);
	assert_string_equal(why, expected);
}

static void test_no_device(void **state)
{
	(void)state;
	assert_int_equal(get(NULL, NULL, 0, NULL), -FI_ENODATA);
	assert_non_null(strstr(why, "- port 0 misses 1: device: asked an RDMA device, has "));
}

static void test_all(void **state)
{
	(void)state;
	two_devices();
	assert_int_equal(get(NULL, NULL, 0, NULL), 0);
	expect("rxe0 10.0.0.1:0\nrxe1 10.0.1.1:0\nrxe0 [fd00::1]:0\n");
	assert_string_equal(why, "");
	assert_int_equal(info->addr_format, FI_SOCKADDR_IN);
	assert_int_equal(info->src_addrlen, sizeof(struct sockaddr_in));
	assert_int_equal(info->tx_attr->size, 384);
	assert_int_equal(info->mode, FI_RX_CQ_DATA);
	assert_int_equal(info->domain_attr->cq_data_size, 4);
}

static void test_source(void **state)
{
	(void)state;
	two_devices();
	assert_int_equal(get(NULL, "7471", FI_SOURCE, NULL), 0);
	expect("rxe0 0.0.0.0:7471\nrxe1 0.0.0.0:7471\nrxe0 [::]:7471\n");
	assert_int_equal(get(NULL, "7471", 0, NULL), 0);
	expect("rxe0 0.0.0.0:7471\nrxe1 0.0.0.0:7471\nrxe0 [::]:7471\n");
	assert_int_equal(get("10.0.1.1", "5", FI_SOURCE | FI_NUMERICHOST, NULL), 0);
	expect("rxe1 10.0.1.1:5\n");
	assert_int_equal(get("fi_sockaddr_in6://[fd00::1]:9", NULL, FI_SOURCE, NULL), 0);
	expect("rxe0 [fd00::1]:9\n");
	assert_int_equal(get("10.7.7.7", NULL, FI_SOURCE, NULL), -FI_ENODATA);
	expect_none(
		"rxe0 port 1 misses 1: src_addr: asked fi_sockaddr_in://10.7.7.7:0, has fi_sockaddr_in://10.0.0.1:0\n"
		"rxe0 port 1 misses 1: src_addr: asked fi_sockaddr_in://10.7.7.7:0, has fi_sockaddr_in6://[fd00::1]:0\n"
		"rxe1 port 1 misses 1: src_addr: asked fi_sockaddr_in://10.7.7.7:0, has fi_sockaddr_in://10.0.1.1:0\n");
}

static void test_destination(void **state)
{
	(void)state;
	two_devices();
	assert_int_equal(get("10.0.1.9", "7471", 0, NULL), 0);
	expect("rxe1 10.0.1.1:0 > 10.0.1.9:7471\n");
	assert_non_null(strstr(
		why,
		"rxe0 port 1 misses 1: dest_addr: asked fi_sockaddr_in://10.0.1.9:7471, has through eth0: Network is unreachable\n"));
	assert_int_equal(get("10.9.9.9", NULL, 0, NULL), 0); /* what the kernel prefers is first */
	expect("rxe1 10.0.1.1:0 > 10.9.9.9:0\nrxe0 10.0.0.1:0 > 10.9.9.9:0\n");
	assert_int_equal(get("10.8.8.8", NULL, 0, NULL), -FI_ENODATA);
	assert_int_equal(get("127.0.0.1", "7", 0, NULL), 0); /* this host, by each of its devices */
	expect("rxe0 10.0.0.1:0 > 10.0.0.1:7\nrxe1 10.0.1.1:0 > 10.0.1.1:7\n");
}

static void test_names(void **state)
{
	(void)state;
	two_devices();
	assert_int_equal(get("no such host", "7471", FI_NUMERICHOST, NULL), -FI_ENODATA);
	expect_none(
		"- port 0 misses 1: node: asked no such host, service 7471, has Name or service not known\n");
	capture_start();
	assert_int_equal(get("fi_sockaddr_in://x", NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(get("fi_sockaddr_in://10.0.0.1:1", "7", 0, NULL), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "service must be NULL"));
}

static void set_in(void **addr, size_t *len, uint32_t ip, uint16_t port)
{
	struct sockaddr_in *in = calloc(1, sizeof(*in));

	in->sin_family = AF_INET;
	in->sin_addr.s_addr = htonl(ip);
	in->sin_port = htons(port);
	*addr = in;
	*len = sizeof(*in);
}

static void test_hint_addresses(void **state)
{
	(void)state;
	two_devices();
	set_in(&hints->src_addr, &hints->src_addrlen, 0x0a000001, 5);
	set_in(&hints->dest_addr, &hints->dest_addrlen, 0x0a000009, 6);
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	expect("rxe0 10.0.0.1:5 > 10.0.0.9:6\n");
	assert_int_equal(get(NULL, "8", 0, hints), 0); /* the service goes before dest_addr */
	expect("rxe0 10.0.0.1:5 > 10.0.0.1:8\n");
	assert_int_equal(get("10.9.9.9", "8", 0, hints), 0);
	expect("rxe0 10.0.0.1:5 > 10.9.9.9:8\n");
	assert_int_equal(get("10.0.1.1", "8", FI_SOURCE, hints), -FI_ENODATA);
	assert_int_equal(get("10.0.0.1", "8", FI_SOURCE, hints), 0);
	expect("rxe0 10.0.0.1:8 > 10.0.0.9:6\n");
}

static void test_bad_hint_addresses(void **state)
{
	(void)state;
	two_devices();
	set_in(&hints->src_addr, &hints->src_addrlen, 0x0a000001, 5);
	capture_start();
	hints->src_addrlen = 0;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_EINVAL);
	hints->src_addrlen = 1;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_EINVAL);
	hints->src_addrlen = 8;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_EINVAL);
	hints->src_addrlen = sizeof(struct sockaddr_in);
	((struct sockaddr *)hints->src_addr)->sa_family = AF_UNIX;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_EINVAL);
	hints->addr_format = FI_ADDR_STR;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "hints->src_addr: it is shorter than an address"));
}

static void test_addr_str(void **state)
{
	(void)state;
	two_devices();
	hints->ep_attr->type = FI_EP_MSG;
	hints->addr_format = FI_ADDR_STR;
	hints->src_addr = strdup("fi_sockaddr_in://10.0.1.1:77");
	hints->src_addrlen = strlen(hints->src_addr) + 1;
	assert_int_equal(get("10.0.1.9", "1", 0, hints), 0);
	assert_int_equal(info->addr_format, FI_ADDR_STR);
	assert_string_equal(info->src_addr, "fi_sockaddr_in://10.0.1.1:77");
	assert_int_equal(info->src_addrlen, strlen(info->src_addr) + 1);
	assert_string_equal(info->dest_addr, "fi_sockaddr_in://10.0.1.9:1");
	assert_null(info->next);
}

static void test_addr_format(void **state)
{
	(void)state;
	two_devices();
	hints->addr_format = FI_SOCKADDR_IN6;
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	expect("rxe0 [fd00::1]:0\n");
	assert_string_equal(
		why,
		"rxe0 port 1 misses 1: addr_format: asked FI_SOCKADDR_IN6, has FI_SOCKADDR_IN\n"
		"rxe1 port 1 misses 1: addr_format: asked FI_SOCKADDR_IN6, has FI_SOCKADDR_IN\n");
	hints->addr_format = FI_SOCKADDR_IB;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_ENODATA);
}

static void test_attr_misses(void **state)
{
	(void)state;
	two_devices();
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MULTICAST;
	hints->domain_attr->name = strdup("rxe0");
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_ENODATA);
	expect_none("rxe0 port 1 misses 2: ep_attr->type: asked FI_EP_RDM, has FI_EP_MSG\n"
		    "rxe1 port 1 misses 3: domain_attr->name: asked rxe0, has rxe1\n");
}

static void test_device_limits(void **state)
{
	(void)state;
	two_devices();
	device->attr.max_qp_wr = 100;
	hints->ep_attr->type = FI_EP_MSG;
	hints->domain_attr->name = strdup("rxe0");
	hints->addr_format = FI_SOCKADDR_IN;
	hints->tx_attr->size = 101;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_ENODATA);
	assert_non_null(
		strstr(why, "rxe0 port 1 misses 1: tx_attr->size: asked 101, has at most 100\n"));
	hints->tx_attr->size = 90;
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	assert_int_equal(info->tx_attr->size, 100);
	assert_int_equal(info->rx_attr->size, 100);
}

static void test_shared(void **state)
{
	(void)state;
	two_devices();
	device->attr.max_srq = 0;
	hints->domain_attr->name = strdup("rxe0");
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_ENODATA);
	assert_non_null(strstr(why, "FI_SHARED_CONTEXT, has at most 1, not shared\n"));
}

static void test_dead_port(void **state)
{
	(void)state;
	two_devices();
	device->port[0].state = IBV_PORT_DOWN;
	assert_int_equal(get(NULL, NULL, 0, NULL), 0);
	expect("rxe1 10.0.1.1:0\n");
	assert_string_equal(why, "rxe0 port 1 misses 1: port state: asked ACTIVE, has DOWN\n");
}

static void test_two_ports(void **state)
{
	(void)state;
	two_devices();
	device->attr.phys_port_cnt = 2;
	device->port[1].state = IBV_PORT_DOWN;
	assert_int_equal(get(NULL, NULL, 0, NULL), 0);
	expect("rxe0 10.0.0.1:0\nrxe1 10.0.1.1:0\nrxe0 [fd00::1]:0\n");
	assert_string_equal(why, "rxe0 port 2 misses 1: port state: asked ACTIVE, has DOWN\n");
}

static void test_no_permission(void **state)
{
	(void)state;
	device = mock_add_device("secret");
	device->open_errno = EACCES;
	capture_start();
	assert_int_equal(get(NULL, NULL, 0, NULL), -FI_ENODATA);
	capture_stop();
	expect_none(
		"secret port 0 misses 1: device: asked ibv_open_device, has Permission denied: give this user access to /dev/infiniband/uverbs0\n");
}

static void test_shortage(void **state)
{
	(void)state;
	device = mock_add_device("memlock");
	mock_fail("ibv_create_cq", ENOMEM);
	capture_start();
	assert_int_equal(get(NULL, NULL, 0, NULL), -FI_ENOMEM);
	capture_stop();
	expect_none(
		"memlock port 0 misses 1: device: asked ibv_create_cq, has Cannot allocate memory: raise the limit of locked memory (ulimit -l)\n");
	mock_reset();
	device = mock_add_device("files");
	device->open_errno = EMFILE;
	capture_start();
	assert_int_equal(get(NULL, NULL, 0, NULL), -FI_EMFILE);
	capture_stop();
}

static void test_route_shortage(void **state)
{
	(void)state;
	two_devices();
	mock_fail("connect", ENOMEM);
	assert_int_equal(get("10.0.0.9", NULL, 0, NULL), -FI_ENOMEM);
	assert_null(info);
}

static void test_legacy(void **state)
{
	(void)state;
	two_devices();
	hints->domain_attr->mr_mode = FI_MR_UNSPEC;
	hints->mode = FI_LOCAL_MR;
	assert_int_equal(vrb_getinfo(FI_VERSION(1, 4), NULL, NULL, 0, hints, &info), 0);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_BASIC);
	assert_int_equal(info->mode, FI_LOCAL_MR);
	assert_int_equal(info->domain_attr->cq_data_size, 0);
}

static void test_handle(void **state)
{
	struct fid fid;

	(void)state;
	two_devices();
	hints->handle = &fid;
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	assert_ptr_equal(info->handle, &fid);
}

static void test_domain_object(void **state)
{
	struct fi_ops_domain ops = { .endpoint = vrb_ep_open }, foreign = { 0 };
	struct vrb_domain domain = { .fid = { .ops = &ops } };

	(void)state;
	two_devices();
	domain.base.info = fi_allocinfo();
	domain.base.info->domain_attr->name = strdup("rxe1");
	hints->domain_attr->domain = &domain.fid;
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	expect("rxe1 10.0.1.1:0\n");
	assert_ptr_equal(info->domain_attr->domain, &domain.fid);
	assert_string_equal(
		why, "rxe0 port 0 misses 1: domain_attr->domain: asked one of rxe1, has rxe0\n");
	domain.fid.ops = &foreign;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_ENODATA);
	assert_non_null(strstr(why, "asked one of another provider, has rxe0\n"));
	fi_freeinfo(domain.base.info);
}

static void test_fabric_object(void **state)
{
	struct fi_ops_fabric ops = { .domain = vrb_domain_open }, foreign = { 0 };
	struct vrb_fabric fabric = { .fid = { .ops = &ops } };

	(void)state;
	two_devices();
	fabric.name = "IB-0x0";
	hints->fabric_attr->fabric = &fabric.fid;
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	assert_ptr_equal(info->fabric_attr->fabric, &fabric.fid);
	fabric.name = "IB-0x1";
	hints->tx_attr->size = SIZE_MAX;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_ENODATA);
	assert_non_null(strstr(why, "rxe0 port 1 misses 2: tx_attr->size"));
	hints->tx_attr->size = 0;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_ENODATA);
	expect_none("rxe0 port 1 misses 1: fabric_attr->fabric: asked one of IB-0x1, has IB-0x0\n"
		    "rxe1 port 1 misses 1: fabric_attr->fabric: asked one of IB-0x1, has IB-0x0\n");
	fabric.fid.ops = &foreign;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_ENODATA);
	assert_non_null(strstr(why, "asked one of another provider"));
}

static void ask_dgram(void)
{
	two_devices();
	type = hints->ep_attr->type = FI_EP_DGRAM;
}

static void test_dgram(void **state)
{
	(void)state;
	ask_dgram();
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	expect("rxe0-dgram name\nrxe1-dgram name\nrxe0-dgram 10.0.0.1:0\nrxe1-dgram 10.0.1.1:0\n"
	       "rxe0-dgram [fd00::1]:0\n");
	assert_int_equal(info->ep_attr->protocol, FI_PROTO_IB_UD);
	assert_int_equal(info->ep_attr->max_msg_size, 1024);
	assert_int_equal(info->src_addrlen, sizeof(struct vrb_ud_name));
	assert_int_equal(info->domain_attr->av_type, FI_AV_TABLE);
	assert_int_equal(info->domain_attr->mr_mode, FI_MR_LOCAL | FI_MR_ALLOCATED);
	assert_int_equal(info->domain_attr->cq_data_size, 4);
	assert_int_equal(info->caps & (FI_RMA | FI_ATOMIC), 0);
	assert_int_equal(info->tx_attr->msg_order | info->rx_attr->msg_order, 0);
	assert_int_equal(get(NULL, NULL, 0, NULL), 0); /* those of connections come first */
	assert_int_equal(info->ep_attr->type, FI_EP_MSG);
}

static void test_dgram_prefix(void **state)
{
	(void)state;
	ask_dgram();
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	assert_int_equal(info->mode, FI_MSG_PREFIX);
	assert_int_equal(info->ep_attr->msg_prefix_size, 40);
	hints->rx_attr->mode = FI_CONTEXT;
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	assert_int_equal(info->mode, 0);
	hints->rx_attr->mode = FI_MSG_PREFIX;
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	assert_int_equal(info->rx_attr->mode, FI_MSG_PREFIX);
	hints->mode = FI_CONTEXT;
	hints->rx_attr->mode = 0;
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	assert_int_equal(info->mode | info->ep_attr->msg_prefix_size, 0);
}

static void test_dgram_addresses(void **state)
{
	struct vrb_ud_name name = { .qpn = htobe32(9) };

	(void)state;
	ask_dgram();
	assert_int_equal(get("10.0.1.9", "7471", 0, hints), 0);
	expect("rxe1-dgram 10.0.1.1:0 > 10.0.1.9:7471\n");
	assert_int_equal(get(NULL, "7471", FI_SOURCE, hints), 0);
	expect("rxe0-dgram 10.0.0.1:7471\nrxe1-dgram 10.0.1.1:7471\nrxe0-dgram [fd00::1]:7471\n");
	hints->addr_format = FI_ADDR_IB_UD;
	assert_int_equal(get("10.0.1.1", NULL, FI_SOURCE, hints), 0);
	expect("rxe1-dgram name\n");
	assert_int_equal(get("10.0.1.9", "7471", 0, hints), -FI_ENODATA);
	assert_non_null(strstr(
		why,
		"dest_addr: asked fi_sockaddr_in://10.0.1.9:7471, has names of FI_ADDR_IB_UD; ask for FI_SOCKADDR_IN"));
	hints->dest_addr = malloc(sizeof(name));
	memcpy(hints->dest_addr, &name, sizeof(name));
	hints->dest_addrlen = sizeof(name);
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	assert_int_equal(info->dest_addrlen, sizeof(name));
	assert_memory_equal(info->dest_addr, &name, sizeof(name));
	hints->src_addr = malloc(info->src_addrlen);
	hints->src_addrlen = info->src_addrlen;
	memcpy(hints->src_addr, info->next->src_addr, info->src_addrlen);
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	assert_string_equal(info->domain_attr->name, "rxe1-dgram");
	assert_null(info->next);
	hints->dest_addrlen = 16;
	capture_start();
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "the name of a datagram endpoint has 32 bytes"));
}

static void test_dgram_names(void **state)
{
	(void)state;
	ask_dgram();
	hints->domain_attr->name = strdup("rxe1");
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	expect("rxe1-dgram name\nrxe1-dgram 10.0.1.1:0\n");
	free(hints->domain_attr->name);
	hints->domain_attr->name = strdup("rxe1-dgram");
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	expect("rxe1-dgram name\nrxe1-dgram 10.0.1.1:0\n");
	hints->caps = FI_TAGGED;
	assert_int_equal(get(NULL, NULL, 0, hints), -FI_ENODATA);
	assert_non_null(strstr(why, "rxe1-dgram") ? why : strstr(why, "caps: asked FI_TAGGED"));
}

static void test_no_dgram(void **state)
{
	(void)state;
	ask_dgram();
	device->no_ud_errno = EOPNOTSUPP;
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	expect("rxe1-dgram name\nrxe1-dgram 10.0.1.1:0\n");
	assert_string_equal(
		why,
		"rxe0 port 1 misses 1: ep_attr->type: asked FI_EP_DGRAM, has no UD queue pair: Operation not supported\n");
	type = hints->ep_attr->type = FI_EP_MSG;
	assert_int_equal(get(NULL, NULL, 0, hints), 0);
	expect("rxe0 10.0.0.1:0\nrxe1 10.0.1.1:0\nrxe0 [fd00::1]:0\n");
}

static void test_attr_only(void **state)
{
	(void)state;
	assert_int_equal(get(NULL, NULL, FI_PROV_ATTR_ONLY, NULL), 0);
	assert_null(info->next);
	assert_int_equal(info->fabric_attr->prov_version, vrb_prov.version);
	assert_int_equal(info->caps, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_no_device),
		TEST(test_all),
		TEST(test_source),
		TEST(test_destination),
		TEST(test_names),
		TEST(test_hint_addresses),
		TEST(test_bad_hint_addresses),
		TEST(test_addr_str),
		TEST(test_addr_format),
		TEST(test_attr_misses),
		TEST(test_device_limits),
		TEST(test_shared),
		TEST(test_dead_port),
		TEST(test_two_ports),
		TEST(test_no_permission),
		TEST(test_shortage),
		TEST(test_route_shortage),
		TEST(test_legacy),
		TEST(test_handle),
		TEST(test_domain_object),
		TEST(test_fabric_object),
		TEST(test_attr_only),
		TEST(test_dgram),
		TEST(test_dgram_prefix),
		TEST(test_dgram_addresses),
		TEST(test_dgram_names),
		TEST(test_no_dgram),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
