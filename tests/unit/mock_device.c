/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The simulated machine: definitions that replace those in libibverbs and libc. */

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "mock_device.h"

enum { DEVICES = 4, IFADDRS = 32, ROUTES = 8, FAILURES = 8, SOCKETS = 1024 };

struct hw {
	struct sockaddr_ll ll;
	uint8_t more[24]; /* InfiniBand's is longer than sll_addr */
};

static struct mock_device devices[DEVICES];
static unsigned device_count;

static struct {
	struct ifaddrs ifa;
	char name[IF_NAMESIZE];
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct hw hw;
	} addr;
	struct hw broadcast;
} ifaddrs[IFADDRS];
static unsigned ifaddr_count;

static struct {
	struct sockaddr_storage dest, src;
	char netdev[IF_NAMESIZE];
} routes[ROUTES];
static unsigned route_count;

static struct {
	char call[32];
	int err;
} failures[FAILURES];
static unsigned failure_count;

static struct {
	struct sockaddr_storage name;
	char netdev[IF_NAMESIZE];
} sockets[SOCKETS];

void mock_reset(void)
{
	memset(devices, 0, sizeof(devices));
	device_count = ifaddr_count = route_count = failure_count = 0;
}

struct mock_device *mock_add_device(const char *name)
{
	struct mock_device *device = &devices[device_count++];

	device->dev.node_type = IBV_NODE_CA;
	device->dev.transport_type = IBV_TRANSPORT_IB;
	snprintf(device->dev.name, sizeof(device->dev.name), "%s", name);
	snprintf(device->dev.dev_name, sizeof(device->dev.dev_name), "uverbs%u", device_count - 1);
	device->guid = htobe64(0x1000 + device_count);
	strcpy(device->attr.fw_ver, "1.2.3");
	device->attr.vendor_id = 0x15b3;
	device->attr.vendor_part_id = 0x1017;
	device->attr.max_qp = 1000;
	device->attr.max_qp_wr = 4096;
	device->attr.max_cqe = 1 << 16;
	device->attr.max_sge = 30;
	device->attr.max_cq = 2000;
	device->attr.max_mr = 3000;
	device->attr.max_srq = 500;
	device->attr.max_mcast_grp = 8192;
	device->attr.atomic_cap = IBV_ATOMIC_HCA;
	device->attr.phys_port_cnt = 1;
	device->port[0].state = IBV_PORT_ACTIVE;
	device->port[0].max_msg_sz = 1 << 30;
	device->port[0].gid_tbl_len = MOCK_GIDS;
	device->port[0].active_mtu = IBV_MTU_1024;
	device->port[0].active_width = 2;
	device->port[0].active_speed = 32;
	device->port[0].link_layer = IBV_LINK_LAYER_ETHERNET;
	device->port[0].pkey_tbl_len = 1;
	device->pkey[0] = 0xffff;
	device->port[1] = device->port[0];
	device->max_inline = 972;
	return device;
}

void mock_add_gid(struct mock_device *device, uint32_t port, uint32_t index, enum ibv_gid_type type,
		  const char *gid, uint32_t ifindex)
{
	struct ibv_gid_entry *entry = &device->gid[device->gid_count++];

	memset(entry, 0, sizeof(*entry));
	inet_pton(AF_INET6, gid, entry->gid.raw);
	entry->gid_index = index;
	entry->port_num = port;
	entry->gid_type = type;
	entry->ndev_ifindex = ifindex;
}

static unsigned add_ifaddr(const char *name, unsigned flags)
{
	unsigned i = ifaddr_count++;

	memset(&ifaddrs[i], 0, sizeof(ifaddrs[i]));
	snprintf(ifaddrs[i].name, sizeof(ifaddrs[i].name), "%s", name);
	ifaddrs[i].ifa.ifa_name = ifaddrs[i].name;
	ifaddrs[i].ifa.ifa_flags = flags;
	ifaddrs[i].ifa.ifa_addr = &ifaddrs[i].addr.sa;
	return i;
}

void mock_add_if(const char *name, int index, unsigned flags, const void *hw, unsigned len)
{
	unsigned i = add_ifaddr(name, flags | IFF_UP);
	struct sockaddr_ll *ll = &ifaddrs[i].addr.hw.ll;

	ll->sll_family = AF_PACKET;
	ll->sll_ifindex = index;
	ll->sll_hatype = len == 20 ? ARPHRD_INFINIBAND : ARPHRD_ETHER;
	ll->sll_halen = (unsigned char)len;
	memcpy((uint8_t *)&ifaddrs[i].addr + offsetof(struct sockaddr_ll, sll_addr), hw, len);
	ifaddrs[i].broadcast.ll = *ll;
	ifaddrs[i].ifa.ifa_broadaddr = (struct sockaddr *)&ifaddrs[i].broadcast;
	mock_set_if_pkey(0xffff);
}

void mock_set_if_pkey(uint16_t pkey)
{
	struct hw *broadcast = &ifaddrs[ifaddr_count - 1].broadcast;
	uint8_t *bytes = (uint8_t *)broadcast + offsetof(struct sockaddr_ll, sll_addr);

	bytes[8] = (uint8_t)(pkey >> 8);
	bytes[9] = (uint8_t)pkey;
}

static void parse(const char *ip, void *addr)
{
	struct sockaddr_in *in = addr;
	struct sockaddr_in6 *in6 = addr;

	if (strchr(ip, ':')) {
		in6->sin6_family = AF_INET6;
		inet_pton(AF_INET6, ip, &in6->sin6_addr);
	} else {
		in->sin_family = AF_INET;
		inet_pton(AF_INET, ip, &in->sin_addr);
	}
}

void mock_add_ip(const char *name, const char *ip)
{
	unsigned i = add_ifaddr(name, IFF_UP);

	parse(ip, &ifaddrs[i].addr);
}

void mock_add_route(const char *dest, const char *src, const char *netdev)
{
	unsigned i = route_count++;

	memset(&routes[i], 0, sizeof(routes[i]));
	parse(dest, &routes[i].dest);
	parse(src, &routes[i].src);
	snprintf(routes[i].netdev, sizeof(routes[i].netdev), "%s", netdev);
}

void mock_fail(const char *call, int err)
{
	snprintf(failures[failure_count].call, sizeof(failures[0].call), "%s", call);
	failures[failure_count++].err = err;
}

static int fails(const char *call)
{
	unsigned i;

	for (i = 0; i < failure_count; i++) {
		if (!strcmp(failures[i].call, call)) {
			errno = failures[i].err;
			return failures[i].err;
		}
	}
	return 0;
}

/*
 * The replacements of libibverbs. Each object is allocated separately, so that leaks are detected.
 */

#undef ibv_get_device_list
#undef ibv_query_port

/* Lists the devices with a lock, as libibverbs does. */
struct ibv_device **ibv_get_device_list(int *count)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct ibv_device **list;
	unsigned i;

	if (fails("ibv_get_device_list"))
		return NULL;
	pthread_mutex_lock(&lock);
	list = calloc(device_count + 1, sizeof(*list));
	for (i = 0; i < device_count; i++)
		list[i] = &devices[i].dev;
	*count = (int)device_count;
	pthread_mutex_unlock(&lock);
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

__be64 ibv_get_device_guid(struct ibv_device *dev)
{
	return ((struct mock_device *)dev)->guid;
}

static struct mock_device *device_of(struct ibv_context *ctx)
{
	return (struct mock_device *)ctx->device;
}

struct ibv_context *ibv_open_device(struct ibv_device *dev)
{
	struct mock_device *device = (struct mock_device *)dev;
	struct ibv_context *ctx;

	if (device->open_errno) {
		errno = device->open_errno;
		return NULL;
	}
	ctx = calloc(1, sizeof(*ctx));
	ctx->device = dev;
	device->opens++;
	device->alive++;
	return ctx;
}

int ibv_close_device(struct ibv_context *ctx)
{
	device_of(ctx)->closes++;
	device_of(ctx)->alive--;
	free(ctx);
	return 0;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	*attr = device_of(ctx)->attr;
	return fails("ibv_query_device");
}

int ibv_query_port(struct ibv_context *ctx, uint8_t port, struct _compat_ibv_port_attr *attr)
{
	memcpy(attr, &device_of(ctx)->port[port - 1], sizeof(struct ibv_port_attr));
	return fails("ibv_query_port");
}

int ibv_query_pkey(struct ibv_context *ctx, uint8_t port, int index, __be16 *pkey)
{
	struct mock_device *device = device_of(ctx);

	if (fails("ibv_query_pkey") || index >= device->port[port - 1].pkey_tbl_len)
		return -1;
	*pkey = htobe16(device->pkey[index]);
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *ctx, struct ibv_gid_entry *entries, size_t max,
			     uint32_t flags, size_t entry_size)
{
	struct mock_device *device = device_of(ctx);

	(void)flags;
	(void)entry_size;
	if (fails("ibv_query_gid_table"))
		return -errno;
	if (device->gid_count > max)
		return -EINVAL;
	memcpy(entries, device->gid, device->gid_count * sizeof(*entries));
	return device->gid_count;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd;

	if (fails("ibv_alloc_pd"))
		return NULL;
	pd = calloc(1, sizeof(*pd));
	pd->context = ctx;
	device_of(ctx)->pds++;
	device_of(ctx)->alive++;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	device_of(pd->context)->alive--;
	free(pd);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq *cq;

	(void)cqe;
	(void)cq_context;
	(void)channel;
	(void)comp_vector;
	if (fails("ibv_create_cq"))
		return NULL;
	cq = calloc(1, sizeof(*cq));
	cq->context = ctx;
	device_of(ctx)->cqs++;
	device_of(ctx)->alive++;
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	device_of(cq->context)->alive--;
	free(cq);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct mock_device *device = device_of(pd->context);
	int err = attr->qp_type == IBV_QPT_UD ? device->no_ud_errno : device->no_rc_errno;
	struct ibv_qp *qp;

	if (fails("ibv_create_qp"))
		return NULL;
	if (err) {
		errno = err;
		return NULL;
	}
	if (device->grants_less)
		attr->cap.max_inline_data = device->max_inline;
	if (attr->cap.max_inline_data > device->max_inline) {
		if (!device->leaves_errno)
			errno = EINVAL;
		return NULL;
	}
	qp = calloc(1, sizeof(*qp));
	qp->context = pd->context;
	device->qps++;
	device->alive++;
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	device_of(qp->context)->alive--;
	free(qp);
	return 0;
}

int ibv_fork_init(void)
{
	return fails("ibv_fork_init");
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

/* What stands in for libc */

int getifaddrs(struct ifaddrs **list)
{
	unsigned i;

	if (fails("getifaddrs"))
		return -1;
	for (i = 0; i < ifaddr_count; i++)
		ifaddrs[i].ifa.ifa_next = i + 1 < ifaddr_count ? &ifaddrs[i + 1].ifa : NULL;
	*list = ifaddr_count ? &ifaddrs[0].ifa : NULL;
	return 0;
}

void freeifaddrs(struct ifaddrs *list)
{
	(void)list;
}

int bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	memset(&sockets[fd], 0, sizeof(sockets[fd]));
	memcpy(&sockets[fd].name, sa, len);
	return 0;
}

int setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	if (level == SOL_SOCKET && option == SO_BINDTODEVICE)
		snprintf(sockets[fd].netdev, sizeof(sockets[fd].netdev), "%.*s", (int)len,
			 (const char *)value);
	return 0;
}

static int same_ip(const void *a, const void *b)
{
	const struct sockaddr_in *x = a, *y = b;
	const struct sockaddr_in6 *x6 = a, *y6 = b;

	if (x->sin_family != y->sin_family)
		return 0;
	return x->sin_family == AF_INET
		       ? x->sin_addr.s_addr == y->sin_addr.s_addr
		       : !memcmp(&x6->sin6_addr, &y6->sin6_addr, sizeof(x6->sin6_addr));
}

int connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	const char *netdev = sockets[fd].netdev;
	unsigned i;

	(void)len;
	if (fails("connect"))
		return -1;
	for (i = 0; i < route_count; i++) {
		if (!same_ip(&routes[i].dest, sa) ||
		    (netdev[0] && strcmp(netdev, routes[i].netdev)))
			continue;
		if (!netdev[0])
			sockets[fd].name = routes[i].src;
		memset(sockets[fd].netdev, 0, sizeof(sockets[fd].netdev));
		return 0;
	}
	memset(sockets[fd].netdev, 0, sizeof(sockets[fd].netdev));
	errno = ENETUNREACH;
	return -1;
}

int getsockname(int fd, struct sockaddr *sa, socklen_t *len)
{
	memcpy(sa, &sockets[fd].name, *len);
	return 0;
}
