/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A network of collective engines with three overlapping groups, and the operations that they run:
 * chosen by the seed, started by each member at a random time, with their expected results.
 */
#ifndef COLL_SCENE_H
#define COLL_SCENE_H

#include "coll_net.h"

#define JOBS  12
#define GUARD 8

/* One operation of a group. */
struct job {
	size_t group;
	enum fi_collective_op kind;
	enum fi_datatype datatype;
	enum fi_op op;
	size_t count, unit, root;
	bool in_place;
};

struct part {
	bool started, done;
	int err;
	uint8_t *in, *out, *want;
	size_t in_len, out_len;
};

struct team {
	size_t size;
	size_t key;    /* distinguishes groups with the same members */
	size_t id[64]; /* indexed by rank */
	struct ofi_coll_group *group[64];
	int joined[64]; /* 1 if successful, negative if failed */
};

/* The whole test; teams[0] contains everyone. */
extern struct scene {
	struct net *net;
	struct team team[3];
	struct job job[JOBS];
	struct part part[64][JOBS];
	size_t next[64];
	size_t jobs;
} scene;

void scene_open(size_t n, unsigned seed);
/* With `check`, verifies the results of successful operations and that the network is empty. */
void scene_close(bool check);
int join_one(struct team *team, size_t rank);
/* Leaves the group, which cancels its operations. */
void leave_one(struct team *team, size_t rank);
void leave_all(void);
void join_all(size_t teams);
struct job random_job(struct net *net, size_t teams);
struct ofi_coll_call job_call(const struct job *job, struct part *part);
void part_make(const struct job *job, size_t size, size_t rank, struct part *part);
void part_free(struct part *part, bool check);
/* Starts the next operation of a member; returns false if there is none. */
bool start_next(size_t id);
/* Members start operations at random; the victim, if any, dies meanwhile. */
void run_jobs(size_t victim);
void drain(void);
void all_done(bool all_well);

#endif
