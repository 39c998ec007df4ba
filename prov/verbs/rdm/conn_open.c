/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections to peers: listening, timers, closing. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "src/ds/patience.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn_int.h"
#include "prov/rdm/lock.h"
#include "progress.h"
#include "prov/rdm/msg.h"
#include "secret.h"
#include "shm.h"
#include "prov/rdm/upcall.h"
#include "prov/verbs/discovery/source.h"
#include "prov/verbs/provider/err.h"
#include "prov/base/name.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"

#define BACKLOG	   1024
#define WINDOW	   32	/* outstanding requests */
#define ATTEMPT_MS 1000 /* time until an outstanding request is no longer counted */
/* Time until a connection that does not drain is resumed, and for work of a closing endpoint. */
#define DRAIN_MS       100
#define PROVE_MS       5000 /* with a job secret: time for the first packet of an accepted peer */
#define ENABLE_MS      10   /* retry of a timer that expires before fi_enable is complete */
#define BACKOFF_MS     20
#define BACKOFF_MAX_MS 1000

static void tick_run(struct ofi_rdm_ep *ep, struct ofi_rdm_task *tick)
{
	struct vrb_rdm_deferred_list freeable;

	(void)tick;
	__atomic_store_n(&vrb_rc(ep)->conns.ticking, false, __ATOMIC_RELEASE);
	vrb_rdm_conn_freeable(ep, &freeable);
	/*
	 * A peer that sends is connected, even if the connection manager does not report it in
	 * time.
	 */
	if (ep->enabled && !ep->closing) {
		vrb_rdm_poll_all(ep);
		vrb_rdm_conn_tick(ep);
	} else if (!ep->closing && (!ep->dead || !SLIST_EMPTY(&vrb_rc(ep)->conns.dead_conns))) {
		vrb_rdm_conn_wake(ep, ENABLE_MS);
	}
	vrb_rdm_conn_defer_all(ep, &freeable);
}

/* Called by the event thread. */
static void timer_ready(struct ofi_source *source)
{
	struct ofi_rdm_ep *ep = &ofi_container(source, struct vrb_rc_ep, conns.timer)->rdm;
	struct vrb_rdm_conns *conns = &vrb_rc(ep)->conns;
	uint64_t expired;

	if (vrb_rdm_conn_expired(conns, &expired) &&
	    !__atomic_exchange_n(&conns->ticking, true, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&conns->expired, expired, __ATOMIC_RELAXED);
		ofi_rdm_task_add(ep, &conns->tick);
	}
	vrb_rdm_conn_tasks(ep);
	vrb_rdm_conn_free_deferred(ep);
}

static int open_timer(struct ofi_rdm_ep *ep)
{
	int ret;

	vrb_rc(ep)->conns.tick.run = tick_run;
	vrb_rc(ep)->conns.armed = UINT64_MAX;
	vrb_rc(ep)->conns.wanted = UINT64_MAX;
	ofi_lock_init(&vrb_rc(ep)->conns.armed_lock);
	ofi_lock_init(&vrb_rc(ep)->conns.deferred_lock);
	vrb_rc(ep)->conns.timer = (struct ofi_source){
		.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		.ready = timer_ready,
	};
	if (vrb_rc(ep)->conns.timer.fd < 0)
		return -errno;
	ret = ofi_loop_add(&vrb_rc_domain(ep)->fabric->loop, &vrb_rc(ep)->conns.timer);
	if (!ret)
		return 0;
	close(vrb_rc(ep)->conns.timer.fd);
	vrb_rc(ep)->conns.timer.fd = -1;
	return ret;
}

static uint32_t any32(void *seed)
{
	return (uint32_t)rand_r(seed);
}

static int set_peers(struct ofi_rdm_ep *ep)
{
	const char *peers = vrb_params.peers;

	vrb_rc(ep)->conns.known_only = peers && !strcasecmp(peers, "known");
	vrb_rc(ep)->conns.admit.rate = (uint32_t)vrb_params.accept_rate;
	if (!peers || vrb_rc(ep)->conns.known_only || !strcasecmp(peers, "any"))
		return 0;
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			  "fi_endpoint: FI_VERBS_PEERS=%s is not valid; it takes any or known\n",
			  peers);
}

/* Returns the limit of connections; if they can grow, FI_VERBS_MAX_CONN limits queue pairs. */
static uint32_t conn_cap(const struct ofi_rdm_ep *ep)
{
	return vrb_params.max_conn && !vrb_rc_domain(ep)->grows ? (uint32_t)vrb_params.max_conn
								: UINT32_MAX;
}

/* Returns the limit for strangers: 3/4 of FI_VERBS_MAX_CONN or of the device's queue pairs. */
static uint32_t stranger_share(const struct ofi_rdm_ep *ep)
{
	uint32_t cap = conn_cap(ep);
	uint32_t most = cap < UINT32_MAX ? cap : (uint32_t)vrb_rc_domain(ep)->attr.max_qp;

	return most > 4 ? most - most / 4 : most;
}

static int open_conns(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_conn_params params = {
		.window = WINDOW,
		.cap = conn_cap(ep),
		.strangers = stranger_share(ep),
		.prove = vrb_rc(ep)->conns.secret ? PROVE_MS : 0,
		.attempt = ATTEMPT_MS,
		.give_up = (uint32_t)vrb_params.rdm_connect_timeout,
		.drain = DRAIN_MS,
		.backoff = BACKOFF_MS,
		.backoff_max = BACKOFF_MAX_MS,
		.random = any32,
		.arg = &vrb_rc(ep)->conns.seed,
		.entered = vrb_rdm_conn_entered,
	};

	if (getrandom(&params.incarnation, sizeof(params.incarnation), 0) !=
		    sizeof(params.incarnation) ||
	    getrandom(&vrb_rc(ep)->conns.host_key, sizeof(vrb_rc(ep)->conns.host_key), 0) !=
		    sizeof(vrb_rc(ep)->conns.host_key))
		return -errno;
	params.incarnation |= 1; /* 0 means none */
	vrb_rc(ep)->conns.seed = (unsigned int)(params.incarnation >> 1);
	ofi_rdm_conn_set_init(&vrb_rc(ep)->conns.set, &params);
	return 0;
}

/* Returns the interface number of the address; 0 if none is needed or known. */
static uint32_t scope_of(const struct ofi_rdm_addr *addr)
{
	struct ifaddrs *all, *at;
	struct ofi_rdm_addr other;
	uint32_t scope = 0;

	if (addr->sa.sa_family != AF_INET6 || addr->in6.sin6_scope_id)
		return addr->sa.sa_family == AF_INET6 ? addr->in6.sin6_scope_id : 0;
	if (getifaddrs(&all))
		return 0;
	for (at = all; at && !scope; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET6)
			continue;
		other.in6 = *(struct sockaddr_in6 *)at->ifa_addr;
		other.in6.sin6_port = addr->in6.sin6_port;
		if (!ofi_rdm_addr_compare(&other, addr))
			scope = if_nametoindex(at->ifa_name);
	}
	freeifaddrs(all);
	return scope;
}

/* Checks that connections from the address use the endpoint's device. */
static int check_device(struct ofi_rdm_ep *ep, const struct rdma_cm_id *id, const char *call)
{
	const char *ours = ibv_get_device_name(vrb_rc_domain(ep)->ctx->device);
	const char *its = id->verbs ? ibv_get_device_name(id->verbs->device) : "no device";

	if (!strcmp(ours, its))
		return 0;
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_EADDRNOTAVAIL,
			  "%s: the address is of %s, the domain of %s\n", call, its, ours);
}

static int start_listening(struct rdma_cm_id *id, const char *call, struct ofi_rdm_addr *self)
{
	int ret;

	if (!vrb_cm_listen(id, BACKLOG))
		return ofi_rdm_addr_set(self, rdma_get_local_addr(id)) ? 0 : -FI_EADDRNOTAVAIL;
	ret = vrb_errno(errno);
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, ret, "%s: rdma_listen: %s%s\n", call,
			  fi_strerror(-ret), vrb_remedy(-ret));
}

/* Listens with a new id, because an id can be bound only once, and destroys the old one. */
static int listen_at(struct ofi_rdm_ep *ep, const char *call, const struct sockaddr_storage *local)
{
	struct vrb_rdm_listener *listener = &vrb_rc(ep)->conns.listener;
	struct rdma_cm_id *id, *old = listener->id;
	struct ofi_rdm_addr self;
	int ret;

	ret = vrb_cm_bind_id(vrb_rdm_conn_cm(ep), call, &listener->owner, vrb_rc_domain(ep)->ud,
			     local, &id);
	if (ret)
		return ret;
	ret = check_device(ep, id, call);
	if (!ret)
		ret = start_listening(id, call, &self);
	if (ret) {
		rdma_destroy_id(id);
		return ret;
	}
	/* Before fi_enable, requests at the old id are already handled. */
	ofi_rdm_lock(ep);
	listener->id = id;
	ep->self = self;
	vrb_rc(ep)->conns.scope = scope_of(&self);
	ofi_rdm_unlock(ep);
	if (old)
		rdma_destroy_id(old);
	return 0;
}

int vrb_rdm_conn_setname(struct ofi_rdm_ep *ep, const struct sockaddr_storage *local)
{
	if (ofi_name_same(&ep->self.sa, (const struct sockaddr *)local))
		return 0;
	return listen_at(ep, "fi_setname", local);
}

static int listen_by_info(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_listener *listener = &vrb_rc(ep)->conns.listener;
	struct sockaddr_storage local;
	int ret;

	listener->ep = ep;
	listener->owner.ops = &vrb_rdm_listener_ops;
	/* Requests arrive on the queue pair itself. */
	if (ep->info->addr_format == FI_ADDR_EFA)
		return 0;
	ret = vrb_source_choose(vrb_rc_domain(ep), ep->info);
	if (!ret)
		ret = ofi_name_in(&vrb_prov, "fi_endpoint", ep->info->addr_format,
				  ep->info->src_addr, ep->info->src_addrlen, &local);
	return ret ? ret : listen_at(ep, "fi_endpoint", &local);
}

int vrb_rdm_conn_open(struct ofi_rdm_ep *ep)
{
	int ret;

	TAILQ_INIT(&vrb_rc(ep)->conns.starved);
	ret = set_peers(ep);
	if (!ret)
		ret = vrb_rdm_secret_open(ep->info, ep->domain->info, &vrb_rc(ep)->conns.secret);
	if (!ret)
		ret = open_conns(ep);
	if (!ret)
		ret = open_timer(ep);
	return ret ? ret : listen_by_info(ep);
}

static bool work_goes_on(struct ofi_rdm_ep *ep)
{
	bool some;

	ofi_rdm_lock(ep);
	some = vrb_ud_reads(ep) || vrb_shm_wakes(ep);
	if (some)
		vrb_rdm_poll_all(ep);
	ofi_rdm_unlock(ep);
	return some;
}

/*
 * Waits for RDMA reads. Receives of a shared context are reported when connections are flushed, and
 * their memory may be freed at once, so the device must no longer write to it. Also waits until
 * peers are woken, because they do not take what follows in their rings before that.
 */
static void end_work(struct ofi_rdm_ep *ep)
{
	struct ofi_patience patience = { .ms = DRAIN_MS };

	while (work_goes_on(ep)) {
		if (ofi_patience_over(&patience)) {
			ofi_rdm_lock(ep);
			if (vrb_ud_reads(ep))
				vrb_ud_halt(ep);
			ofi_rdm_unlock(ep);
			return;
		}
		sched_yield();
	}
}

/* The device uses no more memory when the ends of work requests are reported. */
static void close_conn(struct vrb_rc_conn *conn)
{
	if (conn->id)
		rdma_destroy_id(conn->id);
	vrb_rc_conn_drop_rights(conn);
	vrb_rc_conn_destroy_qp(conn);
	ofi_rdm_lock(conn->ep);
	vrb_rdm_flush(conn, FI_ECANCELED);
	ofi_rdm_unlock(conn->ep);
	vrb_rc_conn_free(conn);
}

void vrb_rdm_conn_close(struct ofi_rdm_ep *ep)
{
	struct vrb_rc_conn *conn, *next;
	uint32_t i;

	if (vrb_rc(ep)->conns.timer.fd >= 0)
		ofi_loop_remove(&vrb_rc_domain(ep)->fabric->loop, &vrb_rc(ep)->conns.timer);
	if (vrb_rc(ep)->conns.listener.id)
		rdma_destroy_id(vrb_rc(ep)->conns.listener.id);
	end_work(ep);
	vrb_rdm_conn_settle(ep);
	vrb_rdm_conn_free_deferred(ep);
	vrb_rdm_conn_settle(ep);
	vrb_rc(ep)->recent_qp = VRB_RDM_NO_QP;
	/* Another endpoint of the shared receive context may match a message of these peers. */
	ofi_rdm_lock(ep);
	for (i = 0; i < ep->peer_count; i++)
		if (vrb_rc_peer(ep->peers[i])->conn)
			vrb_rc_conn_drop_rights(vrb_rc_peer(ep->peers[i])->conn);
	ofi_rdm_release_all(ep);
	ofi_rdm_unlock(ep);
	while ((conn = SLIST_FIRST(&vrb_rc(ep)->conns.dead_conns))) {
		SLIST_REMOVE_HEAD(&vrb_rc(ep)->conns.dead_conns, dead_entry);
		close_conn(conn);
	}
	for (i = 0; i < ep->peer_count; i++) {
		vrb_rdm_conn_probes_end(&vrb_rc_peer(ep->peers[i])->probes);
		vrb_rdm_conn_probes_end(&vrb_rc_peer(ep->peers[i])->asks);
		/* Outgoing requests that have no queue pair yet. */
		if (vrb_rc_peer(ep->peers[i])->next && !vrb_rc_peer(ep->peers[i])->next->qp)
			close_conn(vrb_rc_peer(ep->peers[i])->next);
	}
	vrb_rdm_conn_free_deferred(ep);
	for (conn = vrb_rc_table_next(&vrb_rc(ep)->by_qp, NULL); conn; conn = next) {
		next = vrb_rc_table_next(&vrb_rc(ep)->by_qp, conn);
		close_conn(conn);
	}
	/* Drops the events of closed objects. */
	vrb_rdm_conn_settle(ep);
	if (vrb_rc(ep)->conns.timer.fd >= 0)
		close(vrb_rc(ep)->conns.timer.fd);
	vrb_rdm_secret_close(vrb_rc(ep)->conns.secret);
	vrb_rc(ep)->conns.secret = NULL;
}

/* A shared receive context has no queue of the device: it is lost with the last endpoint of it. */
static bool is_srx_lost(const struct ofi_rdm_ep *srx)
{
	const struct ofi_rdm_ep *ep;

	LIST_FOREACH (ep, &srx->members, srx_link)
		if (!ep->dead && !ep->closing)
			return false;
	return true;
}

void vrb_rdm_conn_lose(struct ofi_rdm_ep *ep, int err)
{
	uint32_t i;

	if (ep->closing || ep->dead)
		return;
	ep->dead = err;
	ep->enabled = ep->receives = false;
	for (i = 0; i < ep->peer_count; i++)
		vrb_rdm_conn_step(ep->peers[i], (struct ofi_rdm_conn_input){
							.event = OFI_RDM_CONN_CLOSE, .err = err });
	ofi_rdm_recvs_lost(ep, err);
	if (ep->in_srx && is_srx_lost(ep->srx))
		ofi_rdm_recvs_lost(ep->srx, err);
}

void vrb_rdm_conn_lost(struct ofi_rdm_ep *ep, int err)
{
	ofi_rdm_lock(ep);
	vrb_rdm_conn_lose(ep, err);
	ofi_rdm_unlock(ep);
}
