/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fabric's event thread, asleep unless something happens: connection manager events and the
 * asynchronous events of its devices become fsm steps and EQ entries here, whether or not the
 * application polls.
 */
#ifndef VRB_LOOP_H
#define VRB_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

/* One descriptor of interest and what to do when it is readable. Lives as long as it is added. */
struct vrb_source {
	LIST_ENTRY(vrb_source) link; /* loop->sources */
	int fd;
	void (*ready)(struct vrb_source *source);
};

struct vrb_loop {
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t idle;   /* current is NULL again */
	LIST_HEAD(, vrb_source) sources;
	struct vrb_source *current; /* its ready() is running */
	pthread_t thread;
	pid_t pid; /* of the process that has the thread, 0 when it does not run */
	bool stop;
	int epfd, wakefd;
};

int vrb_loop_init(struct vrb_loop *loop);
/* Stops the thread. Every source has been removed before. */
void vrb_loop_fini(struct vrb_loop *loop);
/* Watches a source; starts the thread at first use. 0 or -FI_E*. */
int vrb_loop_add(struct vrb_loop *loop, struct vrb_source *source);
/*
 * After this ready() is neither running nor called again. A source that is not added is ignored.
 * Not to be called with a lock that ready() takes; safe from ready() itself.
 */
void vrb_loop_remove(struct vrb_loop *loop, struct vrb_source *source);

#endif
