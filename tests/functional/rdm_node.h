/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One reliable-datagram endpoint, and processes with one endpoint each that communicate with the
 * test through a socket.
 */
#ifndef RDM_NODE_H
#define RDM_NODE_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <netinet/in.h>
#include "check.h"

/* An IP address; with the provider that WEFT_PROVIDER names, the name of a queue pair. */
struct node_name {
	struct sockaddr_in in;
	uint8_t rest[16];
};

struct node {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct node_name name;
};

/* The job secret of endpoints opened from now on; NULL for none. */
extern const char *node_auth_key;
/* Whether they take their keys from the address vector. */
extern bool node_av_keys;
/* Their traffic class. */
extern uint32_t node_tclass;
/* Their memory registration modes: addresses, and keys that the provider chooses. */
extern int node_mr_mode;
/* The wait object of their completion queues, FI_WAIT_NONE unless it is changed. */
extern enum fi_wait_obj node_wait_obj;
/* Opens a node at a port, or at any with NULL. */
void node_open(struct node *node, const char *service);
/* Opens a node at any port, with an address vector with these attributes. */
void node_open_av(struct node *node, struct fi_av_attr *av);
/* Opens a node at a port, and returns the address of the one at the same port of the other host. */
fi_addr_t node_open_host(struct node *node, const char *service);
void node_close(struct node *node);
fi_addr_t node_know(struct node *node, const void *name);
/* Waits for a successful completion. */
struct fi_cq_tagged_entry node_wait(struct node *node);
/* Polls a completion and sets *err to its FI_E*, or 0; returns false if there is none. */
bool node_poll(struct node *node, struct fi_cq_tagged_entry *entry, int *err);
/* Waits until `count` operations have completed and adds the unsuccessful ones to *failed. */
void node_reap(struct node *node, unsigned int count, unsigned int *failed);
/* Checks that nothing arrives for some time. */
void node_silent(struct node *node, int ms);
/* Sends a message, making progress while the queue is full. */
void node_tsend(struct node *node, const void *buf, size_t len, fi_addr_t to, uint64_t tag);
void node_trecv(struct node *node, void *buf, size_t len, uint64_t tag, void *context);
/* Returns the current number of queue pairs on the device. */
unsigned int count_qps(void);
/* Returns true if this process has a peer with that transport: rc, ud, ... */
bool has_peer_on(const char *transport);

struct child {
	pid_t pid;
	int sock;
};

/*
 * Runs a function in a child, forked before this process opens anything. The child communicates
 * with its parent.
 */
struct child child_start(void (*run)(struct child *parent, void *arg), void *arg);
void child_say(const struct child *child, const void *data, size_t len);
void child_hear(const struct child *child, void *data, size_t len);
/* Kills the child. */
void child_kill(struct child *child);
/* Waits for the child, which must succeed. */
void child_end(struct child *child);
/* Stops this process, a child, with an operation outstanding, which completes once it continues. */
void node_stop(struct node *node, struct child *parent);
/*
 * Waits beside a child that stops: the operation outstanding here completes after `ms`, when the
 * child continues. Ends both.
 */
void node_outwait(struct node *node, struct child *child, int ms);

#endif
