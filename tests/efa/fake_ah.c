/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Address handles of the fake adapter. To destroy one aborts what is sent with others of the
 * protection domain for the same GID, so that nobody may do that before the work requests are gone.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fake.h"

enum { HANDLES = 4096 };

static struct handle {
	const struct ibv_ah *ah; /* NULL: the place is free */
	const struct ibv_pd *pd;
	union ibv_gid gid;
} handles[HANDLES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns HANDLES if there is none. */
static int find(const struct ibv_ah *ah)
{
	int i;

	for (i = 0; i < HANDLES && handles[i].ah != ah; i++)
		;
	return i;
}

static bool is_alone(int at)
{
	int i;

	for (i = 0; i < HANDLES; i++)
		if (i != at && handles[i].ah && handles[i].pd == handles[at].pd &&
		    !memcmp(&handles[i].gid, &handles[at].gid, sizeof(handles[at].gid)))
			return false;
	return true;
}

/* These replace the functions of libibverbs. */
#pragma GCC visibility push(default)

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *(*call)(struct ibv_pd *, struct ibv_ah_attr *) =
		dlsym(RTLD_NEXT, "ibv_create_ah");
	struct ibv_ah *ah = call(pd, attr);
	int at;

	if (!ah)
		return NULL;
	pthread_mutex_lock(&lock);
	at = find(NULL);
	if (at < HANDLES)
		handles[at] = (struct handle){ .ah = ah, .pd = pd, .gid = attr->grh.dgid };
	pthread_mutex_unlock(&lock);
	return ah;
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
	int (*call)(struct ibv_ah *) = dlsym(RTLD_NEXT, "ibv_destroy_ah");
	int at;

	pthread_mutex_lock(&lock);
	at = find(ah);
	if (at < HANDLES && !is_alone(at)) {
		fprintf(stderr, "fake efa: another address handle for the GID of one destroyed\n");
		abort();
	}
	if (at < HANDLES)
		handles[at].ah = NULL;
	pthread_mutex_unlock(&lock);
	return call(ah);
}

#pragma GCC visibility pop
