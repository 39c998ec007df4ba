/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Resolves an IP address and port to an unreliable datagram queue pair, using the connection
 * manager's service ID resolution: a datagram endpoint with an IP address listens, fi_av_insert
 * queries.
 *
 * The reply carries the endpoint's name as private data, because for IP addresses the kernel
 * replaces the Q_Key of an accepted request by its own (0x01234567).
 */
#ifndef VRB_SIDR_H
#define VRB_SIDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <rdma/rdma_cma.h>
#include "cm.h"
#include "prov/verbs/dgram/ud_name.h"

struct vrb_av;
struct vrb_av_found;
struct vrb_fabric;
struct vrb_sidr_lookup;

struct vrb_sidr_server {
	struct vrb_owner owner;
	struct rdma_cm_id *id;	       /* NULL while not listening */
	struct sockaddr_storage local; /* the bound address with its port */
	struct vrb_ud_name name;
	uint32_t qpn;
};

/*
 * Starts listening; port 0 is replaced by a free one. The name is copied. Returns 0, or logs and
 * returns -FI_E*.
 */
int vrb_sidr_listen(struct vrb_sidr_server *server, struct vrb_fabric *fabric,
		    const struct sockaddr_storage *local, const struct vrb_ud_name *name);
/* Stops answering requests. Does nothing if it is not listening. */
void vrb_sidr_close(struct vrb_sidr_server *server);

/*
 * Queries every found[i].addr whose errs[i] is 0, and fills found[i].dest or sets errs[i] to
 * -FI_E*, logged for `call`. Returns when all queries are answered or have failed; each takes at
 * most a multiple of resolve_timeout.
 */
void vrb_sidr_resolve(struct vrb_av *av, const char *call, struct vrb_av_found *found, int *errs,
		      size_t count);
/* Returns true if an endpoint may open with the address later, so the address vector keeps it. */
bool vrb_sidr_may_come(const struct vrb_av *av, int err);
/* Returns the advice that follows an error in the log. */
const char *vrb_sidr_advice(int err);

/* Starts to query one address. Returns 0 with a lookup for vrb_sidr_end(), or -FI_E*. */
int vrb_sidr_start(struct vrb_av *av, const char *call, const struct sockaddr_storage *to,
		   struct vrb_sidr_lookup **lookup);
/* Returns false while the lookup is pending. Otherwise *err is -FI_E*, or 0 with *dest filled. */
bool vrb_sidr_settled(const struct vrb_sidr_lookup *lookup, int *err, struct vrb_dest *dest);
/* Ends a lookup, pending or not. The caller holds no lock that an event takes. */
void vrb_sidr_end(struct vrb_sidr_lookup *lookup);

#endif
