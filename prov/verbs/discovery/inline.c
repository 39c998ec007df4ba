/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Probes the inline limit of devices. */

#include <errno.h>
#include <stdbool.h>
#include "inline.h"
#include "known.h"
#include "src/ds/fork.h"

/* The state of a probe. */
struct probe {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	enum ibv_qp_type type;
	bool keep; /* the result may be cached */
};

/* Held while probing. */
OFI_FORK_MUTEX(probe_lock, OFI_FORK_INNER);

/* Returns 0 with the granted size in *got, which may be less than `want`; or an errno. */
static int try_qp(const struct probe *probe, uint32_t want, uint32_t *got)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = probe->cq,
		.recv_cq = probe->cq,
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = want },
		.qp_type = probe->type,
	};
	struct ibv_qp *qp;

	/* A driver may refuse without setting it: bnxt_re. */
	errno = 0;
	qp = ibv_create_qp(probe->pd, &attr);
	if (!qp)
		return errno ? errno : EINVAL;
	*got = attr.cap.max_inline_data;
	ibv_destroy_qp(qp);
	return 0;
}

/*
 * Searches for the largest size, unless the device accepts the guess in *max. Once a queue pair
 * without inline data could be created, an error means that the size was refused. After an error
 * that may also mean a lack of resources, the result is used but not cached. Some devices refuse
 * nothing but grant less: that is their limit.
 */
static int inline_search(struct probe *probe, uint32_t *max)
{
	uint32_t low, high = VRB_INLINE_MAX + 1, middle, got;
	int err;

	if (*max && !try_qp(probe, *max, max))
		return 0;
	err = try_qp(probe, 0, &low);
	if (err)
		return err;
	while (low + 1 < high) {
		middle = low + (high - low) / 2;
		err = try_qp(probe, middle, &got);
		if (err)
			high = middle;
		else if (got > low)
			low = got;
		if (!err && got < middle)
			break;
		if (err == ENOMEM || err == EMFILE || err == EAGAIN)
			probe->keep = false;
	}
	*max = low < VRB_INLINE_MAX ? low : VRB_INLINE_MAX;
	return 0;
}

static int inline_probe(struct probe *probe, const char **call, uint32_t *max)
{
	int err;

	*call = "ibv_alloc_pd";
	probe->pd = ibv_alloc_pd(probe->ctx);
	if (!probe->pd)
		return errno ? errno : ENOMEM;
	*call = "ibv_create_cq";
	probe->cq = ibv_create_cq(probe->ctx, 2, NULL, NULL, 0);
	if (probe->cq) {
		*call = "ibv_create_qp";
		err = inline_search(probe, max);
		ibv_destroy_cq(probe->cq);
	} else {
		err = errno ? errno : ENOMEM;
	}
	ibv_dealloc_pd(probe->pd);
	return err;
}

int vrb_inline_max(struct ibv_context *ctx, enum ibv_qp_type type, const char **call, uint32_t *max)
{
	struct probe probe = { .ctx = ctx, .type = type, .keep = true };
	const char *name = ibv_get_device_name(ctx->device);
	__be64 guid = ibv_get_device_guid(ctx->device);
	int what = VRB_KNOWN_INLINE + (int)type, err = 0;

	pthread_mutex_lock(&probe_lock);
	if (!vrb_known_get(name, guid, what, max, sizeof(*max))) {
		err = inline_probe(&probe, call, max);
		/* If there is no memory, the next snapshot probes again. */
		if (!err && probe.keep)
			vrb_known_set(name, guid, what, max, sizeof(*max));
	}
	pthread_mutex_unlock(&probe_lock);
	return err;
}
