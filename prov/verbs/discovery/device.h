/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the machine has: a snapshot of its RDMA devices, their ports, GIDs and addresses. */
#ifndef VRB_DEVICE_H
#define VRB_DEVICE_H

#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <infiniband/verbs.h>
#include <rdma/fabric.h>
#include "prov/base/attr.h"

#define VRB_ADDRSTR_LEN	 64
#define VRB_DGRAM_SUFFIX "-dgram" /* of a domain name */

struct vrb_port_addr {
	STAILQ_ENTRY(vrb_port_addr) next;
	struct sockaddr_storage addr;	 /* IPv4, IPv6 or AF_IB */
	char netdev[IBV_SYSFS_NAME_MAX]; /* "" for AF_IB */
};
STAILQ_HEAD(vrb_port_addrs, vrb_port_addr);

struct vrb_port {
	uint8_t num;
	struct ibv_port_attr attr;
	union ibv_gid gid; /* the one that would be used, all zero when there is none */
	__be64 subnet;	   /* its prefix names the fabric; of GID 0 unless one is pinned */
	uint32_t gid_type; /* enum ibv_gid_type */
	int gid_index;	   /* -1 when there is none */
	uint16_t pkey;	   /* first of the table, host order */
	char link_addr[VRB_ADDRSTR_LEN]; /* MAC of the interface, or the GID */
	struct vrb_port_addrs addrs;	 /* the nearest first */
};

struct vrb_device {
	STAILQ_ENTRY(vrb_device) next;
	char name[IBV_SYSFS_NAME_MAX];
	char path[IBV_SYSFS_PATH_MAX]; /* in sysfs */
	__be64 guid;
	enum ibv_transport_type transport;
	struct ibv_device_attr attr;
	uint32_t max_inline;		 /* of an RC queue pair, probed */
	uint32_t max_inline_ud;		 /* of a UD queue pair */
	int rc_err, ud_err;		 /* errno: RC, UD queue pairs can't be made */
	char driver[IBV_SYSFS_NAME_MAX]; /* "" when unknown */
	bool on_pci;
	struct fi_pci_attr pci;
	int num_ports;
	struct vrb_port *ports;
	int err;       /* FI_E*: of no use, what follows says why and there are no ports */
	bool left_out; /* by FI_VERBS_DEVICE_NAME */
	struct ofi_miss why;
};

STAILQ_HEAD(vrb_snapshot, vrb_device);

/*
 * Takes a snapshot. A device that cannot be used is in it with its err set; the first time there is
 * a log line saying why. 0 or -FI_E*.
 */
int vrb_snapshot_take(struct vrb_snapshot *snapshot);
void vrb_snapshot_free(struct vrb_snapshot *snapshot);
/* Forgets which devices have been logged. */
void vrb_device_forget(void);
/*
 * Is it a domain name of this device: the device's own, or the one of its datagrams,
 * "mlx5_0-dgram"?
 */
static inline bool vrb_device_is(const char *device, const char *name)
{
	size_t len = strlen(device);

	return !strncmp(device, name, len) && (!name[len] || !strcmp(name + len, VRB_DGRAM_SUFFIX));
}
/* Opens the device of a domain name. NULL with *err = -FI_E* on failure, logged. */
struct ibv_context *vrb_device_open(const char *name, int *err);
/*
 * Whether an errno of a probe says that the device lacks something; any other is a failure that may
 * pass.
 */
bool vrb_device_lacks(int err);

#endif
