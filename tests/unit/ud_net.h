/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints on unreliable datagrams, joined by a network of fake UD queue pairs that loses,
 * duplicates and delays packets as a seed decides. With SRD queue pairs nothing is lost,
 * completions have no order, and receivers are not ready, or gone. The test moves the clock. A
 * connection is made with the words that the connection manager would carry. Nodes whose
 * connections get reliable queue pairs have these, too, and devices may read.
 */
#ifndef UD_NET_H
#define UD_NET_H

#include <stdbool.h>
#include <stdint.h>
#include "prov/verbs/rdm/ud_rc.h"
#include "prov/verbs/rdm/ud_refuse.h"

enum {
	UD_NODES = 3,
	UD_BUFFERS = 64, /* receive buffers of a node */
	UD_BUFFER = 4000,
	UD_MTU = 1024,
	UD_REGION = 1 << 16,
	UD_STRANGER = UD_NODES, /* the place of a host without an endpoint */
	UD_STRANGER_QPN = 999,
	/* The shortest messages and other reads that devices read. */
	UD_MIN_MESSAGE = 2000,
	UD_MIN_READ = 1500,
};

struct ud_node {
	struct vrb_rc_ep rc;
	struct vrb_domain domain;
	struct vrb_rc_peer peer; /* of all connections, for the log */
	struct vrb_rdm_rx_buf bufs[UD_BUFFERS];
	struct ibv_mr mr; /* of the region that peers may read and write */
	uint8_t region[UD_REGION];
	uint64_t guard; /* 0: nobody has written behind the region */
	unsigned int losses;
	int loss; /* FI_E*: the endpoint was reported as lost */
};

/* What a connection's owner was told. */
struct ud_conn {
	struct vrb_rc_conn rc; /* first */
	struct ud_node *node;
	unsigned int endings, silences, meetings;
	int err;
};

/* In thousandths. */
struct ud_net_params {
	uint32_t loss, duplicates, delayed;
	bool no_inline;
	bool no_paths;		  /* no address handle is created */
	uint8_t tos;		  /* of packets that arrive */
	bool srd;		  /* constant */
	uint32_t max_cqe;	  /* of the device, if it is not 0; constant */
	bool no_rd_atom;	  /* reliable queue pairs do not serve reads; constant */
	uint32_t mtu;		  /* of the port of node 0, if it is not 0; constant */
	uint8_t path_mtu;	  /* enum ibv_mtu of the path, 0: only the ports limit it */
	bool retries;		  /* SRD: the device can be told how often to try; constant */
	unsigned int down;	  /* SRD: the node whose host is down: packets to it stay; or 0 */
	uint32_t unready;	  /* SRD: packets in a thousand whose receiver is not ready */
	enum ibv_wc_status error; /* SRD: of all packets, if it is not 0 */
	uint32_t vendor_err;	  /* SRD: the device's code for `error` and `read_error`, or 0 */
	bool named;		  /* SRD: queue pairs have names; constant */
	/* SRD: the longest read of the devices, 0 if they do not read; constant. */
	uint32_t max_read;
	enum ibv_wc_status read_error; /* of all reads, if it is not 0 */
	bool reads_wait;	       /* no read is carried out */
	int no_reads;		       /* the errno with which none is posted, or 0 */
	unsigned int grows; /* bits of nodes whose connections get queue pairs; constant */
	/* At these nodes that step of a queue pair fails; IBV_QPS_RESET: it is not created. */
	unsigned int rc_failing;
	enum ibv_qp_state rc_fails;
	bool no_reset;	/* queue pairs for datagrams cannot be reset */
	bool rc_silent; /* queue pairs in the error state keep the receives that they hold */
	void (*silent)(struct ud_conn *conn); /* NULL: the peer's host is heard */
	/* These handle requests by letter, and the answers to them. */
	bool (*asked)(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event);
	bool (*answered)(struct vrb_rc_conn *conn, const struct rdma_cm_event *event);
};

extern struct ud_node ud_nodes[UD_NODES];
extern int ud_net_objects; /* of the device that exist */
extern int ud_net_paths;   /* address handles that were asked for */
/* How often the device was last told to try again while a receiver is not ready; -1: not at all. */
extern int ud_net_retries;
extern bool ud_net_yields; /* sched_yield() lets time pass */

/* Returns the number of a node's queue pair. The first one of an adapter (SRD) has the number 0. */
uint32_t ud_net_qpn(unsigned int node);
void ud_net_begin(uint64_t seed, const struct ud_net_params *params);
/* Changes what the network does from now on. */
void ud_net_set(const struct ud_net_params *params);
/* Closes connections and endpoints; nothing of the device may be left. */
void ud_net_end(void);
/* Returns how many schedules a test runs: WEFT_SEEDS, or 60. */
uint64_t ud_net_seeds(void);
/* Returns a random number below n. */
uint32_t ud_net_any(uint32_t n);
/* Moves the clock and delivers packets. */
void ud_net_pass(uint64_t us);
/* Returns the time until a packet arrives or a timer of an endpoint expires, 0 if it is over. */
uint64_t ud_net_next(void);

/* The node's host has another MAC address, which only address handles that are made later have. */
void ud_net_move(unsigned int node);

/* Returns a new connection of a node, which knows no peer yet. */
struct ud_conn *ud_net_conn(unsigned int at);
/* Connects two endpoints; `from` is the active side. */
void ud_net_join(unsigned int from, unsigned int to, struct ud_conn **active,
		 struct ud_conn **passive);
void ud_net_close(struct ud_conn *conn);
/* The node forgets all of its connections without a word to its peers, as if it had restarted. */
void ud_net_forget(struct ud_conn *conn);
int ud_net_post(struct ud_conn *conn, enum ibv_wr_opcode opcode, void *buf, uint32_t len,
		uint64_t remote, uint32_t key, uint64_t id);
/* Sends a message of a few bytes. */
void ud_net_send(struct ud_conn *conn);
/* Sends such a message each way; both arrive. */
void ud_net_exchange(struct ud_conn *active, struct ud_conn *passive);
/* Returns true with a completion of the endpoint. */
bool ud_net_poll(unsigned int node, struct ibv_wc *wc);
/* Polls all nodes for so long, and adds their completions up by status. */
void ud_net_watch(uint64_t us, unsigned int counts[IBV_WC_GENERAL_ERR]);
/* Posts a receive buffer again. */
void ud_net_repost(unsigned int node, struct vrb_rdm_rx *rx);
/* Sends bytes to a node from a queue pair of the stranger, or of a node. */
void ud_net_inject(unsigned int from, uint32_t qpn, unsigned int to, const void *bytes, size_t len);
/* Makes a path from the node to a host under that GID, whose last byte is the host. */
void ud_net_meet_host(unsigned int node, const uint8_t *gid);
/*
 * Moves a node's queue pair for datagrams to that state. Returns how many work requests it has
 * flushed. A packet that is longer than its receive moves it to the error state, as on an adapter.
 */
unsigned int ud_net_fail(unsigned int node, enum ibv_qp_state state);
/* Returns how many reads the devices have not carried out yet. */
unsigned int ud_net_reading(void);
/* Returns the number of reliable queue pairs of a node, and of those that there were. */
unsigned int ud_net_rc_count(unsigned int node);
uint32_t ud_net_rc_created(void);
/* A message to the queue pair begins and does not end: it holds a receive. */
void ud_net_rc_hold(const struct ibv_qp *qp);
/* Returns how many receives a node's SRQ has. */
uint32_t ud_net_srq_count(unsigned int node);
/* Returns the packets that the stranger's host has received, and the last one of them. */
unsigned int ud_net_heard(struct vrb_ud_packet *last);

#endif
