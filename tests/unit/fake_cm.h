/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * librdmacm as the provider sees it: ids, events that have to be acknowledged before an id goes,
 * calls that can be made to fail. With it the rest of a provider that has no endpoints of its own.
 */
#ifndef FAKE_CM_H
#define FAKE_CM_H

#include <stdbool.h>
#include <rdma/rdma_cma.h>
#include "prov/base/eq.h"
#include <prov/verbs/msg/ep.h>

struct fake_cm {
	const char *fail;	      /* name of the call that fails, NULL for none */
	int err;		      /* with this errno */
	int ids, channels, events;    /* that exist */
	char calls[1024];	      /* names of the calls so far, each with a blank behind it */
	struct rdma_conn_param param; /* of the last connect, accept or reject */
	uint8_t data[256];
	struct rdma_cm_id *last_id;
	/* Called when a call has been made and succeeds, where set. */
	void (*on_call)(struct rdma_cm_id *id, const char *call);
	int ready, down, down_err; /* calls of vrb_ep_ready, vrb_ep_down */
};

extern struct fake_cm fake;

/*
 * A fabric, a domain on a device, and an EQ. Everything is gone after fake_fini, or the test fails.
 */
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
/* An endpoint without queues. */
struct vrb_ep *fake_ep(struct fake_bed *bed);
void fake_ep_close(struct vrb_ep *ep);

/* Queues an event of an id. */
void fake_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status);
/* Queues an event with private data, which is what a peer that sends len bytes of "text" makes. */
void fake_event_data(struct rdma_cm_id *id, enum rdma_cm_event_type type, const char *text);
/* Queues an event of datagrams: of queue pair qpn at GID ::ffff:10.0.0.9, or of a group there. */
void fake_event_ud(struct rdma_cm_id *id, enum rdma_cm_event_type type, uint32_t qpn, uint32_t qkey,
		   const void *data, size_t len);
/* A connect request of a peer. Returns its id. */
struct rdma_cm_id *fake_request(struct fake_bed *bed, struct rdma_cm_id *listener,
				const char *text);
/* Waits until all queued events are handled. */
void fake_settle(void);

/* Reads an event and its data as text; 0 is none, a negative one an error's -FI_E*. */
int fake_read(struct fid_eq *eq, char *text, struct fi_info **info);

#endif
