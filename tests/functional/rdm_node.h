/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One reliable-datagram endpoint, and processes that have one each and speak with the test by a
 * socket.
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

struct node {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct sockaddr_in name;
};

/* The job secret of endpoints from now on; NULL: none. */
extern const char *node_auth_key;
/* Their traffic class. */
extern uint32_t node_tclass;
/* At a port, or at any with NULL. */
void node_open(struct node *node, const char *service);
/* At any port, with an address vector of these attributes. */
void node_open_av(struct node *node, struct fi_av_attr *av);
void node_close(struct node *node);
fi_addr_t node_know(struct node *node, const struct sockaddr_in *name);
/* A completion that succeeds. */
struct fi_cq_tagged_entry node_wait(struct node *node);
/* A completion, and the FI_E* it failed with or 0; false when there is none. */
bool node_poll(struct node *node, struct fi_cq_tagged_entry *entry, int *err);
/*
 * Waits until so many of count operations have completed, each of which counts in failed if it did
 * not succeed.
 */
void node_reap(struct node *node, unsigned int count, unsigned int *failed);
/* Nothing comes for so long. */
void node_silent(struct node *node, int ms);
/* Sends, while the queue is full with progress. */
void node_tsend(struct node *node, const void *buf, size_t len, fi_addr_t to, uint64_t tag);
void node_trecv(struct node *node, void *buf, size_t len, uint64_t tag, void *context);
/* Queue pairs of the device, now. */
unsigned int count_qps(void);

struct child {
	pid_t pid;
	int sock;
};

/*
 * Runs in a process of its own, before this one opens anything. The child speaks with its parent.
 */
struct child child_start(void (*run)(struct child *parent, void *arg), void *arg);
void child_say(const struct child *child, const void *data, size_t len);
void child_hear(const struct child *child, void *data, size_t len);
/* Kills it. */
void child_kill(struct child *child);
/* It must end well. */
void child_end(struct child *child);

#endif
