/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Statistics, an extension of weft. Of an object of this process:
 *
 *	struct fi_ops_stats *ops;
 *	fi_open_ops(&ep->fid, FI_STATS_OPS, 0, (void **)&ops, NULL);
 *	ops->read(&ep->fid, items, FI_STATS_MAX);
 *
 * Of all objects of a process of the same user:
 *
 *	struct fi_stats_attr attr = { .size = sizeof(attr), .pid = pid };
 *	fi_open(FI_VERSION(2, 6), "stats", &attr, sizeof(attr), 0, &fid, NULL);
 *	fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, (void **)&ops, NULL);
 *	for (object.id = 0; (ret = ops->next(fid, object.id, &object)) == 1;)
 *		...
 *
 * fi_verbs(7) says what the items mean.
 */
#ifndef FI_STATS_H
#define FI_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <rdma/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FI_STATS_OPS	     "fi_ops_stats"
#define FI_STATS_PROCESS_OPS "fi_ops_stats_process"
#define FI_STATS_MAX	     32 /* items of an object at most */
#define FI_STATS_NAME	     32

struct fi_stats_item {
	const char *name; /* constant text; the order of an object's items is constant too */
	uint64_t value;
	uint32_t level; /* 0: it only grows. 1: what it is now, as the operations outstanding */
	uint32_t reserved;
};

struct fi_ops_stats {
	size_t size;
	/* Fills items, at most count. Returns how many there are. */
	ssize_t (*read)(struct fid *fid, struct fi_stats_item *items, size_t count);
};

struct fi_stats_attr {
	size_t size;
	pid_t pid; /* 0 is this process */
};

struct fi_stats_object {
	uint32_t id;	 /* from 1, not used again in its process */
	uint32_t fclass; /* FI_CLASS_DOMAIN, FI_CLASS_CQ; FI_CLASS_TX_CTX, RX_CTX of an endpoint, or
			    FI_CLASS_EP of one of reliable datagrams */
	uint32_t group;	 /* the two of an endpoint have the same; else 0 */
	uint32_t domain; /* id; of a domain 0 */
	uint32_t cq;	 /* id of where its operations complete, 0 for others */
	uint32_t count;
	char name[FI_STATS_NAME];
	struct fi_stats_item items[FI_STATS_MAX];
};

#define FI_STATS_PEER_MAX 16

/* A peer of an endpoint of reliable datagrams. */
struct fi_stats_peer {
	uint32_t id;	 /* from 1, not used again in its process */
	uint32_t ep;	 /* id of the endpoint */
	uint64_t age_ms; /* how long it has been in this state */
	char address[64];
	char transport[16];
	char state[32];
	char cause[48];	 /* what led to the state; empty at first */
	char waits[128]; /* what its operations wait for; empty: nothing */
	uint32_t count;
	uint32_t reserved;
	struct fi_stats_item items[FI_STATS_PEER_MAX];
};

struct fi_ops_stats_process {
	size_t size;
	/* The object with the smallest id above `after`. 1, or 0 at the end. */
	int (*next)(struct fid *fid, uint32_t after, struct fi_stats_object *object);
	/* Likewise, of the peers. */
	int (*next_peer)(struct fid *fid, uint32_t after, struct fi_stats_peer *peer);
};

#ifdef __cplusplus
}
#endif

#endif
