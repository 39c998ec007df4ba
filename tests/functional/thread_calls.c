/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls that threads make at once. Posted operations are small, and may be refused if there are
 * many.
 */
#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include "thread_pairs.h"

static void take_error(struct stage *stage)
{
	struct fi_cq_err_entry error = { 0 };

	MAY(fi_cq_readerr(stage->cq, &error, 0), 0);
}

static void call_cq_read(struct stage *stage, struct worker *worker)
{
	struct fi_cq_data_entry entries[4];
	fi_addr_t from[4];
	ssize_t ret = worker->number ? fi_cq_read(stage->cq, entries, 4)
				     : fi_cq_readfrom(stage->cq, entries, 4, from);

	MAY(ret, FI_EAVAIL);
	if (ret == -FI_EAVAIL)
		take_error(stage);
}

static void call_cq_sread(struct stage *stage, struct worker *worker)
{
	struct fi_cq_data_entry entry;
	ssize_t ret = fi_cq_sread(stage->cq, &entry, 1, NULL, 1);

	(void)worker;
	MAY(ret, FI_EAVAIL);
	if (ret == -FI_EAVAIL)
		take_error(stage);
}

static void call_cq_signal(struct stage *stage, struct worker *worker)
{
	(void)worker;
	OK(fi_cq_signal(stage->cq));
}

static void call_cq_trywait(struct stage *stage, struct worker *worker)
{
	struct fid *fids[] = { &stage->cq->fid, &stage->cntr->fid };
	struct pollfd pfd = { .events = POLLIN };

	(void)worker;
	OK(fi_control(fids[0], FI_GETWAIT, &pfd.fd));
	MAY(fi_trywait(stage->fabric, fids, 2), 0);
	poll(&pfd, 1, 0);
}

static void call_send(struct stage *stage, struct worker *worker)
{
	uint64_t word = worker->number;

	MAY(fi_send(stage->ep[0], stage->buf, 8, stage->desc, stage->to, NULL), 0);
	MAY(fi_inject(stage->ep[0], &word, sizeof(word), stage->to), 0);
}

static struct fid_ep *rx_of(struct stage *stage)
{
	return stage->srx ? stage->srx : stage->ep[1];
}

static void call_recv(struct stage *stage, struct worker *worker)
{
	uint8_t *at = stage->buf + 1024 + worker->number * 1024;

	MAY(fi_recv(rx_of(stage), at, 1024, stage->desc, FI_ADDR_UNSPEC, at), 0);
}

static void call_cancel(struct stage *stage, struct worker *worker)
{
	uint8_t *at = stage->buf + 1024 + worker->number * 1024;
	ssize_t ret = fi_cancel(&rx_of(stage)->fid, at);

	if (ret != -FI_ENOSYS)
		MAY(ret, FI_ENOENT);
}

static void call_cntr_read(struct stage *stage, struct worker *worker)
{
	(void)worker;
	fi_cntr_read(stage->cntr);
	fi_cntr_readerr(stage->cntr);
}

static void call_cntr_wait(struct stage *stage, struct worker *worker)
{
	int ret = fi_cntr_wait(stage->cntr, fi_cntr_read(stage->cntr) + 1 + worker->number, 1);

	if (ret != -FI_EAVAIL)
		MAY(ret, FI_ETIMEDOUT);
}

static void call_cntr_set(struct stage *stage, struct worker *worker)
{
	OK(fi_cntr_add(stage->cntr, 1));
	OK(fi_cntr_set(stage->cntr, worker->number));
	OK(fi_cntr_seterr(stage->cntr, 0));
	OK(fi_cntr_add(stage->wait_cntr, 1));
}

static void call_wait(struct stage *stage, struct worker *worker)
{
	(void)worker;
	MAY(fi_wait(stage->wait, 1), FI_ETIMEDOUT);
}

static void call_wait_set_life(struct stage *stage, struct worker *worker)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_SET, .wait_set = stage->wait };
	struct fid_cntr *cntr;

	(void)worker;
	OK(fi_cntr_open(stage->domain, &attr, &cntr, NULL));
	OK(fi_cntr_add(cntr, 1));
	OK(fi_close(&cntr->fid));
}

static void call_poll(struct stage *stage, struct worker *worker)
{
	void *found[4];

	(void)worker;
	MAY(fi_poll(stage->poll, found, 4), 0);
}

static void call_poll_life(struct stage *stage, struct worker *worker)
{
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_NONE };
	struct fid_cq *cq;

	(void)worker;
	OK(fi_cq_open(stage->domain, &cq_attr, &cq, NULL));
	OK(fi_poll_add(stage->poll, &cq->fid, 0));
	OK(fi_poll_del(stage->poll, &cq->fid, 0));
	OK(fi_close(&cq->fid));
}

static void call_eq_read(struct stage *stage, struct worker *worker)
{
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_entry entry;
	uint32_t event;
	ssize_t ret = fi_eq_sread(stage->eq, &event, &entry, sizeof(entry), worker->number % 2, 0);

	MAY(ret, FI_EAVAIL);
	if (ret == -FI_EAVAIL)
		MAY(fi_eq_readerr(stage->eq, &error, 0), 0);
}

static void call_eq_write(struct stage *stage, struct worker *worker)
{
	struct fi_eq_entry entry = { .data = worker->number };

	RETURNS(fi_eq_write(stage->eq, 77, &entry, sizeof(entry), 0), sizeof(entry));
	call_eq_read(stage, worker);
}

static void call_mr_life(struct stage *stage, struct worker *worker)
{
	struct fid_mr *mr;

	OK(fi_mr_reg(stage->domain, stage->buf + worker->number * 8192, 8192, FI_SEND | FI_RECV, 0,
		     100 + worker->number, 0, &mr, NULL));
	MAY(fi_send(stage->ep[0], stage->buf + worker->number * 8192, 8, fi_mr_desc(mr), stage->to,
		    NULL),
	    0);
	OK(fi_close(&mr->fid));
}

static void call_ep_life(struct stage *stage, struct worker *worker)
{
	struct fid_ep *ep = stage_ep(stage, stage->info, worker->eq);

	OK(fi_close(&ep->fid));
}

void call_alias_life(struct stage *stage, struct worker *worker)
{
	struct fid_ep *alias = NULL;

	(void)worker;
	OK(fi_ep_alias(stage->ep[0], &alias, FI_TRANSMIT));
	MAY(fi_inject(alias, stage, 8, stage->to), 0);
	OK(fi_close(&alias->fid));
}

static void call_domain_life(struct stage *stage, struct worker *worker)
{
	struct fid_domain *domain;

	(void)worker;
	OK(fi_domain(stage->fabric, stage->info, &domain, NULL));
	OK(fi_close(&domain->fid));
}

void call_rma_write(struct stage *stage, struct worker *worker)
{
	(void)worker;
	MAY(fi_write(stage->ep[0], stage->buf, 8, stage->desc, stage->to, stage->addr + 32768,
		     stage->key, NULL),
	    0);
}

void call_fetch_add(struct stage *stage, struct worker *worker)
{
	uint64_t *own = (uint64_t *)(stage->buf + 40960);

	(void)worker;
	MAY(fi_fetch_atomic(stage->ep[0], own, 1, stage->desc, own + 1, stage->desc, stage->to,
			    stage->addr + 49152, stage->key, FI_UINT64, FI_SUM, NULL),
	    0);
}

const struct call stage_calls[] = {
	{ "fi_cq_read", call_cq_read },
	{ "fi_cq_sread", call_cq_sread },
	{ "fi_cq_signal", call_cq_signal },
	{ "fi_trywait", call_cq_trywait },
	{ "fi_send and fi_inject", call_send },
	{ "fi_recv", call_recv },
	{ "fi_cancel", call_cancel },
	{ "fi_cntr_read", call_cntr_read },
	{ "fi_cntr_wait", call_cntr_wait },
	{ "fi_cntr_set", call_cntr_set },
	{ "fi_wait", call_wait },
	{ "a counter in a wait set", call_wait_set_life },
	{ "fi_poll", call_poll },
	{ "a queue in a poll set", call_poll_life },
	{ "fi_eq_sread", call_eq_read },
	{ "fi_eq_write", call_eq_write },
	{ "a memory region", call_mr_life },
	{ "an endpoint", call_ep_life },
	{ "a domain", call_domain_life },
	{ NULL, NULL },
};
