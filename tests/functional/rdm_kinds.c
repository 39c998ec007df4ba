/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections, datagrams and reliable datagrams in one process: an object of one type, domain or
 * fabric is refused by another.
 */
#include "rdm.h"

#include <string.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_stats.h>
#include <rdma/fi_trigger.h>

/* The objects of one domain, and those of the fabric. */
struct things {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep, *alias;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	struct fid_stx *stx;
	struct fid_poll *poll;
	struct fid_mr *mr;
	struct fi_ops_stats *stats;
};

static char buf[64];

static void discover(struct things *t, enum fi_ep_type type, uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->caps = caps;
	hints->ep_attr->type = type;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | RDM_PROV_KEYS;
	hints->domain_attr->name = strdup(need_env("WEFT_DEVICE"));
	hints->fabric_attr->prov_name = strdup("verbs");
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &t->info));
	fi_freeinfo(hints);
}

static void open_things(struct things *t, enum fi_ep_type type, uint64_t caps)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_FD };
	struct fi_cntr_attr cntr = { .wait_obj = FI_WAIT_NONE };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	struct fi_eq_attr eq = { .wait_obj = FI_WAIT_NONE };

	discover(t, type, caps);
	OK(fi_fabric(t->info->fabric_attr, &t->fabric, NULL));
	OK(fi_domain(t->fabric, t->info, &t->domain, NULL));
	OK(fi_endpoint(t->domain, t->info, &t->ep, NULL));
	OK(fi_cq_open(t->domain, &cq, &t->cq, NULL));
	OK(fi_av_open(t->domain, &av, &t->av, NULL));
	OK(fi_cntr_open(t->domain, &cntr, &t->cntr, NULL));
	OK(fi_eq_open(t->fabric, &eq, &t->eq, NULL));
	if (type != FI_EP_DGRAM)
		OK(fi_stx_context(t->domain, NULL, &t->stx, NULL));
	OK(fi_poll_open(t->domain, NULL, &t->poll));
	OK(fi_mr_reg(t->domain, buf, sizeof(buf), FI_SEND | FI_RECV | FI_REMOTE_WRITE, 0, 0, 0,
		     &t->mr, NULL));
	OK(fi_open_ops(&t->ep->fid, FI_STATS_OPS, 0, (void **)&t->stats, NULL));
	if (type != FI_EP_DGRAM)
		OK(fi_ep_alias(t->ep, &t->alias, FI_TRANSMIT));
}

static void close_things(struct things *t)
{
	if (t->alias)
		OK(fi_close(&t->alias->fid));
	OK(fi_close(&t->ep->fid));
	OK(fi_close(&t->mr->fid));
	OK(fi_close(&t->poll->fid));
	if (t->stx)
		OK(fi_close(&t->stx->fid));
	OK(fi_close(&t->eq->fid));
	OK(fi_close(&t->cntr->fid));
	OK(fi_close(&t->av->fid));
	OK(fi_close(&t->cq->fid));
	OK(fi_close(&t->domain->fid));
	OK(fi_close(&t->fabric->fid));
	fi_freeinfo(t->info);
}

/* No object of b is accepted by the endpoint or by other objects of a. */
static void refuses_to_bind(const struct things *a, const struct things *b)
{
	struct fid_ep *ep;

	RETURNS(fi_ep_bind(a->ep, &b->cq->fid, FI_TRANSMIT | FI_RECV), -FI_EINVAL);
	RETURNS(fi_ep_bind(a->ep, &b->av->fid, 0), -FI_EINVAL);
	RETURNS(fi_ep_bind(a->ep, &b->cntr->fid, FI_SEND), -FI_EINVAL);
	RETURNS(fi_ep_bind(a->ep, &b->eq->fid, 0), -FI_EINVAL);
	if (b->stx)
		RETURNS(fi_ep_bind(a->ep, &b->stx->fid, 0), -FI_EINVAL);
	RETURNS(fi_ep_bind(a->ep, &b->ep->fid, 0), -FI_EINVAL);
	RETURNS(fi_domain_bind(a->domain, &b->eq->fid, 0), -FI_EINVAL);
	RETURNS(fi_av_bind(a->av, &b->eq->fid, 0), -FI_EINVAL);
	CHECK(fi_mr_bind(a->mr, &b->cntr->fid, FI_REMOTE_WRITE) < 0);
	RETURNS(fi_poll_add(a->poll, &b->cq->fid, 0), -FI_EINVAL);
	RETURNS(fi_poll_add(a->poll, &b->cntr->fid, 0), -FI_EINVAL);
	if (a->info->ep_attr->type != b->info->ep_attr->type &&
	    (a->info->ep_attr->type == FI_EP_RDM || b->info->ep_attr->type == FI_EP_RDM))
		RETURNS(fi_endpoint(a->domain, b->info, &ep, NULL), -FI_EINVAL);
}

static int queue(const struct things *a, struct fid_ep *ep, struct fid_cntr *when,
		 struct fid_cntr *done)
{
	struct iovec iov = { buf, 8 };
	struct fi_op_msg op = { .ep = ep, .msg = { .msg_iov = &iov, .iov_count = 1 } };
	struct fi_deferred_work work = { .threshold = 1,
					 .triggering_cntr = when,
					 .completion_cntr = done,
					 .op_type = FI_OP_SEND,
					 .op.msg = &op };

	return fi_control(&a->domain->fid, FI_QUEUE_WORK, &work);
}

static void refuses_work(const struct things *a, struct fid_ep *ep, struct fid_cntr *when,
			 struct fid_cntr *done)
{
	RETURNS(queue(a, ep, when, done), -FI_EINVAL);
}

static void refuses_all_work(const struct things *a, const struct things *b)
{
	struct fi_op_cntr op = { .cntr = b->cntr };
	struct fi_deferred_work work = { .triggering_cntr = a->cntr,
					 .op_type = FI_OP_CNTR_ADD,
					 .op.cntr = &op };

	refuses_work(a, b->ep, a->cntr, a->cntr);
	if (b->alias)
		refuses_work(a, b->alias, a->cntr, a->cntr);
	refuses_work(a, (struct fid_ep *)b->cq, a->cntr, a->cntr);
	refuses_work(a, (struct fid_ep *)a->cq, a->cntr, a->cntr);
	refuses_work(a, a->ep, b->cntr, a->cntr);
	RETURNS(fi_control(&a->domain->fid, FI_QUEUE_WORK, &work), -FI_EINVAL);
	CHECK(fi_control(&a->domain->fid, FI_FLUSH_WORK, b->cntr) < 0);
}

/* The operations of one type read the records of this type. */
static void refuses_to_tell(const struct things *a, const struct things *b)
{
	struct fi_stats_item items[FI_STATS_MAX];

	RETURNS(a->stats->read(&b->ep->fid, items, FI_STATS_MAX), -FI_EINVAL);
	RETURNS(a->stats->read(&b->cq->fid, items, FI_STATS_MAX), -FI_EINVAL);
	RETURNS(a->stats->read(&b->av->fid, items, FI_STATS_MAX), -FI_EINVAL);
}

/*
 * Its own objects are accepted, also by an alias: the only error is that the endpoint is not
 * enabled.
 */
static void knows_its_own(const struct things *t)
{
	struct fid *fid = &t->cq->fid;

	OK(fi_trywait(t->fabric, &fid, 1));
	if (!t->alias)
		return;
	RETURNS(queue(t, t->ep, t->cntr, t->cntr), -FI_EOPBADSTATE);
	RETURNS(queue(t, t->alias, t->cntr, t->cntr), -FI_EOPBADSTATE);
	RETURNS(t->stats->read(&t->ep->fid, NULL, 0), -FI_EOPBADSTATE);
	RETURNS(t->stats->read(&t->alias->fid, NULL, 0), -FI_EOPBADSTATE);
}

static void test(void)
{
	struct things of[4] = { 0 };
	int i, k;

	open_things(&of[0], FI_EP_MSG, FI_MSG | FI_RMA | FI_TRIGGER);
	open_things(&of[1], FI_EP_RDM, FI_MSG | FI_TAGGED | FI_RMA | FI_TRIGGER | FI_RMA_EVENT);
	open_things(&of[2], FI_EP_DGRAM, FI_MSG);
	open_things(&of[3], FI_EP_RDM, FI_MSG | FI_TAGGED | FI_RMA | FI_TRIGGER | FI_RMA_EVENT);
	for (i = 0; i < 4; i++)
		for (k = 0; k < 4; k++)
			if (i != k) {
				refuses_to_bind(&of[i], &of[k]);
				refuses_all_work(&of[i], &of[k]);
			}
	for (i = 0; i < 3; i += 2) {
		refuses_to_tell(&of[i], &of[1]);
		refuses_to_tell(&of[1], &of[i]);
	}
	for (i = 0; i < 4; i++)
		knows_its_own(&of[i]);
	for (i = 0; i < 4; i++)
		close_things(&of[i]);
}

int main(void)
{
	return run_test(test);
}
