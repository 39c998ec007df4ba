/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event queues: an ordered list of events and errors, and a wait object. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include "eq.h"
#include "ops.h"
#include "refuse.h"

/* After this many events in quick succession, more are expected. */
enum { STREAK = 2 };

struct ofi_eq_item {
	TAILQ_ENTRY(ofi_eq_item) link;
	bool is_err;
	/* Posted by the provider: the data begins with a fid; an FI_CONNREQ owns its fi_info. */
	bool ours;
	bool seen; /* the application has a copy of the entry, which it may have got by FI_PEEK */
	uint32_t event;
	struct fi_eq_err_entry err; /* err_data points to data */
	size_t len;
	_Alignas(max_align_t) uint8_t data[]; /* the entry, or the error's err_data */
};

/* The EQ whose source this thread is serving and which it reads next, or NULL. */
static __thread const struct ofi_eq *eq_served;

static struct ofi_eq_item *item_new(uint32_t event, const void *data, size_t len)
{
	struct ofi_eq_item *item = malloc(sizeof(*item) + len);

	if (!item)
		return NULL;
	memset(item, 0, sizeof(*item));
	item->event = event;
	item->len = len;
	if (len)
		memcpy(item->data, data, len);
	return item;
}

/* Appends an item. NULL stands for an event that there was no memory for. Takes the lock. */
static int item_queue(struct ofi_eq *eq, struct ofi_eq_item *item)
{
	bool overrun, quiet = eq == eq_served;

	ofi_lock(&eq->lock);
	eq->unsignaled |= quiet;
	overrun = eq->overrun || !item;
	if (overrun)
		eq->overrun = true;
	else
		TAILQ_INSERT_TAIL(&eq->items, item, link);
	ofi_unlock(&eq->lock);
	if (!quiet)
		ofi_wait_signal(&eq->wait);

	if (!overrun)
		return 0;
	FI_WARN_ONCE(
		eq->prov, FI_LOG_EQ,
		"event queue %p: out of memory, an event was lost; close the queue and the endpoints bound to it\n",
		(void *)eq);
	free(item);
	return -FI_EOVERRUN;
}

int ofi_eq_post(struct ofi_eq *eq, uint32_t event, const void *entry, size_t len)
{
	struct ofi_eq_item *item = item_new(event, entry, len);

	if (item)
		item->ours = true;
	return item_queue(eq, item);
}

int ofi_eq_post_err(struct ofi_eq *eq, const struct fi_eq_err_entry *entry)
{
	size_t len = entry->err_data ? entry->err_data_size : 0;
	struct ofi_eq_item *item = item_new(0, entry->err_data, len);

	if (item) {
		item->is_err = true;
		item->err = *entry;
		item->err.err_data = len ? item->data : NULL;
		item->err.err_data_size = len;
	}
	return item_queue(eq, item);
}

void ofi_eq_report(struct ofi_eq *eq, uint32_t event, const struct fid *fid, uint64_t data)
{
	struct fi_eq_entry entry = { .fid = (fid_t)fid, .context = fid->context, .data = data };

	if (eq)
		ofi_eq_post(eq, event, &entry, sizeof(entry));
}

void ofi_eq_report_err(struct ofi_eq *eq, const struct fid *fid, int err, int prov_errno)
{
	struct fi_eq_err_entry entry = {
		.fid = (fid_t)fid, .context = fid->context, .err = err, .prov_errno = prov_errno
	};

	if (eq)
		ofi_eq_post_err(eq, &entry);
}

static bool is_cm_event(const struct ofi_eq_item *item)
{
	return item->ours && item->event >= FI_CONNREQ && item->event <= FI_SHUTDOWN &&
	       item->len >= sizeof(struct fi_eq_cm_entry);
}

/*
 * Frees an unread item. For a connection request, also frees its fi_info and rejects the peer; the
 * handle is not dereferenced, because a reader that peeked at it may have used it.
 */
static void item_drop(struct ofi_eq_item *item)
{
	struct fi_eq_cm_entry *entry = (void *)item->data;

	if (is_cm_event(item) && entry->info) {
		if (entry->info->handle)
			fi_reject((struct fid_pep *)entry->fid, entry->info->handle, NULL, 0);
		fi_freeinfo(entry->info);
	}
	free(item);
}

static const struct fid *item_fid(const struct ofi_eq_item *item)
{
	if (item->is_err)
		return item->err.fid;
	return item->ours ? *(const fid_t *)item->data : NULL;
}

void ofi_eq_forget(struct ofi_eq *eq, const struct fid *fid)
{
	struct ofi_eq_list taken = TAILQ_HEAD_INITIALIZER(taken);
	struct ofi_eq_item *item, *next;

	if (!eq)
		return;
	ofi_lock(&eq->lock);
	for (item = TAILQ_FIRST(&eq->items); item; item = next) {
		next = TAILQ_NEXT(item, link);
		if (fid && item_fid(item) != fid)
			continue;
		TAILQ_REMOVE(&eq->items, item, link);
		TAILQ_INSERT_TAIL(&taken, item, link);
	}
	if (TAILQ_EMPTY(&eq->items) && !eq->overrun)
		ofi_wait_clear(&eq->wait);
	ofi_unlock(&eq->lock);
	/* Rejecting requests takes other locks. */
	while ((item = TAILQ_FIRST(&taken))) {
		TAILQ_REMOVE(&taken, item, link);
		item_drop(item);
	}
}

int ofi_eq_trywait(struct fid *fid)
{
	struct ofi_eq *eq = (struct ofi_eq *)fid;
	int ret = 0;

	ofi_lock(&eq->lock);
	if (!TAILQ_EMPTY(&eq->items) || eq->overrun)
		ret = -FI_EAGAIN;
	else
		ofi_wait_clear(&eq->wait);
	ofi_unlock(&eq->lock);
	return ret;
}

/* Returns how many bytes of an item fit into len bytes. Data after a CM entry may be truncated. */
static ssize_t item_fit(const struct ofi_eq_item *item, size_t len)
{
	if (len >= item->len)
		return (ssize_t)item->len;
	if (is_cm_event(item) && len >= sizeof(struct fi_eq_cm_entry))
		return (ssize_t)len;
	return -FI_ETOOSMALL;
}

static void item_remove(struct ofi_eq *eq, struct ofi_eq_item *item)
{
	TAILQ_REMOVE(&eq->items, item, link);
	if (TAILQ_EMPTY(&eq->items) && !eq->overrun)
		ofi_wait_clear(&eq->wait);
}

/* Reads the first item. The caller frees a consumed one, which is in *done. The lock is held. */
static ssize_t read_head(struct ofi_eq *eq, uint32_t *event, void *buf, size_t len, bool peek,
			 struct ofi_eq_item **done)
{
	struct ofi_eq_item *item = TAILQ_FIRST(&eq->items);
	ssize_t ret;

	if (!item) {
		if (eq->overrun)
			return -FI_EAVAIL;
		ofi_wait_clear(&eq->wait);
		return -FI_EAGAIN;
	}
	if (item->is_err)
		return -FI_EAVAIL;
	ret = buf ? item_fit(item, len) : 0;
	if (ret < 0)
		return ret;

	*event = item->event;
	if (ret)
		memcpy(buf, item->data, (size_t)ret);
	item->seen |= ret > 0;
	if (!peek) {
		item_remove(eq, item);
		*done = item;
	}
	return ret;
}

/* err_data of an earlier readerr stays valid until the next read. */
static struct ofi_eq_item *forget_last_err(struct ofi_eq *eq)
{
	struct ofi_eq_item *last = eq->last_err;

	eq->last_err = NULL;
	return last;
}

static int check_read(const struct ofi_eq *eq, const char *call, const void *out, uint64_t flags)
{
	if (!out)
		return ofi_refuse_null(eq->prov, FI_LOG_EQ, call, "a pointer for the result");
	if (flags & ~FI_PEEK)
		return ofi_refuse(eq->prov, FI_LOG_EQ, -FI_EINVAL,
				  "%s: flags 0x%llx: only FI_PEEK is allowed\n", call,
				  (unsigned long long)flags);
	return 0;
}

/* Returns true if events are left that no thread was woken for. The lock is held. */
static bool take_unsignaled(struct ofi_eq *eq)
{
	bool left = eq->unsignaled && (!TAILQ_EMPTY(&eq->items) || eq->overrun);

	eq->unsignaled = false;
	return left;
}

static ssize_t read_once(struct ofi_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct ofi_eq_item *done = NULL, *last;
	ssize_t ret;
	bool left;

	ofi_lock(&eq->lock);
	last = forget_last_err(eq);
	ret = read_head(eq, event, buf, len, flags & FI_PEEK, &done);
	left = take_unsignaled(eq);
	ofi_unlock(&eq->lock);
	if (left)
		ofi_wait_signal(&eq->wait);
	if (done && !done->seen)
		item_drop(done);
	else
		free(done);
	free(last);
	return ret;
}

/* Serves the source in this thread, which reads its events next and needs no signal for them. */
static bool eq_serve(struct ofi_eq *eq)
{
	if (!eq->source || !ofi_loop_claimed(eq->loop, eq->source))
		return false;
	eq_served = eq;
	ofi_loop_serve(eq->source);
	eq_served = NULL;
	return true;
}

static ssize_t eq_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct ofi_eq *eq = ofi_eq(fid);
	ssize_t ret = check_read(eq, "fi_eq_read", event && (buf || !len) ? event : NULL, flags);

	if (ret)
		return ret;
	ret = read_once(eq, event, buf, len, flags);
	if (ret == -FI_EAGAIN && eq_serve(eq))
		ret = read_once(eq, event, buf, len, flags);
	return ret;
}

/*
 * Notes that a thread waited for an event and got it. When such events follow each other closely,
 * as when many connections are made, the waiting threads serve the source of events themselves,
 * which saves waking the event thread and being woken by it.
 */
static void eq_came(struct ofi_eq *eq)
{
	uint64_t now = ofi_now_ms();
	bool close = now < __atomic_load_n(&eq->busy_until, __ATOMIC_RELAXED);
	unsigned int streak = close ? __atomic_load_n(&eq->streak, __ATOMIC_RELAXED) + 1 : 0;

	__atomic_store_n(&eq->busy_until, now + OFI_LOOP_CLAIM_MS, __ATOMIC_RELAXED);
	__atomic_store_n(&eq->streak, streak, __ATOMIC_RELAXED);
	if (streak >= STREAK)
		ofi_loop_claim(eq->loop, eq->source, now);
}

/* Sleeps. The caller reads again afterward, which serves a source that is ready. */
static int eq_sleep(void *object, int timeout)
{
	struct ofi_eq *eq = object;

	if (eq->source && ofi_loop_claimed(eq->loop, eq->source))
		return ofi_loop_wait(eq->source, eq->wait.fd, timeout);
	return ofi_wait_sleep(&eq->wait, timeout);
}

static ssize_t eq_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout,
			uint64_t flags)
{
	struct ofi_eq *eq = ofi_eq(fid);
	struct ofi_sleeper sleeper;
	uint64_t start = ofi_now_ms();
	ssize_t ret;

	if (eq->wait.obj == FI_WAIT_SET)
		return ofi_refuse(
			eq->prov, FI_LOG_EQ, -FI_EINVAL,
			"fi_eq_sread: the event queue was opened with FI_WAIT_SET; wait with fi_wait, or open it with another wait object\n");
	ofi_sleeper_begin(&sleeper, &eq->wait);
	for (;;) {
		ret = eq_read(fid, event, buf, len, flags);
		if (ret != -FI_EAGAIN)
			break;
		/* According to fi_eq(3), a timeout and a signal both return -FI_EAGAIN. */
		if (ofi_sleeper_sleep(&sleeper, eq_sleep, eq, ofi_wait_left(start, timeout))) {
			ret = eq_read(fid, event, buf, len, flags);
			break;
		}
	}
	if (ret > 0 && eq->source && eq->wait.fd >= 0)
		eq_came(eq);
	ofi_sleeper_leave(&sleeper);
	return ret;
}

/*
 * Fills the caller's entry. Since API 1.5 the data is copied to the caller's buffer, if it has one.
 * Returns true if the item must be kept, as err_data points into it.
 */
static bool copy_err(const struct ofi_eq *eq, struct ofi_eq_item *item, struct fi_eq_err_entry *buf)
{
	bool copies = FI_VERSION_GE(eq->api_version, FI_VERSION(1, 5));
	size_t room = copies && buf->err_data ? buf->err_data_size : 0;
	void *dst = buf->err_data;

	memcpy(buf, &item->err, offsetof(struct fi_eq_err_entry, err_data));
	if (room) {
		buf->err_data_size = room < item->len ? room : item->len;
		if (buf->err_data_size)
			memcpy(dst, item->data, buf->err_data_size);
		return false;
	}
	buf->err_data = item->err.err_data;
	buf->err_data_size = item->len;
	return buf->err_data;
}

static struct ofi_eq_item *first_err(const struct ofi_eq *eq)
{
	struct ofi_eq_item *item;

	TAILQ_FOREACH (item, &eq->items, link)
		if (item->is_err)
			return item;
	return NULL;
}

static ssize_t readerr_locked(struct ofi_eq *eq, struct fi_eq_err_entry *buf, bool peek,
			      struct ofi_eq_item **done)
{
	struct ofi_eq_item overrun = {
		.is_err = true,
		.err = { .fid = &eq->fid.fid, .context = eq->fid.fid.context, .err = FI_EOVERRUN },
	};
	struct ofi_eq_item *item = first_err(eq);

	if (!item) {
		if (!eq->overrun || !TAILQ_EMPTY(&eq->items))
			return -FI_EAGAIN;
		copy_err(eq, &overrun, buf);
		return sizeof(*buf);
	}
	if (copy_err(eq, item, buf) && !peek)
		eq->last_err = item;
	if (!peek) {
		item_remove(eq, item);
		if (eq->last_err != item)
			*done = item;
	}
	return sizeof(*buf);
}

static ssize_t eq_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	struct ofi_eq *eq = ofi_eq(fid);
	struct ofi_eq_item *done = NULL, *last;
	ssize_t ret = check_read(eq, "fi_eq_readerr", buf, flags);

	if (ret)
		return ret;
	ofi_lock(&eq->lock);
	last = forget_last_err(eq);
	ret = readerr_locked(eq, buf, flags & FI_PEEK, &done);
	ofi_unlock(&eq->lock);
	free(done);
	free(last);
	return ret;
}

static ssize_t eq_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t len,
			uint64_t flags)
{
	struct ofi_eq *eq = ofi_eq(fid);
	struct ofi_eq_item *item;
	int ret;

	if (!eq->writable)
		return ofi_refuse(eq->prov, FI_LOG_EQ, -FI_EINVAL,
				  "fi_eq_write: the event queue was opened without FI_WRITE\n");
	if (flags || (!buf && len) || len > INT32_MAX)
		return ofi_refuse(eq->prov, FI_LOG_EQ, -FI_EINVAL, "fi_eq_write: %s\n",
				  flags ? "flags must be 0" : "no data at buf, or too much of it");
	item = item_new(event, buf, len);
	if (!item)
		return -FI_ENOMEM;
	ret = item_queue(eq, item);
	return ret ? ret : (ssize_t)len;
}

static const char *eq_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	struct ofi_eq *eq = ofi_eq(fid);
	static __thread char text[256];
	size_t err_len = 0;

	if (!buf || !len) {
		buf = text;
		len = sizeof(text);
	}
	ofi_lock(&eq->lock);
	if (eq->last_err && err_data == eq->last_err->data)
		err_len = eq->last_err->len;
	ofi_unlock(&eq->lock);
	if (eq->strerror)
		return eq->strerror(prov_errno, err_data, err_len, buf, len);
	snprintf(buf, len, "%s", fi_strerror(prov_errno));
	return buf;
}

static void eq_free(struct ofi_eq *eq)
{
	ofi_waitset_leave(&eq->member);
	free(eq->last_err);
	ofi_wait_fini(&eq->wait);
	free(eq);
}

static int eq_close(struct fid *fid)
{
	struct ofi_eq *eq = ofi_eq((struct fid_eq *)fid);
	struct ofi_ref *parent = eq->parent;
	int ret = ofi_ref_busy(&eq->ref);

	if (ofi_ref_inherited(&eq->ref))
		return 0;
	if (ret)
		return ofi_refuse(
			eq->prov, FI_LOG_EQ, ret,
			"fi_close: event queue %p is still bound; close its endpoints first\n",
			(void *)eq);
	ofi_eq_forget(eq, NULL);
	eq_free(eq);
	ofi_ref_put(parent);
	return 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct ofi_eq *eq = ofi_eq((struct fid_eq *)fid);

	return ofi_wait_control(eq->prov, &eq->wait, command, arg);
}

static const struct fi_ops eq_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = eq_close,
	.control = eq_control,
};

static const struct fi_ops_eq eq_ops = {
	.size = OFI_EQ_DEFAULTS,
	.read = eq_read,
	.readerr = eq_readerr,
	.write = eq_write,
	.sread = eq_sread,
	.strerror = eq_strerror,
};

static int open_wait(struct ofi_eq *eq, const struct fi_eq_attr *attr)
{
	int ret = ofi_wait_init(&eq->wait, attr ? attr->wait_obj : FI_WAIT_NONE);

	if (ret || eq->wait.obj != FI_WAIT_SET)
		return ret;
	return ofi_waitset_join(attr->wait_set, eq->parent, &eq->member, &eq->fid.fid, eq->wait.fd,
				ofi_eq_trywait);
}

int ofi_eq_open(const struct fi_provider *prov, uint32_t api_version, struct ofi_ref *parent,
		const struct fi_eq_attr *attr, ofi_eq_strerror_fn *strerror, struct fid_eq **fid,
		void *context)
{
	/* FI_AFFINITY is a hint, and a software queue has no interrupt to place. */
	const uint64_t known = FI_WRITE | FI_AFFINITY;
	struct ofi_eq *eq;
	int ret;

	if (attr && (attr->flags & ~known))
		return ofi_refuse(
			prov, FI_LOG_EQ, -FI_EINVAL,
			"fi_eq_open: flags 0x%llx: only FI_WRITE and FI_AFFINITY are allowed\n",
			(unsigned long long)attr->flags);
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -FI_ENOMEM;
	eq->parent = parent;
	ofi_ref_own(&eq->ref);
	ofi_lock_init(&eq->lock);
	TAILQ_INIT(&eq->items);
	ret = open_wait(eq, attr);
	if (ret) {
		FI_WARN(prov, FI_LOG_EQ, "fi_eq_open: wait object %d: %s; use FI_WAIT_FD\n",
			(int)attr->wait_obj, fi_strerror(-ret));
		eq_free(eq);
		return ret;
	}

	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = ofi_ops(&eq_fid_ops);
	eq->fid.ops = ofi_ops(&eq_ops);
	eq->prov = prov;
	eq->api_version = api_version;
	eq->strerror = strerror;
	eq->writable = attr && (attr->flags & FI_WRITE);
	ofi_ref_get(parent);
	*fid = &eq->fid;
	return 0;
}

int ofi_eq_bind(const struct fi_provider *prov, enum fi_log_subsys subsys, const char *call,
		struct ofi_eq **slot, struct fid *fid, const struct ofi_ref *fabric, uint64_t flags)
{
	struct ofi_eq *eq = ofi_eq_of(fid, fabric);

	if (!eq)
		return ofi_refuse(
			prov, subsys, -FI_EINVAL, "%s: %s\n", call,
			fid && fid->fclass == FI_CLASS_EQ
				? "the event queue belongs to another fabric"
				: "only an event queue can be bound; completion queues are bound to endpoints");
	if (flags)
		return ofi_refuse_flags(prov, subsys, call, flags);
	if (*slot)
		return ofi_refuse_second(prov, subsys, call, "an event queue");
	ofi_ref_get(&eq->ref);
	__atomic_store_n(slot, eq, __ATOMIC_RELEASE);
	return 0;
}
