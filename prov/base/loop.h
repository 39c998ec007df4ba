/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fabric's event thread, which sleeps unless something happens. It turns connection manager
 * events and asynchronous device events into state machine steps and EQ entries, whether or not the
 * application polls.
 */
#ifndef OFI_LOOP_H
#define OFI_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <rdma/providers/fi_prov.h>
#include "src/ds/lock.h"

/* How long threads of the application keep a source that they claimed, in ms. */
enum { OFI_LOOP_CLAIM_MS = 10 };

/*
 * A descriptor and the function to call when it is readable. It must stay valid until it is
 * removed.
 *
 * Waking the event thread, which then wakes a thread of the application, takes longer than ready()
 * often does. A thread that waits for the outcome can therefore claim a shared source and call
 * ready() itself. The event thread takes the source back when the claim expires.
 */
struct ofi_source {
	LIST_ENTRY(ofi_source) link; /* loop->sources */
	int fd;
	void (*ready)(struct ofi_source *source);
	bool idle;	      /* true if the last ready() found nothing; ready() sets it; atomic */
	bool shared;	      /* ready() can run in any thread that holds the lock; atomic */
	struct ofi_lock lock; /* held while ready() of a shared source runs */
	bool claimed;	      /* the event thread does not watch it; atomic */
	uint64_t claimed_at;  /* in ms; atomic */
};

struct ofi_loop {
	const struct fi_provider *prov;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t idle;   /* signals that current is NULL again */
	LIST_HEAD(, ofi_source) sources;
	struct ofi_source *current; /* the source whose ready() is running */
	pthread_t thread;
	uint64_t process; /* the process in which the thread runs; 0 if it does not run */
	bool stop;
	int claims; /* number of claimed sources */
	int epfd, wakefd;
};

/* Returns 0 or -FI_E*; failures are logged for the provider. */
int ofi_loop_init(struct ofi_loop *loop, const struct fi_provider *prov);
/* Stops the thread. All sources have been removed. */
void ofi_loop_fini(struct ofi_loop *loop);
/* Watches a source and starts the thread if it does not run. Returns 0 or -FI_E*. */
int ofi_loop_add(struct ofi_loop *loop, struct ofi_source *source);
/*
 * Removes a source: ready() is then neither running nor called again. Ignores a source that was not
 * added. Must not be called with a lock that ready() takes; may be called from ready() itself.
 */
void ofi_loop_remove(struct ofi_loop *loop, struct ofi_source *source);
/*
 * Lets threads of the application serve a shared source for OFI_LOOP_CLAIM_MS from `now`. They do
 * so with ofi_loop_wait() and ofi_loop_serve(). Ignores a source that is not shared.
 */
void ofi_loop_claim(struct ofi_loop *loop, struct ofi_source *source, uint64_t now);
/*
 * Waits until fd or a claimed source is readable, but no longer than ms or than a claim lasts. Does
 * not wait if the source was ready last time. Returns 0, -FI_ETIMEDOUT after ms, or -errno.
 */
int ofi_loop_wait(const struct ofi_source *source, int fd, int ms);
/* Returns true if this thread may serve the source now. */
bool ofi_loop_claimed(const struct ofi_loop *loop, const struct ofi_source *source);
/* Serves a claimed source in this thread, if it is ready. */
void ofi_loop_serve(struct ofi_source *source);
/* From now on only the event thread calls ready(), as for a source that was not shared. */
void ofi_loop_unshare(struct ofi_loop *loop, struct ofi_source *source);

#endif
