/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fake librdmacm: ids, events that must be acknowledged before an id is destroyed, and calls that
 * can be made to fail. Also replaces the rest of a provider without real endpoints.
 */
#ifndef FAKE_CM_H
#define FAKE_CM_H

#include <stdbool.h>
#include <rdma/rdma_cma.h>
#include "prov/base/eq.h"
#include <prov/verbs/msg/ep.h>

struct fake_cm {
	/* The name of the call that fails, NULL for none. bind_port is bind_addr with a port. */
	const char *fail;
	int err;		      /* with this errno */
	int ids, channels, events;    /* numbers of existing objects */
	char calls[1024];	      /* names of the calls so far, each followed by a blank */
	struct rdma_conn_param param; /* of the last connect, accept or reject */
	uint8_t data[256], sl;	      /* the service level of the path to a datagram endpoint */
	uint16_t dlid;		      /* its destination */
	struct rdma_cm_id *last_id;
	/* If set, called after each successful call. */
	void (*on_call)(struct rdma_cm_id *id, const char *call);
	void (*bind_hook)(void); /* if set, called by rdma_bind_addr */
	/* If set, returns true for hints that no device meets. */
	bool (*refuses)(const struct fi_info *hints);
	bool idle;		   /* result of vrb_ep_is_idle */
	int ready, down, down_err; /* calls of vrb_ep_ready and not of unready, of vrb_ep_down */
};

extern struct fake_cm fake;

/* A fabric, a domain on a device, and an EQ. fake_fini fails the test if anything is left open. */
struct fake_bed {
	struct vrb_fabric fabric;
	struct vrb_domain domain;
	struct ofi_stats stats;
	struct ibv_device device;
	struct ibv_context ctx;
	struct fid_eq *eq;
	struct fi_info *info;
};

void fake_init(struct fake_bed *bed);
void fake_fini(struct fake_bed *bed);
/* Opens an endpoint without queues. */
struct vrb_ep *fake_ep(struct fake_bed *bed);
void fake_ep_close(struct vrb_ep *ep);

/* Queues an event for an id. */
void fake_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status);
/* Queues an event with the private data of a peer that sends len bytes of "text". */
void fake_event_data(struct rdma_cm_id *id, enum rdma_cm_event_type type, const char *text);
/* Queues a datagram event: of queue pair qpn at GID ::ffff:10.0.0.9, or of a group there. */
void fake_event_ud(struct rdma_cm_id *id, enum rdma_cm_event_type type, uint32_t qpn, uint32_t qkey,
		   const void *data, size_t len);
/* Queues a connect request of a peer. Returns its id. */
struct rdma_cm_id *fake_request(struct fake_bed *bed, struct rdma_cm_id *listener,
				const char *text);
/* Waits until all queued events have been handled. */
void fake_settle(void);

/* Reads an event and its data as text; returns 0 if there is none, and the -FI_E* of an error. */
int fake_read(struct fid_eq *eq, char *text, struct fi_info **info);

#endif
