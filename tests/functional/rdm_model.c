/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Three endpoints perform random operations of programs: messages of all sizes and kinds, receives
 * that match them early, late, fully or partially, cancels, peeks, RMA and atomics, under random
 * modes. A model predicts the results. A failure prints the seed; WEFT_SEED=N runs that seed alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "rdm_model.h"

enum { SEEDS = 12, STEPS = 600 };

struct run {
	uint64_t random;
	struct model *model;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep[MODEL_EPS];
	struct fid_cq *cq[MODEL_EPS];
	struct fid_av *av[MODEL_EPS];
	struct fid_mr *mr[MODEL_EPS];
};

static unsigned int pick(struct run *run, unsigned int choices)
{
	run->random = run->random * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned int)(run->random >> 33) % choices;
}

static size_t pick_len(struct run *run)
{
	static const size_t lens[] = { 0,     1,     8,	    63,	   64,	   65,
				       200,   1000,  4000,  4096,  8000,   16000,
				       16384, 20000, 65536, 70000, 131072, MODEL_LONGEST };

	return lens[pick(run, pick(run, 3) ? 12 : ARRAY_SIZE(lens))];
}

/* Few tags, so that receives match. */
static uint64_t pick_tag(struct run *run)
{
	return pick(run, 4) | (uint64_t)pick(run, 2) << 40;
}

static bool poll_one(struct run *run, int ep)
{
	struct fi_cq_tagged_entry entries[4];
	struct fi_cq_err_entry error = { 0 };
	fi_addr_t sources[4];
	ssize_t i, count = fi_cq_readfrom(run->cq[ep], entries, 1 + pick(run, 4), sources);

	if (count == -FI_EAVAIL) {
		RETURNS(fi_cq_readerr(run->cq[ep], &error, 0), 1);
		model_error(run->model, ep, &error);
		return true;
	}
	if (count == -FI_EAGAIN)
		return false;
	CHECK(count > 0);
	for (i = 0; i < count; i++)
		model_success(run->model, ep, &entries[i], sources[i]);
	return true;
}

static void poll_all(struct run *run)
{
	int ep;

	for (ep = 0; ep < MODEL_EPS; ep++)
		while (poll_one(run, ep))
			;
}

/* Returns true, after progress, if the call found no room. */
static bool again(struct run *run, ssize_t ret)
{
	if (ret != -FI_EAGAIN) {
		OK(ret);
		return false;
	}
	poll_all(run);
	return true;
}

/* A send by a call with a buffer; inject calls have no completion. */
static ssize_t send_data(struct run *run, struct model_op *op, bool inject)
{
	fi_addr_t to = run->model->addr[op->peer][op->ep];
	struct fid_ep *ep = run->ep[op->ep];
	uint64_t data = model_data(op);

	if (inject)
		return op->tagged ? fi_tinjectdata(ep, op->buf, op->len, data, to, op->tag)
				  : fi_injectdata(ep, op->buf, op->len, data, to);
	return op->tagged ? fi_tsenddata(ep, op->buf, op->len, NULL, data, to, op->tag, op)
			  : fi_senddata(ep, op->buf, op->len, NULL, data, to, op);
}

/* A send of three buffers, with flags. */
static ssize_t send_msg(struct run *run, struct model_op *op, uint64_t flags)
{
	size_t part = op->len / 3;
	const struct iovec iov[] = { { op->buf, part },
				     { op->buf + part, part },
				     { op->buf + 2 * part, op->len - 2 * part } };
	const struct fi_msg msg = { .msg_iov = iov,
				    .iov_count = ARRAY_SIZE(iov),
				    .addr = run->model->addr[op->peer][op->ep],
				    .context = op,
				    .data = model_data(op) };
	const struct fi_msg_tagged tagged = { .msg_iov = iov,
					      .iov_count = ARRAY_SIZE(iov),
					      .addr = msg.addr,
					      .tag = op->tag,
					      .context = op,
					      .data = msg.data };

	flags |= FI_REMOTE_CQ_DATA | FI_COMPLETION;
	return op->tagged ? fi_tsendmsg(run->ep[op->ep], &tagged, flags)
			  : fi_sendmsg(run->ep[op->ep], &msg, flags);
}

static void do_send(struct run *run)
{
	static const uint64_t levels[] = { 0, FI_INJECT, FI_DELIVERY_COMPLETE,
					   FI_TRANSMIT_COMPLETE };
	int from = (int)pick(run, MODEL_EPS), to = (int)pick(run, MODEL_EPS);
	struct model_op *op = model_op(run->model, MODEL_SEND, from, to, pick_len(run));
	unsigned int how = pick(run, 6);
	uint64_t flags;

	if (!op)
		return;
	op->tagged = pick(run, 4);
	op->tag = pick_tag(run);
	model_message(run->model, op);
	if (op->len > run->info->tx_attr->inject_size && (how == 1 || how == 3))
		how = 0;
	if (how < 2) {
		while (again(run, send_data(run, op, how == 1)))
			;
	} else {
		flags = levels[how - 2] | (pick(run, 5) ? 0 : FI_MORE);
		while (again(run, send_msg(run, op, flags)))
			;
	}
	/* The buffer belongs to the program again. */
	if (how == 1 || how == 3)
		memset(op->buf, 0, op->len);
	if (how == 1) {
		op->complete = true;
		run->model->open--;
	}
}

static void post_recv(struct run *run, struct model_op *op)
{
	fi_addr_t from = op->peer < 0 ? FI_ADDR_UNSPEC : run->model->addr[op->peer][op->ep];
	struct fid_ep *ep = run->ep[op->ep];

	while (again(run, op->tagged ? fi_trecv(ep, op->buf, op->len, NULL, from, op->tag,
						op->ignore, op)
				     : fi_recv(ep, op->buf, op->len, NULL, from, op)))
		;
}

static void do_recv(struct run *run)
{
	static const uint64_t ignore[] = { 0, 0, UINT64_MAX, 3, 1ull << 40 };
	int from = pick(run, 3) ? -1 : (int)pick(run, MODEL_EPS);
	struct model_op *op = model_op(run->model, MODEL_RECV, (int)pick(run, MODEL_EPS), from,
				       pick(run, 6) ? MODEL_LONGEST : pick_len(run));

	if (!op)
		return;
	op->tagged = pick(run, 4);
	op->tag = pick_tag(run);
	op->ignore = ignore[pick(run, ARRAY_SIZE(ignore))];
	post_recv(run, op);
}

static void cancel(struct run *run, struct model_op *op)
{
	int ret;

	if (op->kind != MODEL_RECV || op->complete || op->canceled)
		return;
	op->canceled = true;
	ret = (int)fi_cancel(&run->ep[op->ep]->fid, op);
	CHECK(!ret || ret == -FI_ENOENT);
}

static void do_cancel(struct run *run)
{
	if (run->model->count)
		cancel(run, &run->model->ops[pick(run, run->model->count)]);
}

static void do_peek(struct run *run)
{
	int ep = (int)pick(run, MODEL_EPS);
	struct model_op *op = model_op(run->model, MODEL_PEEK, ep, -1, 0);
	struct fi_msg_tagged msg = { .addr = FI_ADDR_UNSPEC, .context = op };

	if (!op)
		return;
	msg.tag = pick_tag(run);
	msg.ignore = pick(run, 2) ? UINT64_MAX : 0;
	while (again(run, fi_trecvmsg(run->ep[ep], &msg, FI_PEEK)))
		;
}

static uint64_t target_addr(struct run *run, int ep, size_t at)
{
	bool virt = run->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;

	return (virt ? (uintptr_t)run->model->window[ep] : 0) + at;
}

/*
 * Each endpoint transfers to and from a part of each window that is its own, one operation at a
 * time.
 */
static void do_transfer(struct run *run)
{
	int ep = (int)pick(run, MODEL_EPS), peer = (int)pick(run, MODEL_EPS);
	enum model_kind kind = pick(run, 2) ? MODEL_WRITE : MODEL_READ;
	struct model_op *op;
	size_t len = 1 + pick_len(run);

	if (run->model->transferring[ep][peer])
		return;
	op = model_op(run->model, kind, ep, peer, len);
	if (!op)
		return;
	run->model->transferring[ep][peer] = true;
	op->at = (size_t)ep * MODEL_PART + pick(run, MODEL_MARGIN);
	op->delivery = kind == MODEL_WRITE && pick(run, 2);
	fill(op->buf, len, op->age);
	const struct iovec iov = { op->buf, len };
	const struct fi_rma_iov rma = { target_addr(run, peer, op->at), len,
					fi_mr_key(run->mr[peer]) };
	const struct fi_msg_rma msg = { .msg_iov = &iov,
					.iov_count = 1,
					.addr = run->model->addr[peer][ep],
					.rma_iov = &rma,
					.rma_iov_count = 1,
					.context = op };

	while (again(run, kind == MODEL_READ
				  ? fi_readmsg(run->ep[ep], &msg, FI_COMPLETION)
				  : fi_writemsg(run->ep[ep], &msg,
						FI_COMPLETION |
							(op->delivery ? FI_DELIVERY_COMPLETE : 0))))
		;
}

static void do_atomic(struct run *run)
{
	static const uint64_t one = 1;
	int ep = (int)pick(run, MODEL_EPS), peer = (int)pick(run, MODEL_EPS);
	struct model_op *op = model_op(run->model, MODEL_ATOMIC, ep, peer, sizeof(uint64_t));
	fi_addr_t to = run->model->addr[peer][ep];
	uint64_t at, key = fi_mr_key(run->mr[peer]);
	unsigned int slot = pick(run, MODEL_SLOTS);
	bool fetch = pick(run, 2);

	if (!op)
		return;
	at = target_addr(run, peer, MODEL_WINDOW + slot * sizeof(one));
	while (again(run, fetch ? fi_fetch_atomic(run->ep[ep], &one, 1, NULL, op->buf, NULL, to, at,
						  key, FI_UINT64, FI_SUM, op)
				: fi_atomic(run->ep[ep], &one, 1, NULL, to, at, key, FI_UINT64,
					    FI_SUM, op)))
		;
	run->model->sums[peer][slot]++;
}

static void do_something(struct run *run)
{
	unsigned int what = pick(run, 100);

	if (what < 38)
		do_send(run);
	else if (what < 78)
		do_recv(run);
	else if (what < 82)
		do_cancel(run);
	else if (what < 85)
		do_peek(run);
	else if (what < 92)
		do_transfer(run);
	else if (what < 96)
		do_atomic(run);
	else
		poll_all(run);
}

static struct fi_info *pick_info(struct run *run)
{
	static const int modes[] = { RDM_PROV_KEYS, RDM_PROV_KEYS, 0, FI_MR_ALLOCATED };
	struct fi_info *info, *hints = fi_allocinfo();

	CHECK(hints);
	rdm_hint_device(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV | FI_SOURCE;
	hints->domain_attr->mr_mode = modes[pick(run, ARRAY_SIZE(modes))];
	hints->domain_attr->threading = pick(run, 2) ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = pick(run, 2) ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->tx_attr->size = pick(run, 2) ? 0 : 8u << pick(run, 4);
	hints->rx_attr->size = pick(run, 2) ? 0 : 16u << pick(run, 4);
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void open_endpoint(struct run *run, int i)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .size = pick(run, 2) ? 0 : 64 };
	struct fi_av_attr av = { .type = pick(run, 2) ? FI_AV_MAP : FI_AV_TABLE };
	enum { ACCESS = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE };
	size_t len = MODEL_WINDOW + sizeof(run->model->sums[i]);

	cq.wait_obj = pick(run, 2) ? FI_WAIT_NONE : FI_WAIT_UNSPEC;
	run->model->window[i] = calloc(1, len);
	CHECK(run->model->window[i]);
	OK(fi_cq_open(run->domain, &cq, &run->cq[i], NULL));
	OK(fi_av_open(run->domain, &av, &run->av[i], NULL));
	OK(fi_endpoint(run->domain, run->info, &run->ep[i], NULL));
	OK(fi_ep_bind(run->ep[i], &run->cq[i]->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(run->ep[i], &run->av[i]->fid, 0));
	OK(fi_enable(run->ep[i]));
	OK(fi_mr_reg(run->domain, run->model->window[i], len, ACCESS, 0, 100 + (uint64_t)i, 0,
		     &run->mr[i], NULL));
}

/* Inserts an endpoint in the address vectors of all. */
static void introduce(struct run *run, int ep)
{
	char name[256];
	size_t len = sizeof(name);
	int i;

	OK(fi_getname(&run->ep[ep]->fid, name, &len));
	for (i = 0; i < MODEL_EPS; i++)
		RETURNS(fi_av_insert(run->av[i], name, 1, &run->model->addr[ep][i], 0, NULL), 1);
}

static void run_open(struct run *run, unsigned int seed)
{
	int i;

	memset(run, 0, sizeof(*run));
	run->random = seed * 0x9e3779b97f4a7c15ull;
	run->model = calloc(1, sizeof(*run->model));
	CHECK(run->model);
	run->info = pick_info(run);
	OK(fi_fabric(run->info->fabric_attr, &run->fabric, NULL));
	OK(fi_domain(run->fabric, run->info, &run->domain, NULL));
	for (i = 0; i < MODEL_EPS; i++)
		open_endpoint(run, i);
	for (i = 0; i < MODEL_EPS; i++)
		introduce(run, i);
}

static void run_close(struct run *run)
{
	int i;

	for (i = 0; i < MODEL_EPS; i++) {
		OK(fi_close(&run->ep[i]->fid));
		OK(fi_close(&run->cq[i]->fid));
		OK(fi_close(&run->av[i]->fid));
		OK(fi_close(&run->mr[i]->fid));
		free(run->model->window[i]);
	}
	OK(fi_close(&run->domain->fid));
	OK(fi_close(&run->fabric->fid));
	fi_freeinfo(run->info);
	model_free(run->model);
}

/* Ends the receives that are left. */
static void cancel_all(struct run *run)
{
	struct model *model = run->model;
	uint64_t end = deadline();
	unsigned int i;

	for (i = 0; i < model->count; i++)
		cancel(run, &model->ops[i]);
	for (i = 0; i < model->count; i++)
		while (model->ops[i].kind == MODEL_RECV && !model->ops[i].complete) {
			poll_all(run);
			pause_until(end, "a receive that was canceled");
		}
}

/* Receives the messages that nothing has received. */
static void receive_all(struct run *run)
{
	struct model *model = run->model;
	struct model_op *op;
	unsigned int i, count = model->count;
	uint64_t end = deadline();

	for (i = 0; i < count; i++) {
		if (model->ops[i].kind != MODEL_SEND || model->ops[i].partner)
			continue;
		op = model_op(model, MODEL_RECV, model->ops[i].peer, -1, MODEL_LONGEST);
		CHECK(op);
		op->tagged = model->ops[i].tagged;
		op->ignore = UINT64_MAX;
		post_recv(run, op);
	}
	while (model->open || !model_sums(model)) {
		poll_all(run);
		pause_until(end, "operations");
	}
}

static void run_seed(unsigned int seed)
{
	struct run run;
	int i;

	printf("seed %u\n", seed);
	run_open(&run, seed);
	for (i = 0; i < STEPS; i++)
		do_something(&run);
	cancel_all(&run);
	receive_all(&run);
	model_check(run.model);
	run_close(&run);
}

static void test(void)
{
	const char *only = getenv("WEFT_SEED");
	unsigned int seed;

	if (only) {
		run_seed((unsigned int)strtoul(only, NULL, 0));
		return;
	}
	for (seed = 1; seed <= SEEDS; seed++)
		run_seed(seed);
}

int main(void)
{
	return run_test(test);
}
