/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A simulated machine: RDMA devices, network interfaces and routes. Linked into a test, it replaces
 * the corresponding functions of libibverbs and libc.
 */
#ifndef MOCK_DEVICE_H
#define MOCK_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

enum { MOCK_PORTS = 2, MOCK_GIDS = 16, MOCK_PKEYS = 4 };

struct mock_device {
	struct ibv_device dev; /* must be first */
	int open_errno;
	int no_rc_errno, no_ud_errno; /* errno if there are no RC or UD queue pairs */
	__be64 guid;
	struct ibv_device_attr attr;
	struct ibv_port_attr port[MOCK_PORTS];
	unsigned gid_count;
	struct ibv_gid_entry gid[MOCK_GIDS];
	uint16_t pkey[MOCK_PKEYS]; /* of all ports, whose pkey_tbl_len says how many they have */
	uint32_t max_inline;
	bool leaves_errno;		       /* when it refuses inline data */
	bool grants_less;		       /* refuses no inline data, and reports max_inline */
	unsigned opens, closes, qps, cqs, pds; /* numbers of objects created */
	/* Number of contexts, PDs, CQs and QPs that are not destroyed. */
	int alive;
};

/* Creates an empty machine without failures. */
void mock_reset(void);
/* Adds a device with one active RoCE port and no GID. */
struct mock_device *mock_add_device(const char *name);
void mock_add_gid(struct mock_device *device, uint32_t port, uint32_t index, enum ibv_gid_type type,
		  const char *gid, uint32_t ifindex);
/*
 * Adds an interface that is up; hw is its hardware address of `len` bytes. One of 20 bytes is
 * IPoIB, in the default partition.
 */
void mock_add_if(const char *name, int index, unsigned flags, const void *hw, unsigned len);
/* Sets the P_Key of the interface that has been added last. */
void mock_set_if_pkey(uint16_t pkey);
/* "10.0.0.1" or "fd00::1" */
void mock_add_ip(const char *name, const char *ip);
/* A datagram to `dest` leaves from `src`; through an interface only if that is `netdev`. */
void mock_add_route(const char *dest, const char *src, const char *netdev);
/* Makes the calls of a name fail with this errno from now on. */
void mock_fail(const char *call, int err);

#endif
