/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads a fabric's connection manager events and passes each to its owner. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "cm.h"
#include "prov/base/eq.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/fabric.h"
#include "prov/verbs/provider/prov.h"
#include "src/ds/fork.h"
#include "req.h"

/*
 * Held in calls of librdmacm that take its own locks for long, which a child needs. Those of
 * rdma_destroy_id are held briefly; it may wait for the event thread, which binds ids.
 */
OFI_FORK_MUTEX(rdmacm_lock, OFI_FORK_INNER);

static struct vrb_cm_left cm_deliver(struct vrb_cm *cm, const struct rdma_cm_event *event)
{
	bool request = event->event == RDMA_CM_EVENT_CONNECT_REQUEST, locked;
	struct vrb_cm_left left = { 0 };
	const struct vrb_owner_ops *ops;
	struct vrb_owner *owner;

	ofi_lock(&cm->lock);
	owner = (request ? event->listen_id : event->id)->context;
	ops = owner->ops;
	locked = ops->locked && !request; /* an id that listens keeps its owner */
	if (locked)
		ops->event(owner, event, &left);
	ofi_unlock(&cm->lock);
	if (!locked)
		ops->event(owner, event, &left);
	return left;
}

/*
 * Handles one event. The loop calls again if there are more, after the other sources had their
 * turn.
 */
static void cm_ready(struct ofi_source *source)
{
	struct vrb_cm *cm = ofi_container(source, struct vrb_cm, source);
	struct rdma_cm_event *event;
	struct vrb_cm_left left;
	bool idle;

	idle = rdma_get_cm_event(cm->channel, &event);
	__atomic_store_n(&source->idle, idle, __ATOMIC_RELAXED);
	if (idle) {
		if (errno != EAGAIN && errno != EINTR)
			FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL, "rdma_get_cm_event: %s%s\n",
				       fi_strerror(errno), vrb_remedy(errno));
		return;
	}
	left = cm_deliver(cm, event);
	rdma_ack_cm_event(event);
	if (left.refuse)
		vrb_req_reject(left.refuse, NULL, 0);
	if (left.destroy)
		rdma_destroy_id(left.destroy);
}

int vrb_cm_post(struct ofi_eq *eq, uint32_t event, struct fid *fid, struct fi_info *info,
		const uint8_t *data, size_t len)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t room[sizeof(struct fi_eq_cm_entry) + UINT8_MAX];
	} post = { .entry = { .fid = fid, .info = info } };

	if (!eq)
		return 0;
	if (len)
		memcpy(post.entry.data, data, len);
	return ofi_eq_post(eq, event, &post, sizeof(post.entry) + len);
}

bool vrb_cm_is_behind(struct vrb_cm *cm)
{
	struct pollfd ready = { .fd = -1, .events = POLLIN };

	ofi_lock(&cm->lock);
	if (cm->channel)
		ready.fd = cm->channel->fd;
	ofi_unlock(&cm->lock);
	return poll(&ready, 1, 0) == 1 && ready.revents & POLLIN;
}

void vrb_cm_init(struct vrb_cm *cm, struct vrb_fabric *fabric)
{
	*cm = (struct vrb_cm){ .fabric = fabric, .source = { .ready = cm_ready, .shared = true } };
	ofi_lock_init(&cm->source.lock);
	ofi_lock_init(&cm->lock);
	LIST_INIT(&cm->reqs);
	LIST_INIT(&cm->peps);
}

void vrb_cm_fini(struct vrb_cm *cm)
{
	struct vrb_req *req;

	while ((req = LIST_FIRST(&cm->reqs)))
		fi_close(&req->fid);
	if (!cm->channel)
		return;
	ofi_loop_remove(&cm->fabric->loop, &cm->source);
	rdma_destroy_event_channel(cm->channel);
	cm->channel = NULL;
}

static int channel_watch(struct vrb_cm *cm, struct rdma_event_channel *channel)
{
	int flags = fcntl(channel->fd, F_GETFL);

	if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	cm->channel = channel;
	cm->source.fd = channel->fd;
	return ofi_loop_add(&cm->fabric->loop, &cm->source);
}

/* Logs the failed function of librdmacm with its errno; returns the error. */
static int refuse_open(const char *call, const char *function)
{
	int err = vrb_err_opening(errno, "rdma_cm");

	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, vrb_errno(err), "%s: %s: %s%s%s\n", call,
			  function, strerror(err), vrb_remedy(err),
			  err == ENODEV ? " (is the kernel module rdma_ucm loaded?)" : "");
}

/* The caller holds the lock. */
static int channel_open(struct vrb_cm *cm, const char *call)
{
	struct rdma_event_channel *channel;
	int ret;

	if (cm->channel)
		return 0;
	pthread_mutex_lock(&rdmacm_lock);
	channel = rdma_create_event_channel();
	pthread_mutex_unlock(&rdmacm_lock);
	if (!channel)
		return refuse_open(call, "rdma_create_event_channel");
	ret = channel_watch(cm, channel);
	if (ret) {
		cm->channel = NULL;
		rdma_destroy_event_channel(channel);
	}
	return ret;
}

static int create_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner, bool ud,
		     struct rdma_cm_id **id)
{
	enum rdma_port_space space = ud ? RDMA_PS_UDP : RDMA_PS_TCP;
	int ret;

	pthread_mutex_lock(&rdmacm_lock);
	ret = rdma_create_id(cm->channel, id, owner, space);
	pthread_mutex_unlock(&rdmacm_lock);
	return ret ? refuse_open(call, "rdma_create_id") : 0;
}

/*
 * If either address is the wildcard, the kernel returns EADDRNOTAVAIL for a port in use, too. The
 * port is in use if the address can be bound without it. ENODEV means that the interface has no
 * RDMA device.
 */
int vrb_cm_bind(struct rdma_cm_id *id, const struct sockaddr_storage *ss)
{
	struct sockaddr_storage any = *ss;
	int ret;

	ofi_addr_set_port((struct sockaddr *)&any, 0);
	pthread_mutex_lock(&rdmacm_lock);
	ret = rdma_bind_addr(id, (struct sockaddr *)ss) ? errno : 0;
	if (ret == EADDRNOTAVAIL && !rdma_bind_addr(id, (struct sockaddr *)&any))
		ret = EADDRINUSE;
	pthread_mutex_unlock(&rdmacm_lock);
	errno = ret == ENODEV ? EADDRNOTAVAIL : ret;
	return errno;
}

int vrb_cm_listen(struct rdma_cm_id *id, int backlog)
{
	int ret = rdma_listen(id, backlog) ? errno : 0;

	errno = ret == EADDRNOTAVAIL ? EADDRINUSE : ret;
	return errno;
}

int vrb_cm_create_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner, bool ud,
		     struct rdma_cm_id **id)
{
	int ret;

	if (!owner->ops->shared)
		ofi_loop_unshare(&cm->fabric->loop, &cm->source);
	ofi_lock(&cm->lock);
	ret = channel_open(cm, call);
	if (!ret)
		ret = create_id(cm, call, owner, ud, id);
	ofi_unlock(&cm->lock);
	return ret;
}

int vrb_cm_bind_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner, bool ud,
		   const struct sockaddr_storage *ss, struct rdma_cm_id **id)
{
	char text[OFI_ADDR_STRLEN];
	int on = 1, ret;

	ret = vrb_cm_create_id(cm, call, owner, ud, id);
	if (ret)
		return ret;
	/* A restarted server can reuse its port while connections of the old one linger. */
	rdma_set_option(*id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on));
	if (!vrb_cm_bind(*id, ss))
		return 0;
	ret = vrb_errno(vrb_err_cause(errno));
	FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "%s: rdma_bind_addr to %s: %s%s\n", call,
		ofi_addr_str((struct sockaddr *)ss, text, sizeof(text)), fi_strerror(-ret),
		vrb_remedy(-ret));
	rdma_destroy_id(*id);
	*id = NULL;
	return ret;
}

void vrb_cm_copy_addr(struct sockaddr_storage *ss, const struct sockaddr *sa)
{
	size_t size = sa ? ofi_addr_size(sa) : 0;

	memset(ss, 0, sizeof(*ss));
	if (size)
		memcpy(ss, sa, size);
}

bool vrb_cm_same_device(const char *call, const struct rdma_cm_id *id, struct ibv_device *device,
			const struct sockaddr *peer)
{
	const char *theirs = id->verbs ? ibv_get_device_name(id->verbs->device) : "(none)";
	const char *ours = ibv_get_device_name(device);
	char text[OFI_ADDR_STRLEN];

	if (id->verbs && !strcmp(theirs, ours))
		return true;
	FI_WARN_SPARSE(
		&vrb_prov, FI_LOG_EP_CTRL,
		"%s: peer %s is reached through device %s, the endpoint's domain is %s; open the domain with the fi_info that names the peer\n",
		call, ofi_addr_str(peer, text, sizeof(text)), theirs, ours);
	return false;
}
