/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The enabled endpoints of a domain, and the domain's thread, which sleeps until one of them has
 * work.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "src/ds/bias.h"
#include "src/ds/thread.h"
#include "prov/base/cntr.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "domain_progress.h"
#include "local.h"
#include "lock.h"

struct ofi_rdm_domain_progress {
	/* Guards the list and keeps endpoints open; taken before ep->lock. */
	struct ofi_lock lock;
	LIST_HEAD(, ofi_rdm_ep) eps;
	int epfd; /* watches the completion channels of the endpoints, and wakefd */
	int wakefd;
	bool stop; /* atomic */
	int lost;  /* the error with which the device was lost, or 0 */
	bool running;
	bool biased, with_domain; /* as in the endpoints */
	pthread_t thread;
	struct ofi_triggers *triggers; /* the domain's */
};

/* If another thread holds the lock, it makes the progress. */
static void drive_domain(void *object)
{
	struct ofi_rdm_domain_progress *progress = object;
	struct ofi_rdm_ep *ep;
	bool outside;

	if (!ofi_trylock(&progress->lock))
		return;
	outside = ofi_rdm_step_out(progress->with_domain);
	LIST_FOREACH (ep, &progress->eps, all_link)
		ep->proto.xport.ops->progress(&ep->proto);
	ofi_rdm_step_in(outside);
	ofi_unlock(&progress->lock);
}

static int domain_progress_arm(void *object)
{
	struct ofi_rdm_domain_progress *progress = object;
	struct ofi_rdm_ep *ep;
	bool outside;
	int ret = 0;

	ofi_lock(&progress->lock);
	outside = ofi_rdm_step_out(progress->with_domain);
	LIST_FOREACH (ep, &progress->eps, all_link)
		if (ep->proto.xport.ops->arm(&ep->proto))
			ret = -FI_EAGAIN;
	ofi_rdm_step_in(outside);
	ofi_unlock(&progress->lock);
	return ret;
}

static const struct ofi_cntr_source_ops source = {
	.progress = drive_domain,
	.arm = domain_progress_arm,
};

int ofi_rdm_domain_progress_watch(struct ofi_rdm_domain_progress *progress, struct ofi_cntr *cntr)
{
	return ofi_cntr_watch(cntr, &source, progress,
			      progress->running ? OFI_CNTR_SELF : progress->epfd);
}

void ofi_rdm_domain_progress_unwatch(struct ofi_rdm_domain_progress *progress,
				     struct ofi_cntr *cntr)
{
	ofi_cntr_unwatch(cntr, progress);
}

static void *progress_thread(void *arg)
{
	struct ofi_rdm_domain_progress *progress = arg;
	struct epoll_event event;
	uint64_t wakes;
	bool again;

	while (!__atomic_load_n(&progress->stop, __ATOMIC_ACQUIRE)) {
		again = domain_progress_arm(progress);
		ofi_triggers_run(progress->triggers);
		if (again || ofi_triggers_due(progress->triggers))
			sched_yield();
		else if (epoll_wait(progress->epfd, &event, 1, -1) > 0 &&
			 event.data.fd == progress->wakefd)
			(void)!read(progress->wakefd, &wakes, sizeof(wakes));
	}
	return NULL;
}

static int domain_progress_start(struct ofi_rdm_domain_progress *progress)
{
	int err = ofi_thread_start(&progress->thread, progress_thread, progress);

	progress->running = !err;
	return err;
}

static void wake_thread(struct ofi_rdm_domain_progress *progress)
{
	uint64_t one = 1;

	while (write(progress->wakefd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void ofi_rdm_domain_progress_close(struct ofi_rdm_domain_progress *progress)
{
	if (!progress)
		return;
	if (progress->running) {
		__atomic_store_n(&progress->stop, true, __ATOMIC_RELEASE);
		wake_thread(progress);
		pthread_join(progress->thread, NULL);
	}
	if (progress->wakefd >= 0)
		close(progress->wakefd);
	if (progress->epfd >= 0)
		close(progress->epfd);
	free(progress);
}

static int watch_fd(struct ofi_rdm_domain_progress *progress, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(progress->epfd, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

static int domain_progress_setup(struct ofi_rdm_domain_progress *progress, bool automatic)
{
	int err;

	progress->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (progress->epfd < 0)
		return errno;
	if (!automatic)
		return 0;
	progress->wakefd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (progress->wakefd < 0)
		return errno;
	err = watch_fd(progress, progress->wakefd);
	return err ? err : domain_progress_start(progress);
}

static bool is_serialized(enum fi_threading threading)
{
	return threading == FI_THREAD_DOMAIN || threading == FI_THREAD_COMPLETION;
}

int ofi_rdm_domain_progress_open(struct ofi_domain *domain, bool automatic)
{
	const struct fi_domain_attr *attr = domain->info->domain_attr;
	struct ofi_rdm_domain_progress *progress = calloc(1, sizeof(*progress));
	int err;

	automatic |= attr->data_progress == FI_PROGRESS_AUTO;
	if (!progress)
		return -FI_ENOMEM;
	ofi_lock_init(&progress->lock);
	LIST_INIT(&progress->eps);
	progress->triggers = &domain->triggers;
	progress->triggers->apart = attr->threading != FI_THREAD_DOMAIN;
	progress->epfd = progress->wakefd = -1;
	progress->biased = !automatic && is_serialized(attr->threading) && ofi_bias_init();
	progress->with_domain = attr->threading == FI_THREAD_DOMAIN;
	err = domain_progress_setup(progress, automatic);
	if (err) {
		FI_WARN(domain->prov, FI_LOG_DOMAIN,
			"fi_domain: starting the progress thread: %s\n", strerror(err));
		ofi_rdm_domain_progress_close(progress);
		return -err;
	}
	domain->progress = progress;
	return 0;
}

bool ofi_rdm_domain_progress_biased(const struct ofi_rdm_domain_progress *progress)
{
	return progress->biased;
}

/*
 * Deferred work and collectives may progress in any thread that is in the domain, so the bias then
 * requires that the application serializes all calls on the domain.
 */
void ofi_rdm_domain_progress_bias(const struct ofi_rdm_domain_progress *progress,
				  struct ofi_rdm_ep *ep)
{
	/* The endpoints of a shared receive context have one lock. */
	bool shared = ep->info->ep_attr && ep->info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
	/* Contexts of a scalable endpoint may be stricter than their domain. */
	bool safe = ep->info->domain_attr && ep->info->domain_attr->threading == FI_THREAD_SAFE;

	ep->with_domain = progress->with_domain;
	ep->biased = progress->biased && !shared && !safe &&
		     (progress->with_domain || !(ep->info->caps & (FI_TRIGGER | FI_COLLECTIVE)));
}

/*
 * Makes events of the new endpoint wake the thread, which may be asleep. If that is not possible
 * now, the thread polls.
 */
int ofi_rdm_domain_progress_add(struct ofi_rdm_domain_progress *progress, struct ofi_rdm_ep *ep)
{
	int err = watch_fd(progress, ep->fd);

	if (err)
		return -err;
	ofi_lock(&progress->lock);
	LIST_INSERT_HEAD(&progress->eps, ep, all_link);
	ep->in_all = true;
	err = progress->lost;
	ofi_unlock(&progress->lock);
	if (progress->running && ep->proto.xport.ops->arm(&ep->proto))
		wake_thread(progress);
	return -err;
}

void ofi_rdm_domain_progress_remove(struct ofi_rdm_domain_progress *progress, struct ofi_rdm_ep *ep)
{
	if (!ep->in_all)
		return;
	ofi_lock(&progress->lock);
	LIST_REMOVE(ep, all_link);
	ep->in_all = false;
	ofi_unlock(&progress->lock);
	epoll_ctl(progress->epfd, EPOLL_CTL_DEL, ep->fd, NULL);
}

void ofi_rdm_domain_progress_forget(struct ofi_rdm_domain_progress *progress, const void *desc)
{
	struct ofi_rdm_ep *ep;
	bool outside;

	ofi_lock(&progress->lock);
	outside = ofi_rdm_step_out(progress->with_domain);
	LIST_FOREACH (ep, &progress->eps, all_link)
		ofi_rdm_region_forget(ep, desc);
	ofi_rdm_step_in(outside);
	ofi_unlock(&progress->lock);
}

void ofi_rdm_domain_progress_lost(struct ofi_rdm_domain_progress *progress, const void *of, int err)
{
	struct ofi_rdm_ep *ep;

	if (!progress)
		return;
	ofi_lock(&progress->lock);
	if (!of)
		progress->lost = err;
	LIST_FOREACH (ep, &progress->eps, all_link)
		if (!of || of == ep)
			ep->proto.xport.ops->lost(ep, err);
	ofi_unlock(&progress->lock);
}
