/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Service ID resolution: the querying side, for many addresses at once or one without waiting. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/verbs/dgram/av.h"
#include "prov/verbs/discovery/resolve.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "sidr.h"

enum {
	AT_ONCE = 32,
	/* Wait for an answer in units of resolve_timeout: the kernel resends only after 4 s. */
	ANSWER_TIMEOUTS = 5,
	BEHIND_MS = 5000, /* for the event thread to read an answer that is there */
};

struct vrb_sidr_lookup {
	struct vrb_owner owner;
	struct vrb_av *av;
	struct lookups *all;   /* the waiting caller, or NULL */
	struct rdma_cm_id *id; /* NULL if nothing is queried */
	size_t which;	       /* index into all->found[] */
	uint64_t deadline;
	bool done; /* atomic, set with all->mutex held unless all is NULL; then err is valid */
	int err;   /* 0 with dest filled, or -FI_E* */
	struct vrb_dest dest;
};

struct lookups {
	struct vrb_av *av;
	const char *call;
	struct vrb_av_found *found;
	pthread_mutex_t mutex;
	pthread_cond_t some_done;
	struct vrb_sidr_lookup lookup[AT_ONCE];
};

static void sidr_lookup_settle(struct vrb_sidr_lookup *lookup, int err)
{
	struct lookups *all = lookup->all;

	if (all)
		pthread_mutex_lock(&all->mutex);
	lookup->err = err;
	__atomic_store_n(&lookup->done, true, __ATOMIC_RELEASE);
	if (!all)
		return;
	pthread_cond_signal(&all->some_done);
	pthread_mutex_unlock(&all->mutex);
}

/* Resolves the route, which must use the AV's device and port, like its address handles. */
static int route_on(const struct vrb_sidr_lookup *lookup, struct rdma_cm_id *id)
{
	const struct vrb_av *av = lookup->av;

	if (!id->verbs || id->port_num != av->port.num ||
	    strcmp(ibv_get_device_name(id->verbs->device),
		   ibv_get_device_name(av->domain->ctx->device)))
		return -FI_EADDRNOTAVAIL;
	return rdma_resolve_route(id, vrb_params.resolve_timeout) ? vrb_errno(errno) : 0;
}

/* Endpoints take datagrams of the port's MTU, but links on the way may drop them. */
static void warn_narrow(const struct vrb_ud_port *port, struct rdma_cm_id *id)
{
	uint32_t mtu = vrb_ud_route_mtu(id);
	char text[OFI_ADDR_STRLEN];

	if (mtu < port->mtu)
		FI_WARN_SPARSE(
			&vrb_prov, FI_LOG_AV,
			"datagrams of more than %u bytes to %s are lost on the way; port %u takes %u\n",
			mtu, ofi_addr_str(rdma_get_peer_addr(id), text, sizeof(text)), port->num,
			port->mtu);
}

static int sidr_lookup_ask(const struct vrb_sidr_lookup *lookup, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { 0 };

	warn_narrow(&lookup->av->port, id);
	return rdma_connect(id, &param) ? vrb_errno(errno) : 0;
}

/*
 * Takes the name that endpoints of this library send, or for any other listener the data of the
 * connection manager, and the path that this has found.
 */
static int take_answer(struct vrb_sidr_lookup *lookup, const struct rdma_ud_param *ud)
{
	struct vrb_dest *dest = &lookup->dest;
	struct vrb_ud_name name;
	const char *why;

	if (ud->private_data_len >= sizeof(name) &&
	    !vrb_ud_name_in(FI_ADDR_IB_UD, ud->private_data, dest, &why) &&
	    dest->qpn == ud->qp_num) {
		dest->sl = ud->ah_attr.sl;
		if (ud->ah_attr.dlid)
			dest->lid = ud->ah_attr.dlid;
		return 0;
	}
	*dest = (struct vrb_dest){
		.qpn = ud->qp_num,
		.qkey = ud->qkey,
		.gid = ud->ah_attr.grh.dgid,
		.lid = ud->ah_attr.dlid,
		.pkey = lookup->av->port.pkey,
		.sl = ud->ah_attr.sl,
	};
	vrb_ud_name_out(dest, &name);
	return vrb_ud_name_in(FI_ADDR_IB_UD, &name, dest, &why);
}

/* A status above 0 comes from service ID resolution: nobody listens, or the listener refuses. */
static int event_err(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_UNREACHABLE && event->status > 0)
		return -FI_ECONNREFUSED;
	return -vrb_cm_err(event->event, event->status);
}

static void sidr_lookup_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
				 struct vrb_cm_left *left)
{
	struct vrb_sidr_lookup *lookup = ofi_container(owner, struct vrb_sidr_lookup, owner);
	int ret;

	(void)left;
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = route_on(lookup, event->id);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = sidr_lookup_ask(lookup, event->id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		sidr_lookup_settle(lookup, take_answer(lookup, &event->param.ud));
		return;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return;
	default:
		ret = event_err(event);
		break;
	}
	if (ret)
		sidr_lookup_settle(lookup, ret);
}

static const struct vrb_owner_ops lookup_owner_ops = { .event = sidr_lookup_cm_event };

const char *vrb_sidr_advice(int err)
{
	switch (err) {
	case -FI_ECONNREFUSED:
		return "; no datagram endpoint with this address and port is enabled there";
	case -FI_ETIMEDOUT:
		return "; the host does not answer";
	case -FI_EADDRNOTAVAIL:
		return "; it is reached through another device or port than the domain's";
	case -FI_EINVAL:
		return "; the responder is not a datagram queue pair";
	default:
		return vrb_remedy(-err);
	}
}

bool vrb_sidr_may_come(const struct vrb_av *av, int err)
{
	return (err == -FI_ECONNREFUSED || err == -FI_ETIMEDOUT) && !vrb_ud_format(av->addr_format);
}

static void sidr_lookup_failed(const struct lookups *all, size_t which, int err)
{
	const struct sockaddr *to = (const struct sockaddr *)&all->found[which].addr;
	char text[OFI_ADDR_STRLEN];

	if (vrb_sidr_may_come(all->av, err))
		FI_INFO(&vrb_prov, FI_LOG_AV, "%s: %s: %s%s; sends to it will ask again\n",
			all->call, ofi_addr_str(to, text, sizeof(text)), fi_strerror(-err),
			vrb_sidr_advice(err));
	else
		FI_WARN_SPARSE(&vrb_prov, FI_LOG_AV, "%s: %s: %s%s\n", all->call,
			       ofi_addr_str(to, text, sizeof(text)), fi_strerror(-err),
			       vrb_sidr_advice(err));
}

/* Starts a lookup of `to`. Returns 0, or -FI_E* without an id. */
static int sidr_lookup_start(struct vrb_sidr_lookup *lookup, struct vrb_av *av, const char *call,
			     struct sockaddr_storage *to)
{
	const struct fi_info *info = av->domain->base.info;
	struct sockaddr_storage from;
	struct sockaddr *src = vrb_resolve_own(info, &from) ? (struct sockaddr *)&from : NULL;
	int ret;

	lookup->owner.ops = &lookup_owner_ops;
	lookup->av = av;
	lookup->deadline =
		ofi_now_ms() + (2 + ANSWER_TIMEOUTS) * (uint64_t)vrb_params.resolve_timeout;
	if (src && src->sa_family != to->ss_family)
		src = NULL;
	ret = vrb_cm_create_id(&av->domain->fabric->cm, call, &lookup->owner, true, &lookup->id);
	if (ret) {
		lookup->id = NULL;
		return ret;
	}
	vrb_tclass_set_id(vrb_tclass_of(info, info), lookup->id);
	if (!rdma_resolve_addr(lookup->id, src, (struct sockaddr *)to, vrb_params.resolve_timeout))
		return 0;
	ret = vrb_errno(vrb_err_cause(errno));
	rdma_destroy_id(lookup->id);
	lookup->id = NULL;
	return ret;
}

/* Starts a lookup that the caller waits for. Returns 0, or logs and returns -FI_E*. */
static int sidr_lookup_add(struct lookups *all, struct vrb_sidr_lookup *lookup, size_t which)
{
	int ret;

	*lookup = (struct vrb_sidr_lookup){ .all = all, .which = which };
	ret = sidr_lookup_start(lookup, all->av, all->call, &all->found[which].addr);
	if (ret)
		sidr_lookup_failed(all, which, ret);
	return ret;
}

/* Ends a lookup that is done or overdue. None of its events arrives after rdma_destroy_id(). */
static void sidr_lookup_finish(struct vrb_sidr_lookup *lookup, int *errs)
{
	struct lookups *all = lookup->all;

	rdma_destroy_id(lookup->id);
	lookup->id = NULL;
	errs[lookup->which] = lookup->done ? lookup->err : -FI_ETIMEDOUT;
	if (errs[lookup->which])
		sidr_lookup_failed(all, lookup->which, errs[lookup->which]);
	else
		all->found[lookup->which].dest = lookup->dest;
}

/* An answer that the event thread has not read yet is in time, unless others keep it from that. */
static bool is_overdue(const struct vrb_sidr_lookup *lookup)
{
	uint64_t now = ofi_now_ms();

	return now >= lookup->deadline && (now >= lookup->deadline + BEHIND_MS ||
					   !vrb_cm_is_behind(&lookup->av->domain->fabric->cm));
}

/* Sleeps until a lookup is done or overdue. Returns NULL if none is in progress. */
static struct vrb_sidr_lookup *await_lookup(struct lookups *all)
{
	struct vrb_sidr_lookup *lookup, *first = NULL;
	struct timespec until;
	uint64_t soon;
	size_t i;

	for (;;) {
		for (i = 0, first = NULL; i < AT_ONCE; i++) {
			lookup = &all->lookup[i];
			if (!lookup->id)
				continue;
			if (lookup->done)
				return lookup;
			if (!first || lookup->deadline < first->deadline)
				first = lookup;
		}
		if (!first || is_overdue(first))
			return first;
		soon = ofi_now_ms() + 1;
		if (soon < first->deadline)
			soon = first->deadline;
		until.tv_sec = (time_t)(soon / 1000);
		until.tv_nsec = (long)(soon % 1000) * 1000000;
		pthread_cond_timedwait(&all->some_done, &all->mutex, &until);
	}
}

/* Waits for a lookup to end. Returns it, idle now, or NULL if none is in progress. */
static struct vrb_sidr_lookup *reap_lookup(struct lookups *all, int *errs)
{
	struct vrb_sidr_lookup *lookup;

	pthread_mutex_lock(&all->mutex);
	lookup = await_lookup(all);
	pthread_mutex_unlock(&all->mutex);
	if (lookup)
		sidr_lookup_finish(lookup, errs);
	return lookup;
}

void vrb_sidr_resolve(struct vrb_av *av, const char *call, struct vrb_av_found *found, int *errs,
		      size_t count)
{
	struct lookups all = { .av = av, .call = call, .found = found };
	struct vrb_sidr_lookup *idle = NULL;
	pthread_condattr_t attr;
	size_t i, used = 0;

	pthread_mutex_init(&all.mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&all.some_done, &attr);
	pthread_condattr_destroy(&attr);
	for (i = 0; i < count; i++) {
		if (errs[i])
			continue;
		if (!idle)
			idle = used < AT_ONCE ? &all.lookup[used++] : reap_lookup(&all, errs);
		errs[i] = sidr_lookup_add(&all, idle, i);
		if (!errs[i])
			idle = NULL;
	}
	while (reap_lookup(&all, errs))
		;
	pthread_cond_destroy(&all.some_done);
	pthread_mutex_destroy(&all.mutex);
}

int vrb_sidr_start(struct vrb_av *av, const char *call, const struct sockaddr_storage *to,
		   struct vrb_sidr_lookup **lookup)
{
	struct sockaddr_storage addr = *to;
	struct vrb_sidr_lookup *own = calloc(1, sizeof(*own));
	int ret = own ? sidr_lookup_start(own, av, call, &addr) : -FI_ENOMEM;

	if (ret) {
		free(own);
		return ret;
	}
	*lookup = own;
	return 0;
}

bool vrb_sidr_settled(const struct vrb_sidr_lookup *lookup, int *err, struct vrb_dest *dest)
{
	if (__atomic_load_n(&lookup->done, __ATOMIC_ACQUIRE)) {
		*err = lookup->err;
		*dest = lookup->dest;
		return true;
	}
	*err = -FI_ETIMEDOUT;
	return is_overdue(lookup);
}

void vrb_sidr_end(struct vrb_sidr_lookup *lookup)
{
	rdma_destroy_id(lookup->id);
	free(lookup);
}
