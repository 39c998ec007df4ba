/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One test connection: its libfabric objects and a byte in each direction. All calls return 0 or
 * -FI_E*.
 */
#ifndef DOCTOR_LINK_H
#define DOCTOR_LINK_H

#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

struct doctor_link {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_mr *mr;
	struct fid_ep *ep;
	struct fi_context2 contexts[2];
	char bytes[2]; /* sent byte, received byte */
	int received;  /* number of completed receives */
	int sent;
	const char *call; /* the call that failed */
	char detail[160]; /* the provider's explanation */
};

/* Opens the fabric and the event queue for the link's info. */
int doctor_link_fabric(struct doctor_link *link);
/* Opens everything else, up to an enabled endpoint with a posted receive. */
int doctor_link_endpoint(struct doctor_link *link);
/* Waits for an event; for FI_CONNREQ the link takes over the info. Returns -FI_ETIMEDOUT. */
int doctor_link_event(struct doctor_link *link, uint32_t event, int timeout_ms);
int doctor_link_send(struct doctor_link *link, char byte, int timeout_ms);
int doctor_link_receive(struct doctor_link *link, char byte, int timeout_ms);
/* Accepts a partially opened or zeroed link. */
void doctor_link_close(struct doctor_link *link);

#endif
