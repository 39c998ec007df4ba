/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fabric's event thread, which sleeps unless something happens. It turns connection manager
 * events and asynchronous device events into state machine steps and EQ entries, whether or not the
 * application polls.
 */
#ifndef OFI_LOOP_H
#define OFI_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <rdma/providers/fi_prov.h>

/*
 * A descriptor and the function to call when it is readable. It must stay valid while it is added.
 */
struct ofi_source {
	LIST_ENTRY(ofi_source) link; /* loop->sources */
	int fd;
	void (*ready)(struct ofi_source *source);
};

struct ofi_loop {
	const struct fi_provider *prov;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t idle;   /* signals that current is NULL again */
	LIST_HEAD(, ofi_source) sources;
	struct ofi_source *current; /* the source whose ready() is running */
	pthread_t thread;
	pid_t pid; /* the process in which the thread runs; 0 if it does not run */
	bool stop;
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

#endif
