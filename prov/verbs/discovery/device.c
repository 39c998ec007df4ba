/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Takes snapshots of the RDMA devices, and opens them. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "device.h"
#include "gid.h"
#include "inline.h"
#include "known.h"
#include "netdev.h"
#include "prov/verbs/provider/err.h"
#include "src/ds/fork.h"

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Held in calls of libibverbs that take its own lock, which a child needs. */
OFI_FORK_MUTEX(list_lock, OFI_FORK_INNER);

static void device_remedy(int err, const struct ibv_device *dev, char *buf, size_t len)
{
	switch (err) {
	case EACCES:
	case EPERM:
		snprintf(buf, len, "give this user access to /dev/infiniband/%s", dev->dev_name);
		break;
	case ENOMEM:
		snprintf(buf, len, "raise the limit of locked memory (ulimit -l)");
		break;
	case EAGAIN:
		snprintf(buf, len, "raise rdma.max of the control group");
		break;
	case EMFILE:
	case ENFILE:
		snprintf(buf, len, "raise the limit of open files (ulimit -n)");
		break;
	case ENOENT:
	case ENXIO:
	case ENODEV:
		snprintf(buf, len, "load the module ib_uverbs and look for /dev/infiniband/%s",
			 dev->dev_name);
		break;
	case EOPNOTSUPP:
	case ENOSYS:
		snprintf(buf, len,
			 "the device has neither reliable connected nor datagram queue pairs");
		break;
	default:
		snprintf(buf, len, "see the kernel's log");
	}
}

/* Records why a device cannot be used. */
static void set_error(struct vrb_device *dev, const struct ibv_device *ibdev, const char *call,
		      int err)
{
	char advice[128];
	int warned;

	dev->err = err ? err : FI_EIO;
	warned = VRB_KNOWN_WARNED + dev->err;
	device_remedy(dev->err, ibdev, advice, sizeof(advice));
	dev->why.attr = "device";
	snprintf(dev->why.asked, sizeof(dev->why.asked), "%s", call);
	snprintf(dev->why.has, sizeof(dev->why.has), "%s: %.100s", strerror(dev->err), advice);
	if (vrb_known_get(dev->name, 0, warned, NULL, 0))
		return;
	vrb_known_set(dev->name, 0, warned, NULL, 0);
	FI_WARN(&vrb_prov, FI_LOG_FABRIC, "%s: %s failed: %s\n", dev->name, call, dev->why.has);
}

/* Returns the last component of a sysfs link's target. */
static bool link_target(const char *dir, const char *name, char *buf, size_t len)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *base;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	base = strrchr(target, '/');
	snprintf(buf, len, "%.*s", (int)len - 1, base ? base + 1 : target);
	return true;
}

static void read_bus(struct vrb_device *dev, const struct ibv_device *ibdev)
{
	unsigned domain, bus, device, function;
	char text[IBV_SYSFS_NAME_MAX];

	link_target(ibdev->ibdev_path, "device/driver", dev->driver, sizeof(dev->driver));
	if (!link_target(ibdev->ibdev_path, "device", text, sizeof(text)) ||
	    sscanf(text, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return;
	dev->on_pci = true;
	dev->pci.domain_id = (uint16_t)domain;
	dev->pci.bus_id = (uint8_t)bus;
	dev->pci.device_id = (uint8_t)device;
	dev->pci.function_id = (uint8_t)function;
}

static int read_ports(struct vrb_device *dev, struct ibv_context *ctx, const char **call,
		      size_t *gid_slots)
{
	struct vrb_port *port;
	int err;

	*gid_slots = 0;
	*call = "ibv_query_port";
	dev->ports = calloc(dev->attr.phys_port_cnt, sizeof(*dev->ports));
	if (!dev->ports)
		return ENOMEM;
	for (; dev->num_ports < dev->attr.phys_port_cnt; dev->num_ports++) {
		port = &dev->ports[dev->num_ports];
		port->num = (uint8_t)(dev->num_ports + 1);
		port->gid_index = -1;
		STAILQ_INIT(&port->addrs);
		err = ibv_query_port(ctx, port->num, &port->attr);
		if (err)
			return err;
		*gid_slots += (size_t)port->attr.gid_tbl_len;
	}
	return 0;
}

static int read_port(struct vrb_device *dev, struct vrb_port *port, struct ibv_context *ctx,
		     const struct vrb_gid_table *gids, const struct ifaddrs *ifaddrs)
{
	int pinned = vrb_params.gid_idx;
	const struct ibv_gid_entry *gid, *first;
	struct vrb_pkey pkey;

	gid = vrb_gid_choose(gids, port->num, pinned);
	first = vrb_gid_choose(gids, port->num, pinned < 0 ? 0 : pinned);
	if (gid) {
		port->gid = gid->gid;
		port->subnet = (first ? first : gid)->gid.global.subnet_prefix;
		port->gid_index = (int)gid->gid_index;
		port->gid_type = gid->gid_type;
	}
	vrb_pkey_choose(ctx, port->num, port->attr.pkey_tbl_len, 0, &pkey);
	port->pkey = pkey.pkey ? pkey.pkey : 0xffff;
	return -vrb_port_addrs_find(port, dev->transport, gids, ifaddrs);
}

bool vrb_device_lacks(int err)
{
	return err == EOPNOTSUPP || err == ENOSYS || err == EINVAL;
}

/*
 * Not every device has both kinds of queue pairs; iWARP has no datagrams. Returns 0, or an errno if
 * it has neither kind or if the probe of RC queue pairs fails temporarily.
 */
static int read_qps(struct vrb_device *dev, struct ibv_context *ctx, const char **call)
{
	const char *ud_call;

	dev->rc_err = vrb_inline_max(ctx, IBV_QPT_RC, call, &dev->max_inline);
	dev->max_inline_ud = dev->max_inline;
	if (dev->transport == IBV_TRANSPORT_IWARP)
		dev->ud_err = EOPNOTSUPP;
	else
		dev->ud_err = vrb_inline_max(ctx, IBV_QPT_UD, &ud_call, &dev->max_inline_ud);
	return dev->ud_err || !vrb_device_lacks(dev->rc_err) ? dev->rc_err : 0;
}

/* Returns 0, or the errno of the call named in *call. */
static int read_device(struct vrb_device *dev, struct ibv_context *ctx,
		       const struct ifaddrs *ifaddrs, const char **call)
{
	struct vrb_gid_table gids;
	size_t slots;
	int err, i;

	*call = "ibv_query_device";
	err = ibv_query_device(ctx, &dev->attr);
	if (!err)
		err = read_qps(dev, ctx, call);
	if (!err)
		err = read_ports(dev, ctx, call, &slots);
	if (err)
		return err;
	*call = "ibv_query_gid_table";
	err = vrb_gid_table_read(ctx, slots, &gids);
	for (i = 0; i < dev->num_ports && !err; i++)
		err = read_port(dev, &dev->ports[i], ctx, &gids, ifaddrs);
	vrb_gid_table_free(&gids);
	return err;
}

static void free_ports(struct vrb_device *dev)
{
	int i;

	for (i = 0; i < dev->num_ports; i++)
		vrb_port_addrs_free(&dev->ports[i]);
	free(dev->ports);
	dev->ports = NULL;
	dev->num_ports = 0;
}

static void device_fill(struct vrb_device *dev, struct ibv_device *ibdev,
			const struct ifaddrs *ifaddrs)
{
	const char *call = "ibv_open_device";
	struct ibv_context *ctx;
	int err;

	errno = 0;
	ctx = ibv_open_device(ibdev);
	if (!ctx) {
		set_error(dev, ibdev, call,
			  vrb_err_opening(errno ? errno : ENODEV, ibdev->dev_name));
		return;
	}
	err = read_device(dev, ctx, ifaddrs, &call);
	ibv_close_device(ctx);
	if (err) {
		free_ports(dev);
		set_error(dev, ibdev, call, err);
	}
}

static bool is_filtered(struct vrb_device *dev)
{
	if (vrb_name_listed(dev->name, vrb_params.device_name))
		return false;
	dev->err = FI_ENODEV;
	dev->left_out = true;
	dev->why.attr = "FI_VERBS_DEVICE_NAME";
	snprintf(dev->why.asked, sizeof(dev->why.asked), "%s", vrb_params.device_name);
	snprintf(dev->why.has, sizeof(dev->why.has), "%s", dev->name);
	return true;
}

static int add_device(struct vrb_snapshot *snapshot, struct ibv_device *ibdev,
		      const struct ifaddrs *ifaddrs)
{
	struct vrb_device *dev;

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -FI_ENOMEM;
	STAILQ_INSERT_TAIL(snapshot, dev, next);
	snprintf(dev->name, sizeof(dev->name), "%s", ibv_get_device_name(ibdev));
	snprintf(dev->path, sizeof(dev->path), "%s", ibdev->ibdev_path);
	dev->guid = ibv_get_device_guid(ibdev);
	dev->transport = ibdev->transport_type;
	read_bus(dev, ibdev);
	if (!is_filtered(dev))
		device_fill(dev, ibdev, ifaddrs);
	return 0;
}

/* Returns 0 if there are no devices, and an error if the process cannot see them. */
static int none_found(int err)
{
	err = vrb_err_cause(err);
	if (err != ENOMEM && err != EMFILE && err != ENFILE)
		return 0;
	return ofi_refuse(&vrb_prov, FI_LOG_FABRIC, -err, "fi_getinfo: looking for devices: %s%s\n",
			  strerror(err), vrb_remedy(err));
}

/*
 * Keeps registered memory intact when the process forks. Kernels that copy pinned pages at fork
 * need nothing; on others this must be requested before a device is opened.
 */
static void fork_init(void)
{
	int unsafe = 0, err;

	fi_param_get_bool(NULL, "fork_unsafe", &unsafe);
	if (unsafe || ibv_is_fork_initialized() != IBV_FORK_DISABLED)
		return;
	err = ibv_fork_init();
	if (err)
		FI_WARN(&vrb_prov, FI_LOG_FABRIC,
			"ibv_fork_init failed: %s: a child process may take registered memory away from this one; set RDMAV_FORK_SAFE=1 before it starts, or "
			"FI_FORK_UNSAFE=1 when it does not fork\n",
			strerror(err));
}

int vrb_snapshot_take(struct vrb_snapshot *snapshot)
{
	struct ibv_device **list;
	struct ifaddrs *ifaddrs;
	int i, count, ret = 0;

	STAILQ_INIT(snapshot);
	pthread_once(&fork_once, fork_init);
	errno = 0;
	list = ibv_get_device_list(&count);
	if (!list || !count) { /* a kernel without RDMA has no devices */
		ret = none_found(list ? 0 : errno);
		if (list)
			ibv_free_device_list(list);
		return ret;
	}
	if (getifaddrs(&ifaddrs)) {
		ret = -errno;
		FI_WARN(&vrb_prov, FI_LOG_FABRIC, "getifaddrs failed: %s\n", strerror(-ret));
		ibv_free_device_list(list);
		return ret;
	}
	for (i = 0; i < count && !ret; i++)
		ret = add_device(snapshot, list[i], ifaddrs);
	freeifaddrs(ifaddrs);
	ibv_free_device_list(list);
	if (ret)
		vrb_snapshot_free(snapshot);
	return ret;
}

void vrb_snapshot_free(struct vrb_snapshot *snapshot)
{
	struct vrb_device *dev;

	while ((dev = STAILQ_FIRST(snapshot))) {
		STAILQ_REMOVE_HEAD(snapshot, next);
		free_ports(dev);
		free(dev);
	}
}

static struct ibv_device *device_find(struct ibv_device **list, int count, const char *name,
				      bool alias)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			return list[i];
	for (i = 0; i < count; i++)
		if (vrb_device_is(ibv_get_device_name(list[i]), name, alias))
			return list[i];
	return NULL;
}

struct ibv_context *vrb_device_open(const char *name, bool alias, int *err)
{
	struct ibv_context *ctx = NULL;
	struct ibv_device **list, *dev;
	char advice[128];
	int count;

	pthread_once(&fork_once, fork_init);
	pthread_mutex_lock(&list_lock);
	errno = 0;
	list = ibv_get_device_list(&count);
	pthread_mutex_unlock(&list_lock);
	dev = list ? device_find(list, count, name, alias) : NULL;
	if (dev)
		ctx = ibv_open_device(dev);
	*err = (dev || !list) && errno ? errno : ENODEV;
	*err = ctx ? 0
		   : vrb_errno(dev ? vrb_err_opening(*err, dev->dev_name) : vrb_err_cause(*err));
	if (!list || (!dev && *err != -ENODEV)) {
		FI_WARN(&vrb_prov, FI_LOG_DOMAIN, "%s: ibv_get_device_list failed: %s%s\n", name,
			strerror(-*err), vrb_remedy(-*err));
	} else if (!dev) {
		FI_WARN(&vrb_prov, FI_LOG_DOMAIN, "%s: there is no such device: %s\n", name,
			strerror(-*err));
	} else if (!ctx) {
		device_remedy(-*err, dev, advice, sizeof(advice));
		FI_WARN(&vrb_prov, FI_LOG_DOMAIN, "%s: ibv_open_device failed: %s: %s\n", name,
			strerror(-*err), advice);
	}
	if (list)
		ibv_free_device_list(list);
	return ctx;
}
