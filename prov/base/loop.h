/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fabric's event thread, asleep unless something happens: connection manager events and the
 * asynchronous events of its devices become fsm steps and EQ entries here, whether or not the
 * application polls.
 */
#ifndef OFI_LOOP_H
#define OFI_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <rdma/providers/fi_prov.h>

/* One descriptor of interest and what to do when it is readable. Lives as long as it is added. */
struct ofi_source {
	LIST_ENTRY(ofi_source) link; /* loop->sources */
	int fd;
	void (*ready)(struct ofi_source *source);
};

struct ofi_loop {
	const struct fi_provider *prov;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t idle;   /* current is NULL again */
	LIST_HEAD(, ofi_source) sources;
	struct ofi_source *current; /* its ready() is running */
	pthread_t thread;
	pid_t pid; /* of the process that has the thread, 0 when it does not run */
	bool stop;
	int epfd, wakefd;
};

/* 0 or -FI_E*, logged for the provider. */
int ofi_loop_init(struct ofi_loop *loop, const struct fi_provider *prov);
/* Stops the thread. Every source has been removed before. */
void ofi_loop_fini(struct ofi_loop *loop);
/* Watches a source; starts the thread at first use. 0 or -FI_E*. */
int ofi_loop_add(struct ofi_loop *loop, struct ofi_source *source);
/*
 * After this ready() is neither running nor called again. A source that is not added is ignored.
 * Not to be called with a lock that ready() takes; safe from ready() itself.
 */
void ofi_loop_remove(struct ofi_loop *loop, struct ofi_source *source);

#endif
