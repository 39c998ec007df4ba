/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Watches memory for changes with userfaultfd: the watched ranges, and the two threads that serve
 * the users.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "maps.h"
#include "monitor.h"
#include "src/ds/fork.h"
#include "src/ds/thread.h"

#define EVENTS (UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP)

#define MOVES	 16   /* moved ranges in one batch of events */
#define RECOUNT	 1024 /* watches after which the process's mappings are counted again */
#define ATTEMPTS 64   /* attempts to unwatch pieces of a range that others have mapped into */

#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

struct range {
	uintptr_t start, end;
};

/*
 * The reader thread takes the mutex, the users' locks and `ranges`, so nobody may wait for an event
 * while holding one of them. The janitor thread frees memory, which may have to wait for an event:
 * that is why it is a separate thread.
 */
struct ofi_monitor_hub {
	pthread_mutex_t life;	/* serializes start and end; taken first */
	pthread_mutex_t ranges; /* serializes changes of watched ranges; taken second; guards: */
	unsigned int watches;
	bool crowded;	       /* the process has more than half of the mappings it may have */
	pthread_mutex_t mutex; /* guards the rest; taken before the users' locks */
	pthread_cond_t turn;
	LIST_HEAD(, ofi_monitor) users;
	struct ofi_monitor *tidied; /* the monitor whose tidy() is running */
	bool stop;
	bool alone; /* belongs to one user and is freed with it */
	int fd, stopfd;
	/* Number of forks that led to this process: an older monitor is the parent's. */
	unsigned int epoch;
	pthread_t reader, janitor;
};

#define HUB_INIT                                                                                \
	{                                                                                       \
		.life = PTHREAD_MUTEX_INITIALIZER, .ranges = PTHREAD_MUTEX_INITIALIZER,         \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER, .fd = -1, \
		.stopfd = -1                                                                    \
	}

static struct ofi_monitor_hub process_hub = HUB_INIT;
OFI_FORK_MUTEX(fds_lock, OFI_FORK_INNER); /* held while the descriptors come and go */

/*
 * The child watches nothing. If it kept the descriptor open, the parent's memory would stay watched
 * after the parent closes it, and a thread that unmaps there would wait forever for a reader. The
 * locks are new, because threads of the parent may hold the old ones.
 */
static void in_child(void)
{
	const unsigned int epoch = process_hub.epoch + 1;

	if (process_hub.fd >= 0)
		close(process_hub.fd);
	if (process_hub.stopfd >= 0)
		close(process_hub.stopfd);
	process_hub = (struct ofi_monitor_hub)HUB_INIT;
	process_hub.epoch = epoch;
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static bool is_parents(const struct ofi_monitor *monitor)
{
	return monitor->epoch != monitor->hub->epoch;
}

/*
 * Opens a userfaultfd descriptor for events. These require no privilege, unlike handling faults
 * that occur in the kernel (UFFD_USER_MODE_ONLY), but kernels before 5.11 do not distinguish the
 * two. If the system call is refused, /dev/userfaultfd may be available. If the system call does
 * not exist, events must not be used at all: that is the case under valgrind, which runs one thread
 * at a time, so a thread that unmaps would wait for the reader forever.
 */
static int new_fd(void)
{
	const int flags = O_CLOEXEC | O_NONBLOCK;
	int fd = (int)syscall(SYS_userfaultfd, flags | UFFD_USER_MODE_ONLY), dev, err;

	if (fd < 0 && errno == EINVAL)
		fd = (int)syscall(SYS_userfaultfd, flags);
	if (fd >= 0)
		return fd;
	err = errno;
	dev = err == EPERM ? open("/dev/userfaultfd", O_RDWR | O_CLOEXEC) : -1;
	if (dev < 0)
		return -err;
	fd = ioctl(dev, USERFAULTFD_IOC_NEW, flags);
	close(dev);
	return fd < 0 ? -err : fd;
}

static int uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = EVENTS };
	int fd = new_fd();

	if (fd < 0)
		return fd;
	if (!ioctl(fd, UFFDIO_API, &api) && (api.features & EVENTS) == EVENTS)
		return fd;
	close(fd);
	return -FI_EOPNOTSUPP;
}

/*
 * Registers write protection that is never switched on: unlike with registration for missing pages,
 * no access ever waits for us.
 */
static int enroll_range(const struct ofi_monitor_hub *hub, uintptr_t start, uintptr_t end,
			uint64_t *ioctls)
{
	struct uffdio_register reg = {
		.range = { .start = start, .len = end - start },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	int ret = ioctl(hub->fd, UFFDIO_REGISTER, &reg) ? -errno : 0;

	*ioctls = reg.ioctls;
	return ret;
}

/*
 * Anyone may have unmapped the range and mapped it again since. Kernels before 6.17 let us
 * unregister memory from a userfaultfd of the application, but refuse to register that memory for
 * us, so registration is tried first.
 */
static void monitor_release(const struct ofi_monitor_hub *hub, uintptr_t start, uintptr_t end,
			    int *attempts)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct uffdio_range range = { .start = start, .len = end - start };
	uintptr_t middle = start + (end - start) / 2 / page * page;
	uint64_t ioctls;

	if (!enroll_range(hub, start, end, &ioctls)) {
		ioctl(hub->fd, UFFDIO_UNREGISTER, &range);
	} else if (middle > start && --*attempts > 0) {
		monitor_release(hub, start, middle, attempts);
		monitor_release(hub, middle, end, attempts);
	}
}

/*
 * Narrows the range to its first part that a user wants, or to nothing at its end if there is none.
 */
static void find_wanted(struct ofi_monitor_hub *hub, struct range *range)
{
	struct range first = { range->end, range->end }, mine;
	struct ofi_monitor *user;

	pthread_mutex_lock(&hub->mutex);
	LIST_FOREACH (user, &hub->users, link) {
		mine = *range;
		ofi_lock(user->lock);
		if (user->wants(user, &mine.start, &mine.end) && mine.start < first.start)
			first = mine;
		ofi_unlock(user->lock);
	}
	pthread_mutex_unlock(&hub->mutex);
	*range = first;
}

/* A user that needs part of the range meanwhile must wait for hub->ranges to watch that part. */
static void monitor_unwatch(struct ofi_monitor_hub *hub, uintptr_t start, uintptr_t end)
{
	int attempts = ATTEMPTS;
	struct range wanted;

	pthread_mutex_lock(&hub->ranges);
	while (start < end) {
		wanted = (struct range){ start, end };
		find_wanted(hub, &wanted);
		if (start < wanted.start)
			monitor_release(hub, start, wanted.start, &attempts);
		start = wanted.end;
	}
	pthread_mutex_unlock(&hub->ranges);
}

static void notify_range(struct ofi_monitor_hub *hub, uintptr_t start, uintptr_t end, bool unmapped)
{
	struct ofi_monitor *user;

	LIST_FOREACH (user, &hub->users, link)
		if (user->gone(user, start, end, unmapped))
			user->dirty = true;
}

/*
 * Reports changes until there are no more, or until MOVES ranges have moved. Moved memory is still
 * watched at its new place: stores these ranges in *moved and returns their number.
 */
static int notify_all(struct ofi_monitor_hub *hub, struct range *moved)
{
	struct uffd_msg msg;
	uint64_t from, to, len;
	int moves = 0;

	while (moves < MOVES && read(hub->fd, &msg, sizeof(msg)) == sizeof(msg)) {
		if (msg.event == UFFD_EVENT_UNMAP || msg.event == UFFD_EVENT_REMOVE) {
			notify_range(hub, msg.arg.remove.start, msg.arg.remove.end,
				     msg.event == UFFD_EVENT_UNMAP);
		} else if (msg.event == UFFD_EVENT_REMAP) {
			from = msg.arg.remap.from;
			to = msg.arg.remap.to;
			len = msg.arg.remap.len;
			notify_range(hub, from, from + len, false);
			moved[moves++] = (struct range){ to, to + len };
		}
	}
	return moves;
}

static void read_events(struct ofi_monitor_hub *hub)
{
	struct range moved[MOVES];
	struct ofi_monitor *user;
	int moves;

	pthread_mutex_lock(&hub->mutex);
	LIST_FOREACH (user, &hub->users, link)
		ofi_lock(user->lock);
	moves = notify_all(hub, moved);
	LIST_FOREACH (user, &hub->users, link)
		ofi_unlock(user->lock);
	pthread_cond_broadcast(&hub->turn);
	pthread_mutex_unlock(&hub->mutex);
	while (moves--)
		monitor_unwatch(hub, moved[moves].start, moved[moves].end);
}

/*
 * Returns true if a mapping is being changed and the event has not been read: until then the kernel
 * refuses to fill pages and returns EAGAIN, and it checks that first (ioctl_userfaultfd(2)). The
 * request has length 0, which is invalid, so it never fills anything.
 */
static bool hub_changing(const struct ofi_monitor_hub *hub)
{
	struct uffdio_copy nothing = { 0 };

	return ioctl(hub->fd, UFFDIO_COPY, &nothing) < 0 && errno == EAGAIN;
}

/* A child that is forked meanwhile would leave it open, or close the next one of this number. */
static void close_fd(int *fd)
{
	pthread_mutex_lock(&fds_lock);
	close(*fd);
	*fd = -1;
	pthread_mutex_unlock(&fds_lock);
}

/*
 * The thread closes the descriptor itself, because freeing its own stack may unmap memory that is
 * still watched.
 */
static void *read_until_stopped(void *arg)
{
	struct ofi_monitor_hub *hub = arg;
	struct pollfd fds[] = { { .fd = hub->fd, .events = POLLIN },
				{ .fd = hub->stopfd, .events = POLLIN } };

	while (!fds[1].revents)
		if (poll(fds, 2, -1) > 0 && fds[0].revents)
			read_events(hub);
	do
		read_events(hub);
	while (hub_changing(hub));
	close_fd(&hub->fd);
	return NULL;
}

static struct ofi_monitor *find_dirty(const struct ofi_monitor_hub *hub)
{
	struct ofi_monitor *user;

	LIST_FOREACH (user, &hub->users, link)
		if (user->dirty)
			break;
	return user;
}

static void *tidy_until_stopped(void *arg)
{
	struct ofi_monitor_hub *hub = arg;

	pthread_mutex_lock(&hub->mutex);
	while (!hub->stop) {
		hub->tidied = find_dirty(hub);
		if (!hub->tidied) {
			pthread_cond_wait(&hub->turn, &hub->mutex);
			continue;
		}
		hub->tidied->dirty = false;
		pthread_mutex_unlock(&hub->mutex);
		hub->tidied->tidy(hub->tidied);
		pthread_mutex_lock(&hub->mutex);
		hub->tidied = NULL;
		pthread_cond_broadcast(&hub->turn);
	}
	pthread_mutex_unlock(&hub->mutex);
	return NULL;
}

static void stop_reader(struct ofi_monitor_hub *hub)
{
	const uint64_t one = 1;

	(void)!write(hub->stopfd, &one, sizeof(one));
	pthread_join(hub->reader, NULL);
	close_fd(&hub->stopfd);
}

/* The janitor stops first, because it may wait for an event. */
static void hub_stop(struct ofi_monitor_hub *hub)
{
	pthread_mutex_lock(&hub->mutex);
	hub->stop = true;
	pthread_cond_broadcast(&hub->turn);
	pthread_mutex_unlock(&hub->mutex);
	pthread_join(hub->janitor, NULL);
	stop_reader(hub);
}

static int start_threads(struct ofi_monitor_hub *hub)
{
	int err;

	hub->stop = false;
	err = ofi_thread_start(&hub->reader, read_until_stopped, hub);
	if (err) {
		close_fd(&hub->fd);
		close_fd(&hub->stopfd);
	} else {
		err = ofi_thread_start(&hub->janitor, tidy_until_stopped, hub);
		if (err)
			stop_reader(hub);
	}
	return -err;
}

static int open_fds(struct ofi_monitor_hub *hub)
{
	int fd = uffd_open(), err;

	if (fd < 0)
		return fd;
	hub->stopfd = eventfd(0, EFD_CLOEXEC);
	if (hub->stopfd < 0) {
		err = errno;
		close(fd);
		return -err;
	}
	hub->fd = fd;
	return 0;
}

static int hub_start(struct ofi_monitor_hub *hub)
{
	int err;

	pthread_mutex_lock(&fds_lock);
	err = open_fds(hub);
	pthread_mutex_unlock(&fds_lock);
	if (err)
		return err;
	hub->watches = 0;
	return start_threads(hub);
}

static int hub_join(struct ofi_monitor_hub *hub, struct ofi_monitor *monitor)
{
	int ret = 0;

	pthread_mutex_lock(&hub->life);
	if (LIST_EMPTY(&hub->users))
		ret = hub_start(hub);
	if (!ret) {
		pthread_mutex_lock(&hub->mutex);
		monitor->hub = hub;
		monitor->epoch = hub->epoch;
		monitor->dirty = false;
		LIST_INSERT_HEAD(&hub->users, monitor, link);
		pthread_mutex_unlock(&hub->mutex);
	}
	pthread_mutex_unlock(&hub->life);
	return ret;
}

int ofi_monitor_open(struct ofi_monitor *monitor)
{
	return hub_join(&process_hub, monitor);
}

int ofi_monitor_open_alone(struct ofi_monitor *monitor)
{
	struct ofi_monitor_hub *hub = malloc(sizeof(*hub));
	int ret;

	if (!hub)
		return -FI_ENOMEM;
	*hub = (struct ofi_monitor_hub)HUB_INIT;
	hub->alone = true;
	ret = hub_join(hub, monitor);
	if (ret)
		free(hub);
	return ret;
}

void ofi_monitor_close(struct ofi_monitor *monitor)
{
	struct ofi_monitor_hub *hub = monitor->hub;

	if (is_parents(monitor))
		return;
	pthread_mutex_lock(&hub->life);
	pthread_mutex_lock(&hub->mutex);
	LIST_REMOVE(monitor, link);
	while (hub->tidied == monitor)
		pthread_cond_wait(&hub->turn, &hub->mutex);
	pthread_mutex_unlock(&hub->mutex);
	if (LIST_EMPTY(&hub->users))
		hub_stop(hub);
	pthread_mutex_unlock(&hub->life);
	if (hub->alone)
		free(hub);
}

/*
 * Tries to continue a fault from the page of a file (UFFDIO_CONTINUE), which only file memory
 * permits. For private anonymous memory the kernel refuses that at once with EINVAL. ENOENT means
 * that the range is more than one mapping, and a part of it is tried next. A kernel that does not
 * know the request does not watch files either.
 */
static bool is_anonymous(const struct ofi_monitor_hub *hub, uintptr_t start, uintptr_t end)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct uffdio_continue look = { .mode = UFFDIO_CONTINUE_MODE_DONTWAKE };
	uintptr_t len = end - start;

	while (start < end) {
		look.range = (struct uffdio_range){ .start = start, .len = len };
		if (!ioctl(hub->fd, UFFDIO_CONTINUE, &look))
			return false;
		if (errno == EINVAL) {
			start += len;
			len = end - start;
		} else if (errno == ENOENT && len > page) {
			len = len / 2 / page * page;
		} else if (errno == EAGAIN) {
			sched_yield();
		} else {
			return false;
		}
	}
	return true;
}

/*
 * A watched range is a separate mapping, and may remain one when it is unwatched, because the
 * kernel does not merge mappings whose pages were first touched separately. hub->ranges is held.
 */
static bool is_crowded(struct ofi_monitor_hub *hub)
{
	if (hub->watches++ % RECOUNT == 0)
		hub->crowded = ofi_maps_count() > ofi_maps_limit() / 2;
	return hub->crowded;
}

int ofi_monitor_watch(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end)
{
	struct ofi_monitor_hub *hub = monitor->hub;
	uint64_t ioctls;
	int ret = -ENOSPC;

	if (is_parents(monitor))
		return -FI_EOPNOTSUPP;
	pthread_mutex_lock(&hub->ranges);
	if (!is_crowded(hub))
		ret = enroll_range(hub, start, end, &ioctls);
	pthread_mutex_unlock(&hub->ranges);
	if (ret)
		return ret == -ENOMEM ? -FI_ENOMEM : -FI_EOPNOTSUPP;
	/* Huge pages of hugetlbfs, which are refused, cannot be filled with zeros. */
	if (!(ioctls & 1ULL << _UFFDIO_ZEROPAGE) || !is_anonymous(hub, start, end))
		return -FI_EINVAL;
	return 0;
}

void ofi_monitor_unwatch(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end)
{
	if (!is_parents(monitor))
		monitor_unwatch(monitor->hub, start, end);
}

bool ofi_monitor_changing(const struct ofi_monitor *monitor)
{
	return !is_parents(monitor) && hub_changing(monitor->hub);
}

void ofi_monitor_settle(const struct ofi_monitor *monitor)
{
	while (ofi_monitor_changing(monitor))
		sched_yield();
}
