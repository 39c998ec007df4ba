/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Probes the inline limit of devices and remembers it. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "inline.h"

enum { INLINE_CEILING = 4096 };

struct limit {
	SLIST_ENTRY(limit) next;
	char name[IBV_SYSFS_NAME_MAX];
	__be64 guid;
	uint32_t max;
};

static SLIST_HEAD(, limit) limits = SLIST_HEAD_INITIALIZER(limits);
static pthread_mutex_t limits_lock =
	PTHREAD_MUTEX_INITIALIZER; /* guards limits, held while probing */

/* 0 and what the queue pair got, or errno. */
static int try_qp(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t want, uint32_t *got)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = want },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp;

	qp = ibv_create_qp(pd, &attr);
	if (!qp)
		return errno ? errno : EINVAL;
	*got = attr.cap.max_inline_data > want ? attr.cap.max_inline_data : want;
	ibv_destroy_qp(qp);
	return 0;
}

/*
 * Once a queue pair without inline data could be had, an error means that the size was refused. It
 * may also be want of something else, then the result is good for now but is not to be kept.
 */
static int search(struct ibv_pd *pd, struct ibv_cq *cq, uint32_t *max, bool *keep)
{
	uint32_t low, high = INLINE_CEILING + 1, middle, got;
	int err;

	err = try_qp(pd, cq, 0, &low);
	if (err)
		return err;
	while (low + 1 < high) {
		middle = low + (high - low) / 2;
		err = try_qp(pd, cq, middle, &got);
		if (err)
			high = middle;
		else
			low = got;
		if (err == ENOMEM || err == EMFILE || err == EAGAIN)
			*keep = false;
	}
	*max = low;
	return 0;
}

static int probe(struct ibv_context *ctx, const char **call, uint32_t *max, bool *keep)
{
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	int err;

	*call = "ibv_alloc_pd";
	pd = ibv_alloc_pd(ctx);
	if (!pd)
		return errno ? errno : ENOMEM;
	*call = "ibv_create_cq";
	cq = ibv_create_cq(ctx, 2, NULL, NULL, 0);
	if (cq) {
		*call = "ibv_create_qp";
		err = search(pd, cq, max, keep);
		ibv_destroy_cq(cq);
	} else {
		err = errno ? errno : ENOMEM;
	}
	ibv_dealloc_pd(pd);
	return err;
}

static struct limit *find(const char *name, __be64 guid)
{
	struct limit *limit;

	SLIST_FOREACH (limit, &limits, next) {
		if (limit->guid == guid && !strcmp(limit->name, name))
			return limit;
	}
	return NULL;
}

/* Without memory for it the next snapshot probes again. */
static void remember(const char *name, __be64 guid, uint32_t max)
{
	struct limit *limit = calloc(1, sizeof(*limit));

	if (!limit)
		return;
	strncpy(limit->name, name, sizeof(limit->name) - 1);
	limit->guid = guid;
	limit->max = max;
	SLIST_INSERT_HEAD(&limits, limit, next);
}

int vrb_inline_max(struct ibv_context *ctx, const char **call, uint32_t *max)
{
	const char *name = ibv_get_device_name(ctx->device);
	__be64 guid = ibv_get_device_guid(ctx->device);
	struct limit *limit;
	bool keep = true;
	int err = 0;

	pthread_mutex_lock(&limits_lock);
	limit = find(name, guid);
	if (limit) {
		*max = limit->max;
	} else {
		err = probe(ctx, call, max, &keep);
		if (!err && keep)
			remember(name, guid, *max);
	}
	pthread_mutex_unlock(&limits_lock);
	return err;
}

void vrb_inline_forget(void)
{
	struct limit *limit;

	pthread_mutex_lock(&limits_lock);
	while ((limit = SLIST_FIRST(&limits))) {
		SLIST_REMOVE_HEAD(&limits, next);
		free(limit);
	}
	pthread_mutex_unlock(&limits_lock);
}
