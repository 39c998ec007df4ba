/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Collects the reasons why fi_getinfo did not offer candidates, logs them, and reports them to the
 * application.
 */
#include "reject.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "fid.h"
#include "log.h"
#include "src/ds/container.h"
#include "src/ds/fork.h"
#include <rdma/fi_errno.h>

enum { KEEP = 64, REMEMBER = 64 };

struct ofi_reject {
	size_t order; /* order of arrival */
	uint32_t port;
	uint32_t ep_type;
	uint32_t misses;
	char prov[64];
	char domain[64];
	char attr[64];
	char asked[160];
	char has[160];
};

struct listener {
	LIST_ENTRY(listener) link;
	struct fid fid;
	pthread_t thread;
	void (*reject)(void *context, const struct fi_explain_entry *entry);
	void *context;
};

static LIST_HEAD(listeners, listener) listeners = LIST_HEAD_INITIALIZER(listeners);
OFI_FORK_MUTEX(listeners_lock, OFI_FORK_INNER); /* guards the list */

static _Thread_local struct ofi_rejects *collecting;

/* Copies the n-th listener of this thread, because its callback must run without the lock. */
static bool listener_get(size_t n, struct listener *copy)
{
	struct listener *listener;
	bool found = false;

	pthread_mutex_lock(&listeners_lock);
	LIST_FOREACH (listener, &listeners, link) {
		if (!pthread_equal(listener->thread, pthread_self()) || n--)
			continue;
		*copy = *listener;
		found = true;
		break;
	}
	pthread_mutex_unlock(&listeners_lock);
	return found;
}

static void copy_text(char *to, size_t len, const char *from)
{
	snprintf(to, len, "%s", from ? from : "");
}

static void explain_keep(struct ofi_reject *to, size_t order, const struct fi_explain_entry *entry)
{
	to->order = order;
	to->port = entry->port;
	to->ep_type = entry->ep_type;
	to->misses = entry->misses;
	copy_text(to->prov, sizeof(to->prov), entry->prov_name);
	copy_text(to->domain, sizeof(to->domain), entry->domain_name);
	copy_text(to->attr, sizeof(to->attr), entry->attr);
	copy_text(to->asked, sizeof(to->asked), entry->asked);
	copy_text(to->has, sizeof(to->has), entry->has);
}

/*
 * Returns a slot for a rejection with this many misses: a new one or, if there are KEEP, that of
 * the farthest rejection. Returns NULL if that one is nearer, or when out of memory.
 */
static struct ofi_reject *reject_place(struct ofi_rejects *rejects, uint32_t misses)
{
	struct ofi_reject *far, *grown;
	size_t i;

	if (rejects->count < KEEP) {
		grown = realloc(rejects->entry, (rejects->count + 1) * sizeof(*grown));
		if (!grown)
			return NULL;
		rejects->entry = grown;
		return &rejects->entry[rejects->count++];
	}
	far = rejects->entry;
	for (i = 1; i < rejects->count; i++) {
		if (rejects->entry[i].misses >= far->misses)
			far = &rejects->entry[i];
	}
	return far->misses > misses ? far : NULL;
}

void ofi_reject(const struct fi_explain_entry *entry)
{
	struct ofi_reject *to;
	struct listener listener;
	size_t n;

	for (n = 0; listener_get(n, &listener); n++)
		listener.reject(listener.context, entry);
	if (!collecting)
		return;
	to = reject_place(collecting, entry->misses);
	if (to)
		explain_keep(to, collecting->total, entry);
	collecting->total++;
}

bool ofi_reject_wanted(void)
{
	return !collecting || collecting->wanted;
}

void ofi_rejects_begin(struct ofi_rejects *rejects, bool all)
{
	struct listener listener;

	memset(rejects, 0, sizeof(*rejects));
	rejects->wanted = all || listener_get(0, &listener) ||
			  fi_log_enabled(&ofi_core_prov, FI_LOG_INFO, FI_LOG_CORE);
	rejects->outer = collecting;
	collecting = rejects;
}

void ofi_rejects_end(struct ofi_rejects *rejects)
{
	collecting = rejects->outer;
	free(rejects->entry);
	rejects->entry = NULL;
	rejects->count = 0;
}

static int compare_rejects(const void *a, const void *b)
{
	const struct ofi_reject *x = a, *y = b;

	if (x->misses != y->misses)
		return x->misses < y->misses ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void log_one(enum fi_log_level level, const struct ofi_reject *reject)
{
	char port[24] = "", type[64] = "";

	if (reject->port)
		snprintf(port, sizeof(port), " port %u", reject->port);
	if (reject->ep_type != FI_EP_UNSPEC) {
		type[0] = ' ';
		fi_tostr_r(type + 1, sizeof(type) - 1, &reject->ep_type, FI_TYPE_EP_TYPE);
	}
	FI_LOG(&ofi_core_prov, level, FI_LOG_CORE,
	       "candidate %s%s%s%s%s rejected: %s: asked %s, has %s\n", reject->prov,
	       *reject->domain ? "/" : "", reject->domain, port, type, reject->attr, reject->asked,
	       reject->has);
}

void ofi_rejects_log(struct ofi_rejects *rejects, size_t near)
{
	size_t i;

	if (rejects->count)
		qsort(rejects->entry, rejects->count, sizeof(*rejects->entry), compare_rejects);
	for (i = 0; i < rejects->count; i++)
		log_one(i < near ? FI_LOG_WARN : FI_LOG_INFO, &rejects->entry[i]);
	if (rejects->total > rejects->count)
		FI_INFO(&ofi_core_prov, FI_LOG_CORE, "and %zu more candidates\n",
			rejects->total - rejects->count);
}

/* FNV-1a */
static uint64_t hash_data(uint64_t sum, const void *data, size_t len)
{
	const uint8_t *byte = data;

	while (len--)
		sum = (sum ^ *byte++) * 0x100000001b3;
	return sum;
}

static uint64_t rejects_digest(const struct ofi_rejects *rejects)
{
	uint64_t sum = 0xcbf29ce484222325;
	const struct ofi_reject *reject;
	size_t i;

	for (i = 0; i < rejects->count; i++) {
		reject = &rejects->entry[i];
		sum = hash_data(sum, &reject->port, sizeof(reject->port));
		sum = hash_data(sum, &reject->ep_type, sizeof(reject->ep_type));
		sum = hash_data(sum, reject->prov, strlen(reject->prov) + 1);
		sum = hash_data(sum, reject->domain, strlen(reject->domain) + 1);
		sum = hash_data(sum, reject->attr, strlen(reject->attr) + 1);
		sum = hash_data(sum, reject->asked, strlen(reject->asked) + 1);
		sum = hash_data(sum, reject->has, strlen(reject->has) + 1);
	}
	return sum;
}

OFI_FORK_MUTEX(news_lock, OFI_FORK_INNER);

bool ofi_rejects_news(const struct ofi_rejects *rejects)
{
	static uint64_t told[REMEMBER]; /* these two are guarded by news_lock */
	static size_t next;
	struct listener listener;
	uint64_t sum;
	size_t i;

	if (listener_get(0, &listener))
		return false;
	sum = rejects_digest(rejects);
	pthread_mutex_lock(&news_lock);
	for (i = 0; i < REMEMBER && told[i] != sum; i++)
		;
	if (i == REMEMBER)
		told[next++ % REMEMBER] = sum;
	pthread_mutex_unlock(&news_lock);
	return i == REMEMBER;
}

static int listener_close(struct fid *fid)
{
	struct listener *listener = ofi_container(fid, struct listener, fid);

	pthread_mutex_lock(&listeners_lock);
	LIST_REMOVE(listener, link);
	pthread_mutex_unlock(&listeners_lock);
	free(listener);
	return 0;
}

static struct fi_ops listener_ops = { .size = sizeof(listener_ops),
				      .close = listener_close,
				      .bind = ofi_fid_no_bind,
				      .control = ofi_fid_no_control,
				      .ops_open = ofi_fid_no_ops_open };

int ofi_explain_open(void *attr, size_t attr_len, uint64_t flags, struct fid **fid, void *context)
{
	const struct fi_explain_attr *explain = attr;
	struct listener *listener;

	if (flags)
		return -FI_EBADFLAGS;
	if (!explain || attr_len < sizeof(*explain) || explain->size < sizeof(*explain) ||
	    !explain->reject)
		return -FI_EINVAL;
	listener = calloc(1, sizeof(*listener));
	if (!listener)
		return -FI_ENOMEM;
	listener->fid.fclass = FI_CLASS_UNSPEC;
	listener->fid.context = context;
	listener->fid.ops = &listener_ops;
	listener->thread = pthread_self();
	listener->reject = explain->reject;
	listener->context = explain->context;
	pthread_mutex_lock(&listeners_lock);
	LIST_INSERT_HEAD(&listeners, listener, link);
	pthread_mutex_unlock(&listeners_lock);
	*fid = &listener->fid;
	return 0;
}
