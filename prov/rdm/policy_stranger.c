/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The strangers' connections: how their hosts share them, and which one is evicted for another. */
#include "policy_int.h"

#define LOOKS	  64   /* connections of a host examined for one that may go */
#define ROOM_MS	  20   /* interval between evictions for a host */
#define UNUSED_MS 1000 /* time for a first message, after which its own host may replace it */
#define IDLE_MS	  5000 /* idle time after which its own host may replace it */
#define HALF_MS	  5000 /* time for an accepted stranger to complete when its place is wanted */
#define BYE_MS	  500  /* time for a connection that was never used to answer BYE */

static struct ofi_rdm_conn_host *host_of(struct ofi_rdm_conn_set *set,
					 const struct ofi_rdm_conn *conn)
{
	return &set->hosts[conn->host];
}

void ofi_rdm_conn_stranger_out(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (!conn->stranger || !ofi_rdm_conn_is_open(conn->state))
		return;
	set->strangers--;
	host_of(set, conn)->open--;
	if (conn->listed)
		TAILQ_REMOVE(&host_of(set, conn)->strangers, conn, fellow);
	conn->listed = false;
}

void ofi_rdm_conn_stranger_in(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (!conn->stranger || !ofi_rdm_conn_is_open(conn->state))
		return;
	set->strangers++;
	host_of(set, conn)->open++;
	conn->listed = conn->state == OFI_RDM_CONN_ACCEPTING || conn->state == OFI_RDM_CONN_UP;
	if (conn->listed)
		TAILQ_INSERT_TAIL(&host_of(set, conn)->strangers, conn, fellow);
}

void ofi_rdm_conn_stranger_used(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (!conn->listed)
		return;
	TAILQ_REMOVE(&host_of(set, conn)->strangers, conn, fellow);
	TAILQ_INSERT_TAIL(&host_of(set, conn)->strangers, conn, fellow);
}

/* Reserves the next free connection for the refused host that has the fewest. */
void ofi_rdm_conn_stranger_refused(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	struct ofi_rdm_conn_host *host = host_of(set, conn);

	if (set->now >= set->held || host->open < set->hosts[set->held_for].open)
		set->held_for = conn->host;
	if (set->held_for == conn->host)
		set->held = set->now + 2 * ofi_rdm_conn_busy_most(set);
	if (set->now < host->asked)
		return;
	host->asked = set->now + ROOM_MS;
	set->action->make_room = true;
}

bool ofi_rdm_conn_is_held(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn)
{
	return set->now < set->held && conn->host != set->held_for &&
	       set->hosts[conn->host].open >= set->hosts[set->held_for].open;
}

uint64_t ofi_rdm_conn_stranger_gone_at(const struct ofi_rdm_conn_set *set,
				       const struct ofi_rdm_conn *conn)
{
	if (!conn->stranger)
		return OFI_RDM_DUE_NEVER;
	return conn->since + (conn->unused ? BYE_MS : set->params.give_up);
}

/*
 * The difference must be more than one, or two hosts would keep taking the place from each other.
 */
static bool has_more(const struct ofi_rdm_conn_set *set, uint8_t host, uint8_t other)
{
	return set->hosts[host].open > set->hosts[other].open + 1;
}

bool ofi_rdm_conn_stranger_overdue(const struct ofi_rdm_conn_set *set,
				   const struct ofi_rdm_conn *conn)
{
	return conn->stranger && conn->asked && set->now >= conn->asked + set->params.give_up &&
	       set->now < set->held && has_more(set, conn->host, set->held_for);
}

static bool is_half_open(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn)
{
	return conn->state == OFI_RDM_CONN_ACCEPTING && set->now >= conn->used + HALF_MS;
}

static bool is_idle(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn)
{
	return set->now >= conn->used + (conn->unused ? UNUSED_MS : IDLE_MS);
}

/*
 * Returns the host's least recently used connection that may be evicted; with `idle` it must be
 * idle.
 */
static struct ofi_rdm_conn *idlest_conn(struct ofi_rdm_conn_set *set, uint8_t host, bool idle)
{
	struct ofi_rdm_conn *conn;
	int i = 0;

	TAILQ_FOREACH (conn, &set->hosts[host].strangers, fellow) {
		if (i++ == LOOKS)
			break;
		if (is_half_open(set, conn))
			return conn;
		if (conn->state == OFI_RDM_CONN_UP && set->now >= conn->spared &&
		    (!idle || is_idle(set, conn)))
			return conn;
	}
	return NULL;
}

static uint8_t greatest_host(const struct ofi_rdm_conn_set *set)
{
	unsigned int i, most = 0;

	for (i = 1; i < OFI_RDM_CONN_HOSTS; i++)
		if (set->hosts[i].open > set->hosts[most].open)
			most = i;
	return (uint8_t)most;
}

struct ofi_rdm_conn *ofi_rdm_conn_stranger_victim(struct ofi_rdm_conn_set *set, uint8_t host)
{
	uint8_t most = greatest_host(set);

	if (has_more(set, most, host))
		return idlest_conn(set, most, false);
	return idlest_conn(set, set->hosts[host].open ? host : most, true);
}

struct ofi_rdm_conn *ofi_rdm_conn_half_open(struct ofi_rdm_conn_set *set)
{
	struct ofi_rdm_conn *conn;
	int i;

	if (!set->strangers)
		return NULL;
	for (i = 0; i < OFI_RDM_CONN_HOSTS; i++) {
		conn = TAILQ_FIRST(&set->hosts[i].strangers);
		if (conn && is_half_open(set, conn))
			return conn;
	}
	return NULL;
}
