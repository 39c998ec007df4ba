/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A forked child closes an object of each kind that its parent opened, with the parents of other
 * objects first or last. Each fi_close returns 0, and each object of the parent continues to work.
 */
#include "fixture.h"
#include "thread_pairs.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

enum { OBJECTS_MAX = 32, LEN = 64, FROM = 4096, TO = 8192, FAR = 12288 };

/* Objects that others need come first. */
struct objects {
	struct fid *fid[OBJECTS_MAX];
	size_t count;
};

static void keep(struct objects *objects, void *object)
{
	if (!object)
		return;
	CHECK(objects->count < OBJECTS_MAX);
	objects->fid[objects->count++] = object;
}

static void keep_stage(struct objects *objects, struct stage *stage)
{
	void *all[] = { stage->fabric, stage->domain, stage->eq,   stage->cq,	stage->cntr,
			stage->av,     stage->srx,    stage->wait, stage->poll, stage->wait_cntr,
			stage->mr,     stage->ep[0],  stage->ep[1] };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		keep(objects, all[i]);
}

static _Noreturn void close_in_child(const struct objects *objects, bool backwards)
{
	size_t i, at;

	alarm(WAIT_MS / 1000);
	allow_leaks();
	for (i = 0; i < objects->count; i++) {
		at = backwards ? objects->count - 1 - i : i;
		if (fi_close(objects->fid[at]))
			FAIL("object %zu of class %zu", at, objects->fid[at]->fclass);
	}
	exit(0);
}

static void fork_to_close(const struct objects *objects, bool backwards)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		close_in_child(objects, backwards);
	EQUAL(waitpid(pid, &status, 0), pid);
	EQUAL(status, 0);
}

static void children(const struct objects *objects)
{
	fork_to_close(objects, false);
	fork_to_close(objects, true);
}

/* Reads until the entry is available. */
static void wait_for_context(struct stage *stage, const void *context)
{
	struct fi_cq_data_entry entry;
	uint64_t limit = deadline();

	for (;; pause_until(limit, "a completion")) {
		if (fi_cq_sread(stage->cq, &entry, 1, NULL, 100) == 1 &&
		    entry.op_context == context)
			return;
	}
}

static void message(struct stage *stage, struct fid_ep *from, unsigned int seed)
{
	/* The buffers of a shared receive context are used in order. */
	struct fid_ep *rx = stage->srx ? NULL : stage->ep[1];
	uint64_t before = fi_cntr_read(stage->cntr), limit = deadline();

	fill(stage->buf + FROM, LEN, seed);
	if (rx)
		OK(fi_recv(rx, stage->buf + TO, LEN + 40, stage->desc, FI_ADDR_UNSPEC,
			   stage->buf + TO));
	while (fi_send(from, stage->buf + FROM, LEN, stage->desc, stage->to, stage->buf + FROM) ==
	       -FI_EAGAIN)
		pause_until(limit, "room to send");
	wait_for_context(stage, rx ? stage->buf + TO : stage->buf + FROM);
	while (fi_cntr_read(stage->cntr) < before + 2)
		pause_until(limit, "the counter");
	if (rx && stage->info->ep_attr->type == FI_EP_RDM)
		CHECK_FILLED(stage->buf + TO, LEN, seed);
}

static void rma(struct stage *stage)
{
	fill(stage->buf + FROM, LEN, 99);
	OK(fi_write(stage->ep[0], stage->buf + FROM, LEN, stage->desc, stage->to, stage->addr + FAR,
		    stage->key, stage->buf));
	wait_for_context(stage, stage->buf);
	CHECK_FILLED(stage->buf + FAR, LEN, 99);
}

static void queues(struct stage *stage)
{
	struct fi_eq_entry entry = { .data = 5 };
	void *found[4];
	uint32_t event;

	RETURNS(fi_eq_write(stage->eq, 77, &entry, sizeof(entry), 0), sizeof(entry));
	RETURNS(fi_eq_sread(stage->eq, &event, &entry, sizeof(entry), WAIT_MS, 0), sizeof(entry));
	EQUAL(event, 77);
	MAY(fi_poll(stage->poll, found, 4), 0);
	OK(fi_cntr_add(stage->wait_cntr, 1));
	OK(fi_wait(stage->wait, WAIT_MS));
}

static struct fid_ep *alias_of(struct fid_ep *ep)
{
	struct fid_ep *alias = NULL;

	OK(fi_ep_alias(ep, &alias, FI_TRANSMIT));
	return alias;
}

static void close_both(struct fid_ep *ep[2])
{
	OK(fi_close(&ep[0]->fid));
	OK(fi_close(&ep[1]->fid));
}

static void test_msg(void *arg)
{
	struct objects objects = { .count = 0 };
	struct fi_info *request, *hints = fi_allocinfo();
	struct stage stage = { 0 };
	struct fid_ep *alias, *late[2];
	struct fid_stx *stx;
	struct worker worker;

	(void)arg;
	CHECK(hints);
	hints->ep_attr->type = FI_EP_MSG;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->caps = FI_MSG | FI_RMA;
	stage_open(&stage, hints, local_addr(), 64);
	worker_open(&worker, &stage, 0);
	stage_connect(&stage, &worker, stage.ep);
	OK(fi_stx_context(stage.domain, NULL, &stx, NULL));
	alias = alias_of(stage.ep[0]);
	request = stage_request(&stage, &worker, &late[0]);
	keep_stage(&objects, &stage);
	keep(&objects, worker.eq);
	keep(&objects, worker.pep);
	keep(&objects, stx);
	keep(&objects, alias);
	keep(&objects, late[0]);
	keep(&objects, request->handle);
	children(&objects);
	message(&stage, alias, 1);
	rma(&stage);
	queues(&stage);
	late[1] = stage_answer(&stage, &worker, request);
	message(&stage, late[0], 2);
	close_both(late);
	stage_connect(&stage, &worker, late);
	message(&stage, late[0], 3);
	close_both(late);
	OK(fi_close(&alias->fid));
	OK(fi_close(&stx->fid));
	close_both(stage.ep);
	stage.ep[0] = stage.ep[1] = NULL;
	worker_close(&worker);
	stage_close(&stage);
}

static void open_two(struct stage *stage, enum fi_ep_type type, uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo();
	size_t len = sizeof(stage->name);

	CHECK(hints);
	hints->ep_attr->type = type;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->caps = caps;
	stage_open(stage, hints, NULL, 0);
	stage->ep[0] = stage_ep(stage, stage->info, stage->eq);
	stage->ep[1] = stage_ep(stage, stage->info, stage->eq);
	OK(fi_getname(&stage->ep[1]->fid, stage->name, &len));
	RETURNS(fi_av_insert(stage->av, stage->name, 1, &stage->to, 0, NULL), 1);
}

static void wait_joined(struct stage *stage, const struct fid_mc *mc)
{
	struct fi_eq_entry entry;
	uint32_t event;

	RETURNS(fi_eq_sread(stage->eq, &event, &entry, sizeof(entry), WAIT_MS, 0), sizeof(entry));
	EQUAL(event, FI_JOIN_COMPLETE);
	CHECK(entry.fid == &mc->fid);
}

static void test_dgram(void *arg)
{
	struct sockaddr_in group = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xe8010203) };
	struct objects objects = { .count = 0 };
	struct stage stage = { 0 };
	struct fid_mc *mc = NULL;

	(void)arg;
	open_two(&stage, FI_EP_DGRAM, FI_MSG | FI_MULTICAST);
	OK(fi_join(stage.ep[1], &group, 0, &mc, NULL));
	wait_joined(&stage, mc);
	keep_stage(&objects, &stage);
	keep(&objects, mc);
	children(&objects);
	message(&stage, stage.ep[0], 1);
	stage.to = fi_mc_addr(mc);
	message(&stage, stage.ep[0], 2);
	queues(&stage);
	OK(fi_close(&mc->fid));
	stage_close(&stage);
}

/* A group of one. */
static struct fid_av_set *set_of(struct stage *stage, fi_addr_t own)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
				       .end_addr = FI_ADDR_NOTAVAIL };
	struct fid_av_set *set = NULL;

	OK(fi_av_set(stage->av, &attr, &set, NULL));
	OK(fi_av_set_insert(set, own));
	return set;
}

static void test_rdm(void *arg)
{
	struct objects objects = { .count = 0 };
	struct stage stage = { 0 };
	struct fid_av_set *set;
	struct fid_mc *mc = NULL;
	struct fid_ep *alias;

	(void)arg;
	open_two(&stage, FI_EP_RDM, FI_MSG | FI_RMA | FI_COLLECTIVE);
	message(&stage, stage.ep[0], 1);
	set = set_of(&stage, stage.to);
	OK(fi_join_collective(stage.ep[1], FI_ADDR_NOTAVAIL, set, 0, &mc, NULL));
	wait_joined(&stage, mc);
	alias = alias_of(stage.ep[0]);
	keep_stage(&objects, &stage);
	keep(&objects, alias);
	keep(&objects, set);
	keep(&objects, mc);
	children(&objects);
	message(&stage, alias, 2);
	rma(&stage);
	queues(&stage);
	OK(fi_barrier(stage.ep[1], fi_mc_addr(mc), mc));
	wait_for_context(&stage, mc);
	OK(fi_close(&mc->fid));
	OK(fi_close(&set->fid));
	OK(fi_close(&alias->fid));
	stage_close(&stage);
}

int main(void)
{
	int ret = run_apart("FI_EP_MSG", test_msg, NULL);

	if (!ret)
		ret = run_apart("FI_EP_DGRAM", test_dgram, NULL);
	return ret ? ret : run_apart("FI_EP_RDM", test_rdm, NULL);
}
