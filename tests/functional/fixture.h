/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two endpoints on the provider verbs, connected or with each other's address: the client is always
 * in the test's own process, the server is there too, or in a process of its own. Each test is run
 * both ways. What happens at an end is a step: at() runs it in the process where the end is, with a
 * copy of its argument that comes back.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include "check.h"

struct end;

/* What a test asks of its ends. What is 0 has the default that the comment names. */
struct setup {
	enum fi_ep_type type; /* FI_EP_MSG, or FI_EP_DGRAM */
	uint64_t caps;	      /* FI_MSG | FI_RMA | FI_ATOMIC; of FI_EP_DGRAM FI_MSG | FI_SOURCE */
	/* Of FI_EP_DGRAM: */
	enum fi_av_type av_type;
	uint32_t addr_format; /* FI_ADDR_IB_UD */
	uint64_t mode;	      /* FI_MSG_PREFIX or none */
	enum fi_threading threading;
	size_t tx_size, rx_size; /* the provider's */
	size_t cq_size;
	enum fi_cq_format format;  /* FI_CQ_FORMAT_TAGGED */
	enum fi_wait_obj wait_obj; /* of the CQs: FI_WAIT_NONE */
	enum fi_cq_wait_cond wait_cond;
	uint64_t tx_bind, rx_bind; /* with FI_TRANSMIT and FI_RECV */
	uint64_t tx_op_flags;
	uint32_t tclass;	   /* of tx_attr */
	size_t srx_size;	   /* of a shared receive context; 0: each endpoint has its own */
	size_t buf_size;	   /* 64 KiB */
	bool one_cq;		   /* for both directions; else there are two */
	bool no_cq;		   /* the endpoint has none, only counters */
	uint64_t cntrs;		   /* FI_SEND, FI_RECV, FI_READ, FI_WRITE: a counter for each */
	enum fi_wait_obj cntr_obj; /* FI_WAIT_NONE */
	bool domain_eq;		   /* the EQ is bound to the domain too */
	void (*ready)(struct end *end); /* after fi_enable, before the connection */
};

/* Memory that the other end can reach. */
struct target {
	uint64_t addr, key;
};

enum { CNTR_SEND, CNTR_RECV, CNTR_READ, CNTR_WRITE, CNTRS };

struct end {
	const char *name;
	const struct setup *setup;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;   /* of what is transmitted */
	struct fid_cq *rxcq; /* of what is received: cq, or another */
	struct fid_cntr *cntr[CNTRS];
	struct fid_pep *pep;
	struct fid_ep *ep;
	struct fid_ep *srx; /* where receives are shared */
	struct fid_av *av;  /* of FI_EP_DGRAM */
	fi_addr_t to;	    /* the other end */
	uint8_t *buf;	    /* registered with every access */
	struct fid_mr *mr;
	void *desc;
	struct target peer; /* the other end's buf */
	int sock;	    /* to the process where the end is, or -1 */
	pid_t pid;
};

struct pair {
	struct end client, server;
};

typedef void step_fn(struct end *end, void *arg);

/* main() of a test of a connected pair. -1 only as one process, -2 only as two. */
int run_pair(int argc, char **argv, const struct setup *setup, void (*test)(struct pair *pair));
/* The same, but the pair is not connected: nothing is open. */
int run_unconnected(int argc, char **argv, const struct setup *setup,
		    void (*test)(struct pair *pair));
/* The same, and only as two processes. */
int run_two_processes(const struct setup *setup, void (*test)(struct pair *pair));
void pair_open(struct pair *pair);
void pair_close(struct pair *pair);

void at(struct end *end, step_fn *step, void *arg, size_t len);
/*
 * As at(), without waiting; at_end() takes the result. Only where the server is a process of its
 * own.
 */
void at_begin(struct end *end, step_fn *step, const void *arg, size_t len);
void at_end(struct end *end, void *arg, size_t len);
bool two_processes(const struct pair *pair);

/* Discovery, by what the setup asks. Skips the test where there is no device. */
struct fi_info *hints_for(const struct setup *setup);
struct fi_info *info_for(const struct setup *setup, const char *node, const char *service,
			 uint64_t flags);
const char *local_addr(void);	   /* an address of the device */
const char *local_interface(void); /* the network interface that has it */

/* The parts of an end, each of which ends the test when it fails. */
void end_open(struct end *end, struct fi_info *info); /* takes info: fabric, domain, EQ, CQs, buf */
struct fid_cq *end_cq(struct end *end, const struct fi_cq_attr *attr);
struct fid_ep *end_srx(struct end *end, size_t size);
struct fid_ep *end_ep(struct end *end, struct fi_info *info); /* opened, bound and enabled */
void end_reg(struct end *end, void *buf, size_t len, uint64_t access, struct fid_mr **mr);
void end_close(struct end *end);
step_fn step_end_close;

/* The name of an endpoint of datagrams. */
struct name {
	size_t len;
	uint8_t bytes[64];
};

step_fn step_open_dgram; /* opens up to the endpoint; with a struct name, which it returns */
step_fn step_insert;	 /* with the struct name of the other end, which becomes `to` */
struct fi_info *own_info(const struct setup *setup); /* of this machine */
void end_name(struct end *end, struct name *name);

/* Where receives are posted. */
static inline struct fid_ep *end_rx(const struct end *end)
{
	return end->srx ? end->srx : end->ep;
}

/* Where a passive endpoint listens. */
struct place {
	char node[INET6_ADDRSTRLEN + 20];
	char service[8];
};

void end_listen(struct end *end, const char *node, struct place *place);
/* Opens the end for a connection to the place, up to its endpoint. */
void end_aim(struct end *end, const struct place *place);
/* A connection request's fi_info, and its data. */
struct fi_info *end_request(struct end *end, void *data, size_t *len);
/* Waits for an event that must be of this kind and for this fid. Returns the bytes of its data. */
size_t wait_event(struct fid_eq *eq, uint32_t event, const struct fid *fid, void *data, size_t len);
void wait_event_error(struct fid_eq *eq, struct fi_eq_err_entry *entry);
/* That nothing more comes, within some time. */
void no_event(struct fid_eq *eq, int ms);

#endif
