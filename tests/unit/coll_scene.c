/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collective operations of members on a simulated network, and their expected results. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include "prov/base/reduce.h"
#include "coll_scene.h"

struct scene scene;

static void on_done(struct net_member *member, const struct ofi_coll_done *done)
{
	struct part *part = done->context;
	int *joined = done->context;

	if (done->join) {
		assert_int_equal(*joined, 0);
		*joined = done->err ? -done->err : 1;
		assert_int_equal(ofi_coll_addr(done->group) == FI_ADDR_NOTAVAIL, !!done->err);
		return;
	}
	assert_true(part >= scene.part[member->id] && part < scene.part[member->id] + JOBS);
	assert_int_equal(done->kind, scene.job[part - scene.part[member->id]].kind);
	assert_false(part->done);
	part->done = true;
	part->err = done->err;
}

static void progress_all(void)
{
	for (size_t i = 0; i < scene.net->count; i++)
		if (!scene.net->member[i].dead)
			ofi_coll_progress(scene.net->member[i].coll);
}

void drain(void)
{
	do {
		progress_all();
	} while (net_step(scene.net));
	scene.net->calm = true;
	do {
		progress_all();
	} while (net_step(scene.net));
	scene.net->calm = false;
}

static uint64_t team_digest(const struct team *team)
{
	uint64_t digest = ofi_coll_digest(OFI_COLL_DIGEST, &team->key, sizeof(team->key));

	for (size_t i = 0; i < team->size; i++)
		digest = ofi_coll_digest(digest, &team->id[i], sizeof(team->id[i]));
	return digest;
}

int join_one(struct team *team, size_t rank)
{
	fi_addr_t addr[64];
	struct ofi_coll_members members = {
		.addr = addr,
		.count = team->size,
		.rank = rank,
		.digest = team_digest(team),
	};

	for (size_t i = 0; i < team->size; i++)
		addr[i] = net_addr(team->id[i]);
	return ofi_coll_join(scene.net->member[team->id[rank]].coll, &members, &team->joined[rank],
			     &team->group[rank]);
}

/* All teams at once, each member in an order of its own. */
void join_all(size_t teams)
{
	size_t left = 0;

	for (size_t t = 0; t < teams; t++)
		left += scene.team[t].group[0] ? 0 : scene.team[t].size;
	while (left) {
		struct team *team = &scene.team[net_random(scene.net, (unsigned)teams)];
		size_t rank = net_random(scene.net, (unsigned)team->size);

		if (!team->group[rank]) {
			assert_int_equal(join_one(team, rank), 0);
			left--;
		}
		if (net_random(scene.net, 2))
			net_step(scene.net);
	}
	drain();
	for (size_t t = 0; t < teams; t++)
		for (size_t i = 0; i < scene.team[t].size; i++) {
			assert_int_equal(scene.team[t].joined[i], 1);
			assert_int_equal(ofi_coll_addr(scene.team[t].group[i]),
					 ofi_coll_addr(scene.team[t].group[0]));
		}
}

static void team_shuffle(struct team *team, size_t key, size_t size)
{
	size_t n = scene.net->count, all[64];

	memset(team, 0, sizeof(*team));
	for (size_t i = 0; i < n; i++)
		all[i] = i;
	for (size_t i = 0; i < size; i++) {
		size_t j = i + net_random(scene.net, (unsigned)(n - i)), id = all[j];

		all[j] = all[i];
		team->id[i] = all[i] = id;
	}
	team->size = size;
	team->key = key;
}

/* Element i of what a rank gives: small, so that sums and products are exact in every type. */
static int element(const struct job *job, size_t rank, size_t i)
{
	unsigned x = (unsigned)(rank * 31 + i * 7 + job->count + job->root) * 2654435761u >> 24;

	return job->op == FI_PROD ? (x % 16 ? 1 : 2) : (int)(x % 3);
}

static void store(enum fi_datatype type, uint8_t *at, int value)
{
	union {
		int64_t i[2];
		float f[2];
		double d[2];
		long double l[2];
	} v = { { 0 } };

	switch (type) {
	case FI_FLOAT:
	case FI_FLOAT_COMPLEX:
		v.f[0] = (float)value;
		break;
	case FI_DOUBLE:
	case FI_DOUBLE_COMPLEX:
		v.d[0] = value;
		break;
	case FI_LONG_DOUBLE:
	case FI_LONG_DOUBLE_COMPLEX:
		v.l[0] = value;
		break;
	default:
		v.i[0] = value;
		break;
	}
	memcpy(at, &v, ofi_datatype_size(type));
}

/* Elements of a rank's array from `first` on. */
static void fill(const struct job *job, size_t rank, size_t first, size_t count, uint8_t *at)
{
	for (size_t i = 0; i < count; i++)
		store(job->datatype, at + i * job->unit, element(job, rank, first + i));
}

/* Everyone's input reduced, from the lowest rank up. */
static void fold(const struct job *job, size_t size, size_t first, size_t count, uint8_t *at)
{
	uint8_t *more = test_malloc(count * job->unit + 1);

	fill(job, 0, first, count, at);
	for (size_t rank = 1; rank < size; rank++) {
		fill(job, rank, first, count, more);
		ofi_reduce_find(job->datatype, job->op)(at, more, count);
	}
	test_free(more);
}

static size_t in_count(const struct job *job, size_t size)
{
	return job->kind == FI_ALLTOALL || job->kind == FI_REDUCE_SCATTER || job->kind == FI_SCATTER
		       ? job->count * size
		       : job->count;
}

static size_t out_count(const struct job *job, size_t size)
{
	return job->kind == FI_ALLTOALL || job->kind == FI_ALLGATHER || job->kind == FI_GATHER
		       ? job->count * size
		       : job->count;
}

/* What a member should have in the end; false when it gets nothing. */
static bool expect(const struct job *job, size_t size, size_t rank, uint8_t *want)
{
	size_t count = job->count;
	bool gets = true;

	switch (job->kind) {
	case FI_BROADCAST:
		fill(job, job->root, 0, count, want);
		break;
	case FI_ALLREDUCE:
	case FI_REDUCE:
		gets = job->kind == FI_ALLREDUCE || rank == job->root;
		if (gets)
			fold(job, size, 0, count, want);
		break;
	case FI_REDUCE_SCATTER:
		fold(job, size, rank * count, count, want);
		break;
	case FI_SCATTER:
		fill(job, job->root, rank * count, count, want);
		break;
	case FI_ALLTOALL:
		for (size_t i = 0; i < size; i++)
			fill(job, i, rank * count, count, want + i * count * job->unit);
		break;
	case FI_ALLGATHER:
	case FI_GATHER:
		gets = job->kind == FI_ALLGATHER || rank == job->root;
		for (size_t i = 0; i < size && gets; i++)
			fill(job, i, 0, count, want + i * count * job->unit);
		break;
	default:
		gets = false;
		break;
	}
	return gets;
}

void part_make(const struct job *job, size_t size, size_t rank, struct part *part)
{
	size_t in = in_count(job, size) * job->unit, out = out_count(job, size) * job->unit;
	bool broadcast = job->kind == FI_BROADCAST;

	memset(part, 0, sizeof(*part));
	part->in_len = in;
	part->out_len = out;
	part->want = test_malloc(out + 1);
	part->in = test_malloc((in > out ? in : out) + GUARD);
	part->out = job->in_place ? part->in : test_malloc(out + GUARD);
	memset(part->in, 0xa5, (in > out ? in : out) + GUARD);
	memset(part->out, 0xa5, out + GUARD);
	if (broadcast && rank == job->root)
		fill(job, rank, 0, job->count, part->out);
	else if (!broadcast)
		fill(job, rank, 0, in_count(job, size), part->in);
	if (!expect(job, size, rank, part->want))
		part->out_len = 0;
}

void part_free(struct part *part, bool check)
{
	uint8_t guard[GUARD];

	memset(guard, 0xa5, sizeof(guard));
	if (check && part->out_len) {
		assert_memory_equal(part->out, part->want, part->out_len);
		assert_memory_equal(part->out +
					    (part->out == part->in && part->in_len > part->out_len
						     ? part->in_len
						     : part->out_len),
				    guard, GUARD);
	}
	if (part->out != part->in)
		test_free(part->out);
	test_free(part->in);
	test_free(part->want);
	memset(part, 0, sizeof(*part));
}

struct job random_job(struct net *net, size_t teams)
{
	struct job job = {
		.group = net_random(net, (unsigned)teams),
		.kind = net_random(net, FI_GATHER + 1),
		.op = FI_NOOP,
		.datatype = FI_VOID,
		.unit = 0,
	};
	size_t size = scene.team[job.group].size;

	job.root = net_random(net, (unsigned)size);
	if (job.kind == FI_BARRIER)
		return job;
	do {
		job.datatype = net_random(net, FI_UINT128 + 1);
		job.op = net_random(net, FI_BXOR + 1);
	} while (!ofi_reduce_find(job.datatype, job.op));
	if (job.kind != FI_ALLREDUCE && job.kind != FI_REDUCE && job.kind != FI_REDUCE_SCATTER)
		job.op = net_random(net, 2) ? FI_NOOP : FI_ATOMIC_WRITE;
	job.unit = ofi_datatype_size(job.datatype);
	job.count = net_random(net, 8) ? net_random(net, 20) : 300 + net_random(net, 6000);
	if (job.count > 20 && job.kind != FI_ALLREDUCE && size > 8)
		job.count /= 10;
	job.in_place = job.kind != FI_BROADCAST && !net_random(net, 4);
	return job;
}

static size_t team_rank(const struct team *team, size_t id)
{
	size_t rank;

	for (rank = 0; rank < team->size && team->id[rank] != id; rank++)
		;
	return rank;
}

struct ofi_coll_call job_call(const struct job *job, struct part *part)
{
	return (struct ofi_coll_call){
		.kind = job->kind,
		.buf = part->in,
		.result = part->out,
		.count = job->count,
		.datatype = job->datatype,
		.op = job->op,
		.root = net_addr(scene.team[job->group].id[job->root]),
		.context = part,
	};
}

bool start_next(size_t id)
{
	struct job *job = &scene.job[scene.next[id]];
	struct part *part = &scene.part[id][scene.next[id]];
	struct ofi_coll_call call;
	struct team *team;
	size_t rank;

	if (scene.next[id] == scene.jobs || scene.net->member[id].dead)
		return false;
	scene.next[id]++;
	team = &scene.team[job->group];
	rank = team_rank(team, id);
	if (rank == team->size)
		return true;
	part_make(job, team->size, rank, part);
	call = job_call(job, part);
	assert_int_equal(
		ofi_coll_start(scene.net->member[id].coll, ofi_coll_addr(team->group[rank]), &call),
		0);
	part->started = true;
	return true;
}

void scene_open(size_t n, unsigned seed)
{
	memset(&scene, 0, sizeof(scene));
	scene.net = net_new(n, seed);
	for (size_t i = 0; i < n; i++)
		scene.net->member[i].done = on_done;
	for (size_t t = 0; t < 3; t++)
		team_shuffle(&scene.team[t], t, t ? 1 + net_random(scene.net, (unsigned)n) : n);
}

void leave_one(struct team *team, size_t rank)
{
	while (!ofi_coll_leave(team->group[rank]))
		net_step(scene.net);
	team->group[rank] = NULL;
	team->joined[rank] = 0;
}

void leave_all(void)
{
	for (size_t t = 0; t < 3; t++)
		for (size_t i = 0; i < scene.team[t].size; i++)
			if (scene.team[t].group[i] && !scene.net->member[scene.team[t].id[i]].dead)
				leave_one(&scene.team[t], i);
}

void scene_close(bool check)
{
	struct part *part;

	leave_all();
	for (size_t i = 0; i < scene.net->count; i++)
		for (size_t j = 0; j < scene.jobs; j++) {
			part = &scene.part[i][j];
			assert_true(!check || !part->started || part->done);
			if (part->started)
				part_free(part, part->done && !part->err);
		}
	for (size_t i = 0; i < scene.net->count; i++)
		assert_true(scene.net->member[i].dead || scene.net->busy ||
			    TAILQ_EMPTY(&scene.net->member[i].waiting));
	assert_true(!check || net_empty(scene.net));
	net_free(scene.net);
}

void run_jobs(size_t victim)
{
	size_t n = scene.net->count, left = n * scene.jobs, death = net_random(scene.net, 400);

	for (size_t i = 0; i < scene.jobs; i++)
		scene.job[i] = random_job(scene.net, 3);
	while (left) {
		size_t id = net_random(scene.net, (unsigned)n);

		if (!net_random(scene.net, 3) && start_next(id))
			left--;
		if (!net_random(scene.net, 4) && !scene.net->member[id].dead)
			ofi_coll_progress(scene.net->member[id].coll);
		net_step(scene.net);
		if (victim < n && !scene.net->member[victim].dead && !death--) {
			left -= scene.jobs - scene.next[victim];
			net_kill(scene.net, victim);
		}
	}
	drain();
}

void all_done(bool all_well)
{
	for (size_t i = 0; i < scene.net->count; i++)
		for (size_t j = 0; j < scene.jobs && !scene.net->member[i].dead; j++) {
			struct part *part = &scene.part[i][j];

			assert_int_equal(part->started, part->done);
			if (all_well)
				assert_int_equal(part->err, 0);
		}
}
