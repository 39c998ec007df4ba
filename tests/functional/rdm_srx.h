/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Four reliable-datagram endpoints of one process and one address vector: two that receive by one
 * shared context, and two by themselves, which send. Each has a queue of its own.
 */
#ifndef RDM_SRX_H
#define RDM_SRX_H

#include "rdm.h"

enum { SRX_A, SRX_B, SRX_X, SRX_Y, SRX_EPS }; /* A and B share, X and Y do not */

struct srx_scene {
	struct fi_info *info, *own; /* of endpoints that share, and that do not */
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_ep *srx, *ep[SRX_EPS];
	struct fid_cq *cq[SRX_EPS];
	fi_addr_t addr[SRX_EPS];
};

/* caps: more than the provider's default. */
void srx_open(struct srx_scene *scene, uint64_t caps);
/* What srx_open() did not open, or was closed, is NULL. */
void srx_close(struct srx_scene *scene);
/* The info that fi_getinfo gives for so many receive contexts; NULL: it refuses. */
struct fi_info *srx_ask(uint64_t caps, size_t rx_ctx_cnt);
/* An endpoint that is not enabled, with its queue and the address vector. */
struct fid_ep *srx_endpoint(struct srx_scene *scene, int which);
/* The same, enabled, with its name in the address vector. */
void srx_add(struct srx_scene *scene, int which);
/* A completion of one of the endpoints, while all make progress; others keep theirs. */
struct fi_cq_tagged_entry srx_wait(struct srx_scene *scene, int which);
struct fi_cq_err_entry srx_wait_error(struct srx_scene *scene, int which);
/* A tagged message, and its completion at the sender. */
void srx_send(struct srx_scene *scene, int from, int to, const void *buf, size_t len, uint64_t tag);

#endif
