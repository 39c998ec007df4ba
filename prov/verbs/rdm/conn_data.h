/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The private data of connection messages, from and to endpoints. */
#ifndef VRB_RDM_CONN_DATA_H
#define VRB_RDM_CONN_DATA_H

#include <rdma/rdma_cma.h>
#include "prov/rdm/cmwire.h"
#include "link.h"
#include "prov/rdm/peer.h"
#include "link.h"

/* What the endpoint says of itself. */
struct ofi_rdm_cmwire vrb_rdm_conn_words(const struct ofi_rdm_ep *ep, enum ofi_rdm_cmwire_kind kind,
					 uint64_t expected);
/* 16 bytes, IPv4 as ::ffff:a.b.c.d. */
void vrb_rdm_conn_ip(uint8_t *ip, const struct sockaddr *sa);
/* Private data of a message to a peer whose incarnation is `expected`. Returns its length. */
uint8_t vrb_rdm_conn_data(const struct ofi_rdm_ep *ep, enum ofi_rdm_cmwire_kind kind,
			  enum ofi_rdm_cmwire_reason reason, uint64_t expected, uint8_t *wire);
enum ofi_rdm_wire_error vrb_rdm_conn_parse(const struct rdma_cm_event *event,
					   struct ofi_rdm_cmwire *cm);
/* What a peer says of itself. */
void vrb_rdm_conn_learn(struct vrb_rdm_link *link, const struct ofi_rdm_cmwire *cm);
/*
 * The address that a peer says it listens at; one that is valid on a link only is reached by the
 * endpoint's.
 */
bool vrb_rdm_conn_addr(const struct ofi_rdm_ep *ep, const struct ofi_rdm_cmwire *cm,
		       struct ofi_rdm_addr *addr);
/* Whether that is an address of the host that the connection manager says the message came from. */
bool vrb_rdm_conn_is_from(const struct ofi_rdm_cmwire *cm, const struct sockaddr *from);

#endif
