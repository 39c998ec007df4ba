/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A snapshot of the machine's RDMA devices, with their ports, GIDs and addresses. */
#ifndef VRB_DEVICE_H
#define VRB_DEVICE_H

#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <infiniband/verbs.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/attr.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"

#define VRB_ADDRSTR_LEN	 64
#define VRB_DGRAM_SUFFIX "-dgram" /* suffix of a domain name */
#define VRB_RDM_SUFFIX	 "-rdm"	  /* that of efa's reliable datagrams in other releases */

struct vrb_port_addr {
	STAILQ_ENTRY(vrb_port_addr) next;
	struct sockaddr_storage addr;	 /* IPv4, IPv6 or AF_IB */
	char netdev[IBV_SYSFS_NAME_MAX]; /* "" for AF_IB */
	int order; /* that of vrb_addr_rank(), then temporary and deprecated ones last */
};
STAILQ_HEAD(vrb_port_addrs, vrb_port_addr);

struct vrb_port {
	uint8_t num;
	struct ibv_port_attr attr;
	union ibv_gid gid; /* the GID that endpoints use; all zero if there is none */
	/* The subnet prefix that names the fabric: that of GID 0 unless a GID is pinned. */
	__be64 subnet;
	uint32_t gid_type;		 /* enum ibv_gid_type */
	int gid_index;			 /* -1 if there is none */
	uint16_t pkey;			 /* of vrb_pkey_choose(), 0xffff if it has none */
	char link_addr[VRB_ADDRSTR_LEN]; /* MAC address of the interface, or the GID */
	struct vrb_port_addrs addrs;	 /* nearest first */
};

struct vrb_device {
	STAILQ_ENTRY(vrb_device) next;
	char name[IBV_SYSFS_NAME_MAX];
	char path[IBV_SYSFS_PATH_MAX]; /* path in sysfs */
	__be64 guid;
	enum ibv_transport_type transport;
	struct ibv_device_attr attr;
	uint32_t max_inline;		 /* for RC queue pairs, found by probing */
	uint32_t max_inline_ud;		 /* for UD queue pairs */
	int rc_err, ud_err;		 /* errno if RC or UD queue pairs cannot be created */
	char driver[IBV_SYSFS_NAME_MAX]; /* "" if unknown */
	bool on_pci;
	struct fi_pci_attr pci;
	int num_ports;
	struct vrb_port *ports;
	int err;       /* FI_E* if unusable: the next fields tell why, and there are no ports */
	bool left_out; /* excluded by FI_VERBS_DEVICE_NAME */
	struct ofi_miss why;
};

STAILQ_HEAD(vrb_snapshot, vrb_device);

/*
 * Takes a snapshot. An unusable device is included with err set; its reason is logged the first
 * time. Returns 0 or -FI_E*.
 */
int vrb_snapshot_take(struct vrb_snapshot *snapshot);
void vrb_snapshot_free(struct vrb_snapshot *snapshot);
/* Returns what follows the device's name in a domain name, or NULL if another device's is there. */
static inline const char *vrb_device_suffix(const char *device, const char *name)
{
	size_t len = strlen(device);

	return strncmp(device, name, len) ? NULL : name + len;
}

/*
 * Returns true if the domain name belongs to this device: it is the device's name, that of its
 * datagram domain, such as "mlx5_0-dgram", or with `alias` that of efa's reliable datagrams in other
 * releases.
 */
static inline bool vrb_device_is(const char *device, const char *name, bool alias)
{
	const char *suffix = vrb_device_suffix(device, name);

	return suffix && (!*suffix || !strcmp(suffix, VRB_DGRAM_SUFFIX) ||
			  (alias && !strcmp(suffix, VRB_RDM_SUFFIX)));
}

/* Checks the domain name of an endpoint's fi_info, which may be NULL. */
static inline int vrb_device_check(const struct ibv_device *device, const char *name, bool alias)
{
	if (!name || vrb_device_is(device->name, name, alias))
		return 0;
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			  "fi_endpoint: the fi_info is for domain %s, but the domain is %s\n", name,
			  device->name);
}

/* Opens the device of a domain name. On failure logs it, sets *err to -FI_E* and returns NULL. */
struct ibv_context *vrb_device_open(const char *name, bool alias, int *err);
/*
 * Returns true if the errno of a probe means that the device lacks a feature; all other errors may
 * be temporary.
 */
bool vrb_device_lacks(int err);

#endif
