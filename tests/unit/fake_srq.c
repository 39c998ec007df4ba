/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fake device's shared receive queues. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include "fake_verbs.h"

static int post_one(struct fake_srq *srq, struct ibv_recv_wr *wr)
{
	struct fake_post *post;
	int err = srq->post_err;

	srq->post_err = 0;
	if (!err && srq->refuses && srq->recvs.count == srq->init.attr.max_wr)
		err = ENOMEM;
	if (err)
		return err;
	post = fake_add(&srq->recvs, wr->sg_list, wr->num_sge, (int)srq->init.attr.max_sge);
	post->wr.wr_id = wr->wr_id;
	srq->recvs.last = *post;
	return 0;
}

int fake_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	int err = 0;

	for (; wr && !err; wr = wr->next) {
		*bad = wr;
		err = post_one(fake_srq(ibv), wr);
	}
	return err;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct fake_srq *srq = fake_fails("ibv_create_srq") ? NULL : calloc(1, sizeof(*srq));

	if (!srq)
		return NULL;
	assert_in_range(init->attr.max_wr, 1, fake.attr.max_srq_wr);
	assert_in_range(init->attr.max_sge, 1, fake.attr.max_srq_sge);
	srq->init = *init;
	srq->ibv.context = pd->context;
	srq->ibv.srq_context = init->srq_context;
	fake_queue_init(&srq->recvs, init->attr.max_wr);
	fake.srqs++;
	if (fake.dying)
		*fake.dying = true;
	return &srq->ibv;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	assert_int_equal(mask, IBV_SRQ_LIMIT);
	if (fake_fails("ibv_modify_srq"))
		return errno;
	fake_srq(srq)->limit = attr->srq_limit;
	return 0;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	if (fake_fails("ibv_query_srq"))
		return errno;
	*attr = fake_srq(srq)->init.attr;
	attr->srq_limit = fake_srq(srq)->limit;
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	free(fake_srq(srq)->recvs.posts);
	free(srq);
	fake.srqs--;
	return 0;
}
