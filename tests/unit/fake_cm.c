/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A fake librdmacm, with what the provider uses. */
#include "unit.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <prov/base/ops.h>
#include <prov/verbs/queue/cq.h>
#include "prov/verbs/msg/ep.h"
#include <prov/verbs/discovery/info.h>
#include <prov/verbs/cm/pep.h>
#include <prov/verbs/provider/prov.h>
#include <prov/verbs/queue/qp.h>
#include <prov/rdm/ep.h>
#include <prov/verbs/cm/req.h>
#include "fake_cm.h"
#include "prov/verbs/discovery/kind.h"

struct fake_cm fake;
struct fi_provider vrb_prov = { .getinfo = vrb_getinfo,
				.name = "verbs",
				.fi_version = FI_VERSION(1, 17) };
struct vrb_params vrb_params = { .resolve_timeout = 2000, .retry_count = 7, .rnr_retry_count = 6 };

struct fake_id {
	struct rdma_cm_id id;
	int unacked; /* events read and not acknowledged */
};

struct fake_event {
	struct rdma_cm_event event;
	struct fake_id *counted; /* id that the event pins */
	uint8_t data[256];
	TAILQ_ENTRY(fake_event) link;
};

/* All under the mutex, as is fake. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t acked = PTHREAD_COND_INITIALIZER;
static TAILQ_HEAD(, fake_event) queue = TAILQ_HEAD_INITIALIZER(queue);
static struct rdma_event_channel *channel;

static int called(const char *name)
{
	int ret = 0;

	pthread_mutex_lock(&mutex);
	if (strlen(fake.calls) + strlen(name) + 2 < sizeof(fake.calls))
		strcat(strcat(fake.calls, name), " ");
	if (fake.fail && !strcmp(fake.fail, name)) {
		errno = fake.err;
		ret = -1;
	}
	pthread_mutex_unlock(&mutex);
	return ret;
}

/* The same of a call on an id. */
static int called_on(struct rdma_cm_id *id, const char *name)
{
	int ret = called(name);

	if (!ret && fake.on_call)
		fake.on_call(id, name);
	return ret;
}

struct rdma_event_channel *rdma_create_event_channel(void)
{
	if (called("create_event_channel"))
		return NULL;
	channel = calloc(1, sizeof(*channel));
	channel->fd = eventfd(0, EFD_CLOEXEC);
	fake.channels++;
	return channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *ch)
{
	assert_ptr_equal(ch, channel);
	close(ch->fd);
	free(ch);
	channel = NULL;
	fake.channels--;
}

static struct fake_id *id_new(void *context)
{
	struct fake_id *id = calloc(1, sizeof(*id));

	id->id.channel = channel;
	id->id.context = context;
	pthread_mutex_lock(&mutex);
	fake.ids++;
	fake.last_id = &id->id;
	pthread_mutex_unlock(&mutex);
	return id;
}

int rdma_create_id(struct rdma_event_channel *ch, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	assert_ptr_equal(ch, channel);
	assert_true(ps == RDMA_PS_TCP || ps == RDMA_PS_UDP);
	if (called("create_id"))
		return -1;
	*id = &id_new(context)->id;
	(*id)->ps = ps;
	return 0;
}

static void drop_events(struct fake_id *id)
{
	struct fake_event *event, *next;

	for (event = TAILQ_FIRST(&queue); event; event = next) {
		next = TAILQ_NEXT(event, link);
		if (event->counted != id)
			continue;
		TAILQ_REMOVE(&queue, event, link);
		fake.events--;
		/* A connect request that nobody has read takes its id along. */
		if (event->event.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			free(event->event.id);
			fake.ids--;
		}
		free(event);
	}
}

int rdma_destroy_id(struct rdma_cm_id *cm_id)
{
	struct fake_id *id = (struct fake_id *)cm_id;

	called("destroy_id");
	pthread_mutex_lock(&mutex);
	drop_events(id);
	while (id->unacked)
		pthread_cond_wait(&acked, &mutex);
	fake.ids--;
	pthread_mutex_unlock(&mutex);
	free(id);
	return 0;
}

static void queue_event(struct fake_event *event)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&mutex);
	TAILQ_INSERT_TAIL(&queue, event, link);
	fake.events++;
	(void)!write(channel->fd, &one, sizeof(one));
	pthread_mutex_unlock(&mutex);
}

int rdma_get_cm_event(struct rdma_event_channel *ch, struct rdma_cm_event **out)
{
	struct fake_event *event;
	uint64_t count;

	pthread_mutex_lock(&mutex);
	event = TAILQ_FIRST(&queue);
	if (event) {
		TAILQ_REMOVE(&queue, event, link);
		event->counted->unacked++;
		*out = &event->event;
	} else {
		(void)!read(ch->fd, &count, sizeof(count));
	}
	pthread_mutex_unlock(&mutex);
	if (event)
		return 0;
	errno = EAGAIN;
	return -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *cm_event)
{
	struct fake_event *event = (struct fake_event *)cm_event;

	pthread_mutex_lock(&mutex);
	event->counted->unacked--;
	fake.events--;
	pthread_cond_broadcast(&acked);
	pthread_mutex_unlock(&mutex);
	memset(event, 0xa5, sizeof(*event));
	free(event);
	return 0;
}

static struct fake_event *event_new(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status)
{
	struct fake_event *event = calloc(1, sizeof(*event));

	event->event.id = id;
	event->event.event = type;
	event->event.status = status;
	event->counted = (struct fake_id *)id;
	return event;
}

void fake_event(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status)
{
	queue_event(event_new(id, type, status));
}

/* Messages are padded with zeros to their fixed size. */
static void set_text(struct fake_event *event, const char *text)
{
	event->data[0] = (uint8_t)strlen(text);
	memcpy(event->data + 1, text, strlen(text));
	event->event.param.conn.private_data = event->data;
	event->event.param.conn.private_data_len = 148;
}

void fake_event_data(struct rdma_cm_id *id, enum rdma_cm_event_type type, const char *text)
{
	struct fake_event *event = event_new(id, type, type == RDMA_CM_EVENT_REJECTED ? 28 : 0);

	set_text(event, text);
	queue_event(event);
}

void fake_event_ud(struct rdma_cm_id *id, enum rdma_cm_event_type type, uint32_t qpn, uint32_t qkey,
		   const void *data, size_t len)
{
	static const uint8_t gid[16] = { [10] = 0xff, 0xff, 10, 0, 0, 9 };
	struct fake_event *event = event_new(id, type, 0);
	struct rdma_ud_param *ud = &event->event.param.ud;

	ud->qp_num = qpn;
	ud->qkey = qkey;
	memcpy(ud->ah_attr.grh.dgid.raw, gid, sizeof(gid));
	ud->ah_attr.sl = fake.sl;
	ud->ah_attr.dlid = fake.dlid;
	if (len) {
		memcpy(event->data, data, len);
		ud->private_data = event->data;
		ud->private_data_len = (uint8_t)len;
	}
	queue_event(event);
}

static void set_addr(struct sockaddr *sa, const char *host, int port)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)sa;

	sin->sin_family = AF_INET;
	sin->sin_port = htons((uint16_t)port);
	inet_pton(AF_INET, host, &sin->sin_addr);
}

struct rdma_cm_id *fake_request(struct fake_bed *bed, struct rdma_cm_id *listener, const char *text)
{
	struct fake_event *event;
	struct fake_id *id = id_new(listener->context);

	id->id.verbs = &bed->ctx;
	set_addr(rdma_get_local_addr(&id->id), "10.0.0.1", 7471);
	set_addr(rdma_get_peer_addr(&id->id), "10.0.0.2", 40000);
	event = event_new(&id->id, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	event->event.listen_id = listener;
	event->counted = (struct fake_id *)listener;
	event->event.param.conn.responder_resources = 4;
	event->event.param.conn.initiator_depth = 200;
	set_text(event, text);
	queue_event(event);
	return &id->id;
}

void fake_settle(void)
{
	int left = 1, i;

	for (i = 0; i < 5000 && left; i++) {
		pthread_mutex_lock(&mutex);
		left = fake.events;
		pthread_mutex_unlock(&mutex);
		usleep(left ? 1000 : 0);
	}
	assert_int_equal(left, 0);
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)rdma_get_local_addr(id);

	if (called("bind_addr") || (((struct sockaddr_in *)addr)->sin_port && called("bind_port")))
		return -1;
	if (fake.bind_hook)
		fake.bind_hook();
	memcpy(sin, addr, sizeof(*sin));
	if (!sin->sin_port)
		sin->sin_port = htons(1234);
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t len)
{
	(void)id;
	(void)level;
	(void)value;
	(void)len;
	return name == RDMA_OPTION_ID_TOS ? called("set_tos") : 0;
}

int rdma_listen(struct rdma_cm_id *id, int backlog)
{
	(void)id;
	assert_true(backlog > 0);
	return called("listen");
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src, struct sockaddr *dst,
		      int timeout)
{
	(void)src;
	assert_int_equal(timeout, vrb_params.resolve_timeout);
	memcpy(rdma_get_peer_addr(id), dst, sizeof(struct sockaddr_in));
	return called_on(id, "resolve_addr");
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout)
{
	assert_int_equal(timeout, vrb_params.resolve_timeout);
	return called_on(id, "resolve_route");
}

static void keep_param(const struct rdma_conn_param *param)
{
	fake.param = *param;
	if (param->private_data_len)
		memcpy(fake.data, param->private_data, param->private_data_len);
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	keep_param(param);
	return called_on(id, "connect");
}

int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	keep_param(param);
	return called_on(id, "accept");
}

int rdma_reject(struct rdma_cm_id *id, const void *data, uint8_t len)
{
	struct rdma_conn_param param = { .private_data = data, .private_data_len = len };

	(void)id;
	keep_param(&param);
	return called("reject");
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	(void)context;
	assert_int_equal(id->ps, RDMA_PS_UDP);
	assert_non_null(addr);
	return called_on(id, "join");
}

int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	(void)id;
	assert_non_null(addr);
	return called("leave");
}

int rdma_establish(struct rdma_cm_id *id)
{
	(void)id;
	return called("establish");
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	return called_on(id, "disconnect");
}

int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	(void)id;
	assert_int_equal(event, IBV_EVENT_COMM_EST);
	return called("notify");
}

/* The rest of the provider. */

void vrb_ep_ready(struct vrb_ep *ep)
{
	(void)ep;
	fake.ready++;
}

void vrb_ep_unready(struct vrb_ep *ep)
{
	(void)ep;
	fake.ready--;
}

bool vrb_ep_is_idle(const struct vrb_ep *ep)
{
	(void)ep;
	return fake.idle;
}

void vrb_ep_down(struct vrb_ep *ep, int err)
{
	(void)ep;
	fake.down++;
	fake.down_err = err;
}

struct ibv_qp *vrb_qp_new(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	return ibv_create_qp(pd, attr);
}

void vrb_qp_settle(const struct vrb_domain *domain, const struct fi_info *info,
		   struct ibv_qp_attr *attr, int mask)
{
	(void)domain;
	(void)info;
	(void)attr;
	(void)mask;
}

int vrb_qp_connect(struct vrb_ep *ep, struct rdma_cm_id *id)
{
	(void)ep;
	(void)id;
	return called("qp_connect") ? -errno : 0;
}

int vrb_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		    void *context)
{
	(void)fabric;
	(void)info;
	(void)domain;
	(void)context;
	return -FI_ENOSYS;
}

bool ofi_rdm_is_ep(const struct fid *fid)
{
	(void)fid;
	return false;
}

static struct fi_info *new_info(const char *device)
{
	struct fi_info *info = fi_allocinfo();

	info->ep_attr->type = FI_EP_MSG;
	info->addr_format = FI_SOCKADDR_IN;
	info->domain_attr->name = strdup(device);
	info->fabric_attr->name = strdup("IB-0xfe80000000000000");
	return info;
}

const struct vrb_kind vrb_kind = { .prov = &vrb_prov, .sizes = &vrb_params, .has_ip = true };

int vrb_kind_getinfo(const struct vrb_kind *kind, uint32_t version, const char *node,
		     const char *service, uint64_t flags, const struct fi_info *hints,
		     struct fi_info **info)
{
	(void)kind;
	return vrb_getinfo(version, node, service, flags, hints, info);
}

/* One device rxe0 and one rxe1, on the same fabric, without IPv6 addresses and open domains. */
int vrb_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info)
{
	(void)version;
	(void)node;
	(void)service;
	(void)flags;
	if (called("getinfo"))
		return -errno;
	if (hints && hints->domain_attr->name && strncmp(hints->domain_attr->name, "rxe", 3))
		return -FI_ENODATA;
	if (hints && hints->addr_format == FI_SOCKADDR_IN6)
		return -FI_ENODATA;
	if (hints && (hints->domain_attr->domain || (fake.refuses && fake.refuses(hints))))
		return -FI_ENODATA;
	*info = new_info(hints && hints->domain_attr->name ? hints->domain_attr->name : "rxe0");
	(*info)->next = new_info("rxe1");
	return 0;
}

void fake_init(struct fake_bed *bed)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };

	memset(&fake, 0, sizeof(fake));
	memset(bed, 0, sizeof(*bed));
	assert_int_equal(ofi_loop_init(&bed->fabric.loop, &vrb_prov), 0);
	vrb_cm_init(&bed->fabric.cm, &bed->fabric);
	strcpy(bed->device.name, "rxe0");
	bed->ctx.device = &bed->device;
	bed->domain.fabric = &bed->fabric;
	bed->domain.ctx = &bed->ctx;
	bed->domain.base.stats = &bed->stats;
	bed->domain.attr.max_qp_rd_atom = 16;
	bed->domain.attr.max_qp_init_rd_atom = 8;
	LIST_INIT(&bed->domain.eps);
	bed->domain.base.info = bed->info = new_info("rxe0");
	assert_int_equal(ofi_eq_open(&vrb_prov, FI_VERSION(1, 17), &bed->fabric.ref, &attr, NULL,
				     &bed->eq, NULL),
			 0);
}

void fake_fini(struct fake_bed *bed)
{
	fake.fail = NULL;
	fi_freeinfo(bed->info);
	assert_int_equal(fi_close(&bed->eq->fid), 0);
	assert_int_equal(bed->fabric.ref.children, 0);
	vrb_cm_fini(&bed->fabric.cm);
	ofi_loop_fini(&bed->fabric.loop);
	assert_int_equal(fake.ids, 0);
	assert_int_equal(fake.events, 0);
	assert_int_equal(fake.channels, 0);
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct vrb_ep *ep = (struct vrb_ep *)fid;

	(void)arg;
	assert_int_equal(command, FI_ENABLE);
	ep->enabled = true;
	return called("enable") ? -errno : 0;
}

static struct fi_ops ep_ops = { .size = sizeof(ep_ops), .control = ep_control };

struct vrb_ep *fake_ep(struct fake_bed *bed)
{
	struct vrb_ep *ep = calloc(1, sizeof(*ep));

	ep->fid.fid = (struct fid){ .fclass = FI_CLASS_EP, .ops = &ep_ops };
	ep->fid.cm = ofi_ops(&vrb_ep_cm_ops);
	ep->domain = &bed->domain;
	ep->self = ep;
	ep->eq = ofi_eq(bed->eq);
	ep->info = fi_dupinfo(bed->info);
	ep->qp = calloc(1, sizeof(*ep->qp));
	ep->qp->qp_num = 0x11;
	ep->owner.ops = &vrb_ep_owner_ops;
	ep->qp->qp_context = &ep->owner;
	return ep;
}

void fake_ep_close(struct vrb_ep *ep)
{
	vrb_conn_fini(ep);
	fi_freeinfo(ep->info);
	free(ep->qp);
	free(ep);
}

int fake_read(struct fid_eq *eq, char *text, struct fi_info **info)
{
	uint8_t buf[512] = { 0 };
	struct fi_eq_cm_entry *entry = (void *)buf;
	struct fi_eq_err_entry err = { 0 };
	uint32_t event = 0;
	ssize_t len = fi_eq_read(eq, &event, buf, sizeof(buf) - 1, 0);

	if (text)
		*text = '\0';
	if (info)
		*info = len > 0 ? entry->info : NULL;
	if (len == -FI_EAVAIL) {
		assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof(err));
		if (text)
			snprintf(text, 256, "%.*s", (int)err.err_data_size, (char *)err.err_data);
		return -err.err;
	}
	if (len == -FI_EAGAIN)
		return 0;
	assert_true(len >= (ssize_t)sizeof(*entry));
	if (text)
		strcpy(text, (char *)entry->data);
	return (int)event;
}
