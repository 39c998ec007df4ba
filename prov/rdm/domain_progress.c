/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The enabled endpoints of a domain, and the domain's thread, which sleeps until one of them has
 * work.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "src/ds/bias.h"
#include "prov/base/cntr.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "domain_progress.h"
#include "lock.h"
#include "complete.h"

struct ofi_rdm_domain_progress {
	/* Guards the list and keeps endpoints open; taken before ep->lock. */
	struct ofi_lock lock;
	LIST_HEAD(, ofi_rdm_ep) eps;
	int epfd; /* watches the completion channels of the endpoints, and wakefd */
	int wakefd;
	bool stop; /* atomic */
	bool running;
	bool biased, with_domain; /* as in the endpoints */
	pthread_t thread;
	struct ofi_triggers *triggers; /* the domain's */
};

/* If another thread holds the lock, it makes the progress. */
static void drive_domain(void *object)
{
	struct ofi_rdm_domain_progress *all = object;
	struct ofi_rdm_ep *ep;
	bool outside;

	if (!ofi_trylock(&all->lock))
		return;
	outside = ofi_rdm_step_out(all->with_domain);
	LIST_FOREACH (ep, &all->eps, all_link)
		ep->proto.xport.ops->progress(&ep->proto);
	ofi_rdm_step_in(outside);
	ofi_unlock(&all->lock);
}

static int domain_progress_arm(void *object)
{
	struct ofi_rdm_domain_progress *all = object;
	struct ofi_rdm_ep *ep;
	bool outside;
	int ret = 0;

	ofi_lock(&all->lock);
	outside = ofi_rdm_step_out(all->with_domain);
	LIST_FOREACH (ep, &all->eps, all_link)
		if (ep->proto.xport.ops->arm(&ep->proto))
			ret = -FI_EAGAIN;
	ofi_rdm_step_in(outside);
	ofi_unlock(&all->lock);
	return ret;
}

static const struct ofi_cntr_source_ops source = {
	.progress = drive_domain,
	.arm = domain_progress_arm,
};

int ofi_rdm_domain_progress_watch(struct ofi_rdm_domain_progress *all, struct ofi_cntr *cntr)
{
	return ofi_cntr_watch(cntr, &source, all, all->epfd);
}

void ofi_rdm_domain_progress_unwatch(struct ofi_rdm_domain_progress *all, struct ofi_cntr *cntr)
{
	ofi_cntr_unwatch(cntr, all);
}

static void *progress_thread(void *arg)
{
	struct ofi_rdm_domain_progress *all = arg;
	struct epoll_event event;
	bool again;

	while (!__atomic_load_n(&all->stop, __ATOMIC_ACQUIRE)) {
		again = domain_progress_arm(all);
		ofi_triggers_run(all->triggers);
		if (again || ofi_triggers_due(all->triggers))
			sched_yield();
		else
			epoll_wait(all->epfd, &event, 1, -1);
	}
	return NULL;
}

/* Signals for the application must not be delivered to this thread. */
static int domain_progress_start(struct ofi_rdm_domain_progress *all)
{
	sigset_t every, before;
	int err;

	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	err = pthread_create(&all->thread, NULL, progress_thread, all);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	all->running = !err;
	return err;
}

static void wake_thread(struct ofi_rdm_domain_progress *all)
{
	uint64_t one = 1;

	while (write(all->wakefd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void ofi_rdm_domain_progress_close(struct ofi_rdm_domain_progress *all)
{
	if (!all)
		return;
	if (all->running) {
		__atomic_store_n(&all->stop, true, __ATOMIC_RELEASE);
		wake_thread(all);
		pthread_join(all->thread, NULL);
	}
	if (all->wakefd >= 0)
		close(all->wakefd);
	if (all->epfd >= 0)
		close(all->epfd);
	free(all);
}

static int watch_fd(struct ofi_rdm_domain_progress *all, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(all->epfd, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

static int domain_progress_setup(struct ofi_rdm_domain_progress *all, bool automatic)
{
	int err;

	all->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (all->epfd < 0)
		return errno;
	if (!automatic)
		return 0;
	all->wakefd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (all->wakefd < 0)
		return errno;
	err = watch_fd(all, all->wakefd);
	return err ? err : domain_progress_start(all);
}

static bool is_serialized(enum fi_threading threading)
{
	return threading == FI_THREAD_DOMAIN || threading == FI_THREAD_COMPLETION;
}

int ofi_rdm_domain_progress_open(struct ofi_domain *domain, bool automatic)
{
	const struct fi_domain_attr *attr = domain->info->domain_attr;
	struct ofi_rdm_domain_progress *all = calloc(1, sizeof(*all));
	int err;

	automatic |= attr->data_progress == FI_PROGRESS_AUTO;
	if (!all)
		return -FI_ENOMEM;
	ofi_lock_init(&all->lock);
	LIST_INIT(&all->eps);
	all->triggers = &domain->triggers;
	all->epfd = all->wakefd = -1;
	all->biased = !automatic && is_serialized(attr->threading) && ofi_bias_init();
	all->with_domain = attr->threading == FI_THREAD_DOMAIN;
	err = domain_progress_setup(all, automatic);
	if (err) {
		FI_WARN(domain->prov, FI_LOG_DOMAIN,
			"fi_domain: starting the progress thread: %s\n", strerror(err));
		ofi_rdm_domain_progress_close(all);
		return -err;
	}
	domain->progress = all;
	return 0;
}

bool ofi_rdm_domain_progress_biased(const struct ofi_rdm_domain_progress *all)
{
	return all->biased;
}

/*
 * Deferred work and collectives may progress in any thread that is in the domain, so the bias then
 * requires that the application serializes all calls on the domain.
 */
void ofi_rdm_domain_progress_bias(const struct ofi_rdm_domain_progress *all, struct ofi_rdm_ep *ep)
{
	/* The endpoints of a shared receive context have one lock. */
	bool shared = ep->info->ep_attr && ep->info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
	/* Contexts of a scalable endpoint may be stricter than their domain. */
	bool safe = ep->info->domain_attr && ep->info->domain_attr->threading == FI_THREAD_SAFE;

	ep->with_domain = all->with_domain;
	ep->biased = all->biased && !shared && !safe &&
		     (all->with_domain || !(ep->info->caps & (FI_TRIGGER | FI_COLLECTIVE)));
}

/* Wakes the thread, which may be asleep and unaware of the new endpoint. */
int ofi_rdm_domain_progress_add(struct ofi_rdm_domain_progress *all, struct ofi_rdm_ep *ep)
{
	int err = watch_fd(all, ep->fd);

	if (err)
		return -err;
	ofi_lock(&all->lock);
	LIST_INSERT_HEAD(&all->eps, ep, all_link);
	ep->in_all = true;
	ofi_unlock(&all->lock);
	if (all->running)
		ep->proto.xport.ops->arm(&ep->proto);
	return 0;
}

void ofi_rdm_domain_progress_remove(struct ofi_rdm_domain_progress *all, struct ofi_rdm_ep *ep)
{
	if (!ep->in_all)
		return;
	ofi_lock(&all->lock);
	LIST_REMOVE(ep, all_link);
	ep->in_all = false;
	ofi_unlock(&all->lock);
	epoll_ctl(all->epfd, EPOLL_CTL_DEL, ep->fd, NULL);
}

void ofi_rdm_domain_progress_lost(struct ofi_rdm_domain_progress *all, const void *of, int err)
{
	struct ofi_rdm_ep *ep;

	if (!all)
		return;
	ofi_lock(&all->lock);
	LIST_FOREACH (ep, &all->eps, all_link)
		if (!of || of == ep)
			ep->proto.xport.ops->lost(ep, err);
	ofi_unlock(&all->lock);
}
