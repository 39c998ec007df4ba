/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Keeps the last snapshot of the devices. */

#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "snapshot.h"
#include "src/ds/clock.h"
#include "src/ds/fork.h"
#include "watch.h"

enum { GOOD_MS = 500 }; /* lifetime, because a watch does not detect all changes */

struct shared {
	struct vrb_snapshot snapshot; /* must be first */
	unsigned int holders;
	uint64_t taken; /* in ms */
};

/* Also held while a snapshot is taken, so that no fork happens in the middle. */
OFI_FORK_MUTEX(lock, OFI_FORK_OUTER);
static struct shared *last; /* counted as one holder */
static struct vrb_watch watch = VRB_WATCH_INIT;

static void snapshot_drop(struct shared *shared)
{
	if (!shared || --shared->holders)
		return;
	vrb_snapshot_free(&shared->snapshot);
	free(shared);
}

static bool is_good(void)
{
	return last && ofi_now_ms() - last->taken < GOOD_MS &&
	       vrb_watch_same(&watch, &last->snapshot);
}

/* The caller is one holder; the cache is another one if the snapshot can be cached. */
static int snapshot_take(struct shared **shared)
{
	struct shared *new = calloc(1, sizeof(*new));
	int ret;

	snapshot_drop(last);
	last = NULL;
	if (!new)
		return -FI_ENOMEM;
	vrb_watch_begin(&watch);
	new->taken = ofi_now_ms();
	ret = vrb_snapshot_take(&new->snapshot);
	if (ret) {
		free(new);
		return ret;
	}
	new->holders = 1;
	if (vrb_watch_keep(&watch, &new->snapshot)) {
		new->holders++;
		last = new;
	}
	*shared = new;
	return 0;
}

int vrb_snapshot_get(bool fresh, const struct vrb_snapshot **snapshot)
{
	struct shared *shared = NULL;
	int ret = 0;

	pthread_mutex_lock(&lock);
	if (!fresh && is_good()) {
		shared = last;
		shared->holders++;
	} else {
		ret = snapshot_take(&shared);
	}
	pthread_mutex_unlock(&lock);
	if (!ret)
		*snapshot = &shared->snapshot;
	return ret;
}

void vrb_snapshot_put(const struct vrb_snapshot *snapshot)
{
	pthread_mutex_lock(&lock);
	snapshot_drop((struct shared *)snapshot);
	pthread_mutex_unlock(&lock);
}

void vrb_snapshot_forget(void)
{
	/* The thread that exits may be in fi_getinfo. */
	if (pthread_mutex_trylock(&lock))
		return;
	snapshot_drop(last);
	last = NULL;
	vrb_watch_end(&watch);
	pthread_mutex_unlock(&lock);
}
