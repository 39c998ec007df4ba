/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two verbs endpoints, connected or with each other's address. The client is always in the test's
 * own process; the server is there, too, or in a separate process. Each test runs both ways. A step
 * is an action at one end: at() runs it in the process of that end, with a copy of its argument
 * that is copied back afterward.
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

/* Parameters of the ends. A field that is 0 stands for the default in its comment. */
struct setup {
	enum fi_ep_type type; /* FI_EP_MSG; the alternative is FI_EP_DGRAM */
	const char *prov;     /* "verbs" */
	uint64_t caps;	      /* FI_MSG | FI_RMA | FI_ATOMIC; for FI_EP_DGRAM FI_MSG | FI_SOURCE */
	/* For FI_EP_DGRAM: */
	enum fi_av_type av_type;
	uint32_t addr_format; /* FI_ADDR_IB_UD */
	uint64_t mode;	      /* FI_MSG_PREFIX or none */
	enum fi_threading threading;
	size_t tx_size, rx_size; /* the provider's default */
	size_t cq_size;
	enum fi_cq_format format;  /* FI_CQ_FORMAT_TAGGED */
	enum fi_wait_obj wait_obj; /* for the CQs: FI_WAIT_NONE */
	enum fi_cq_wait_cond wait_cond;
	uint64_t tx_bind, rx_bind; /* flags in addition to FI_TRANSMIT and FI_RECV */
	uint64_t tx_op_flags;
	uint32_t tclass; /* tclass of tx_attr */
	/* Size of a shared receive context; 0: each endpoint has its own receives. */
	size_t srx_size;
	size_t buf_size;	   /* 64 KiB */
	bool one_cq;		   /* one CQ for both directions instead of two */
	bool no_cq;		   /* no CQ, only counters */
	uint64_t cntrs;		   /* FI_SEND, FI_RECV, FI_READ, FI_WRITE: a counter for each */
	enum fi_wait_obj cntr_obj; /* FI_WAIT_NONE */
	bool domain_eq;		   /* also binds the EQ to the domain */
	uint32_t api;		   /* the API version of the program: 2.0 */
	void (*ready)(struct end *end); /* called after fi_enable, before the connection is made */
};

/* Memory that the other end can access. */
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
	struct fid_cq *cq;   /* for transmits */
	struct fid_cq *rxcq; /* for receives: cq, or another one */
	struct fid_cntr *cntr[CNTRS];
	struct fid_pep *pep;
	struct fid_ep *ep;
	struct fid_ep *srx; /* if receives are shared */
	struct fid_av *av;  /* for FI_EP_DGRAM */
	fi_addr_t to;	    /* address of the other end */
	uint8_t *buf;	    /* registered with every access */
	struct fid_mr *mr;
	void *desc;
	struct target peer; /* the buf of the other end */
	int sock;	    /* connects to the process of the end, or -1 */
	pid_t pid;
};

struct pair {
	struct end client, server;
};

typedef void step_fn(struct end *end, void *arg);

/*
 * Implements main() of a test with a connected pair. The argument -1 runs it as one process only,
 * -2 as two only.
 */
int run_pair(int argc, char **argv, const struct setup *setup, void (*test)(struct pair *pair));
/* The same without opening anything. */
int run_unconnected(int argc, char **argv, const struct setup *setup,
		    void (*test)(struct pair *pair));
/* The same, with two processes only. */
int run_two_processes(const struct setup *setup, void (*test)(struct pair *pair));
void pair_open(struct pair *pair);
void pair_close(struct pair *pair);

void at(struct end *end, step_fn *step, void *arg, size_t len);
/*
 * Like at() without waiting; at_end() returns the result. Only if the server is a separate process.
 */
void at_begin(struct end *end, step_fn *step, const void *arg, size_t len);
void at_end(struct end *end, void *arg, size_t len);
bool two_processes(const struct pair *pair);

/* Calls fi_getinfo for the setup. Skips the test if there is no device. */
struct fi_info *hints_for(const struct setup *setup);
struct fi_info *info_for(const struct setup *setup, const char *node, const char *service,
			 uint64_t flags);
const char *local_addr(void);	   /* an address of the device */
const char *local_interface(void); /* the network interface that has it */

/* Parts of an end; each ends the test if it fails. */
/* Takes over info; opens fabric, domain, EQ, CQs, buf. */
void end_open(struct end *end, struct fi_info *info);
struct fid_cq *end_cq(struct end *end, const struct fi_cq_attr *attr);
struct fid_ep *end_srx(struct end *end, size_t size);
struct fid_ep *end_ep(struct end *end, struct fi_info *info); /* opened, bound and enabled */
void end_reg(struct end *end, void *buf, size_t len, uint64_t access, struct fid_mr **mr);
void end_close(struct end *end);
step_fn step_end_close;

/* The name of a datagram endpoint. */
struct name {
	size_t len;
	uint8_t bytes[64];
};

step_fn step_open_dgram; /* opens the endpoint; takes a struct name, which it fills in */
step_fn step_insert;	 /* takes the struct name of the other end, whose address becomes `to` */
struct fi_info *own_info(const struct setup *setup); /* for this machine */
void end_name(struct end *end, struct name *name);

/* Returns the endpoint that receives are posted to. */
static inline struct fid_ep *end_rx(const struct end *end)
{
	return end->srx ? end->srx : end->ep;
}

/* The address of a passive endpoint. */
struct place {
	char node[INET6_ADDRSTRLEN + 20];
	char service[8];
};

void end_listen(struct end *end, const char *node, struct place *place);
/* Opens the end with an endpoint for connecting to the place. */
void end_aim(struct end *end, const struct place *place);
/* Waits for a connection request; returns its fi_info and its data. */
struct fi_info *end_request(struct end *end, void *data, size_t *len);
/* Waits for an event of this kind for this fid. Returns the length of its data. */
size_t wait_event(struct fid_eq *eq, uint32_t event, const struct fid *fid, void *data, size_t len);
void wait_event_error(struct fid_eq *eq, struct fi_eq_err_entry *entry);
/* Checks that no event arrives for some time. */
void no_event(struct fid_eq *eq, int ms);

#endif
