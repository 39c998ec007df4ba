/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory changes as userfaultfd events, and the test that they come. */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <ofi/monitor.h>

#define ANNOUNCE_MS 1000

#define EVENTS (UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_REMAP)

/* Events need no privilege; handling faults of the kernel would. */
static int uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API, .features = EVENTS };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		return -errno;
	if (!ioctl(fd, UFFDIO_API, &api) && (api.features & EVENTS) == EVENTS)
		return fd;
	close(fd);
	return -FI_EOPNOTSUPP;
}

struct ofi_monitor_hub {
	pthread_mutex_t mutex; /* guards what follows; taken before the users' locks */
	LIST_HEAD(, ofi_monitor) users;
	int fd, stopfd;
	pthread_t thread;
};

static struct ofi_monitor_hub process_hub = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void tell(struct ofi_monitor_hub *hub, uintptr_t start, uintptr_t end)
{
	struct ofi_monitor *user;

	LIST_FOREACH (user, &hub->users, link)
		user->gone(user, start, end);
}

static void read_events(struct ofi_monitor_hub *hub)
{
	struct ofi_monitor *user;
	struct uffd_msg msg;

	pthread_mutex_lock(&hub->mutex);
	LIST_FOREACH (user, &hub->users, link)
		ofi_lock(user->lock);
	while (read(hub->fd, &msg, sizeof(msg)) == sizeof(msg)) {
		if (msg.event == UFFD_EVENT_UNMAP || msg.event == UFFD_EVENT_REMOVE)
			tell(hub, msg.arg.remove.start, msg.arg.remove.end);
		else if (msg.event == UFFD_EVENT_REMAP)
			tell(hub, msg.arg.remap.from, msg.arg.remap.from + msg.arg.remap.len);
	}
	LIST_FOREACH (user, &hub->users, link)
		ofi_unlock(user->lock);
	pthread_mutex_unlock(&hub->mutex);
}

static void *hub_thread(void *arg)
{
	struct ofi_monitor_hub *hub = arg;
	struct pollfd fds[] = { { .fd = hub->fd, .events = POLLIN },
				{ .fd = hub->stopfd, .events = POLLIN } };

	while (!fds[1].revents)
		if (poll(fds, 2, -1) > 0 && fds[0].revents)
			read_events(hub);
	return NULL;
}

static int start_thread(struct ofi_monitor_hub *hub)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&hub->thread, NULL, hub_thread, hub);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static int hub_start(struct ofi_monitor_hub *hub)
{
	int ret;

	hub->fd = uffd_open();
	if (hub->fd < 0)
		return hub->fd;
	hub->stopfd = eventfd(0, EFD_CLOEXEC);
	ret = hub->stopfd < 0 ? -errno : start_thread(hub);
	if (!ret)
		return 0;
	close(hub->fd);
	if (hub->stopfd >= 0)
		close(hub->stopfd);
	return ret;
}

static int hub_join(struct ofi_monitor_hub *hub, struct ofi_monitor *monitor)
{
	int ret = 0;

	pthread_mutex_lock(&hub->mutex);
	if (LIST_EMPTY(&hub->users))
		ret = hub_start(hub);
	if (!ret) {
		monitor->hub = hub;
		LIST_INSERT_HEAD(&hub->users, monitor, link);
	}
	pthread_mutex_unlock(&hub->mutex);
	return ret;
}

int ofi_monitor_open(struct ofi_monitor *monitor)
{
	return hub_join(&process_hub, monitor);
}

/* The last user stops the thread, which must be able to read events until it sees that. */
void ofi_monitor_close(struct ofi_monitor *monitor)
{
	struct ofi_monitor_hub *hub = monitor->hub;
	const uint64_t one = 1;
	int fd = -1, stopfd = -1;
	pthread_t thread;

	pthread_mutex_lock(&hub->mutex);
	LIST_REMOVE(monitor, link);
	if (LIST_EMPTY(&hub->users)) {
		fd = hub->fd;
		stopfd = hub->stopfd;
		thread = hub->thread;
	}
	pthread_mutex_unlock(&hub->mutex);
	if (fd < 0)
		return;
	(void)!write(stopfd, &one, sizeof(one));
	pthread_join(thread, NULL);
	close(fd);
	close(stopfd);
}

/* Write protection that is never switched on: unlike for missing pages, no access ever waits for us. */
int ofi_monitor_watch(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end)
{
	struct uffdio_register reg = {
		.range = { .start = start, .len = end - start },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};

	return ioctl(monitor->hub->fd, UFFDIO_REGISTER, &reg) ? -FI_EOPNOTSUPP : 0;
}

/*
 * From before a mapping is changed until its event is read the kernel refuses to fill pages with EAGAIN,
 * and looks at that first (ioctl_userfaultfd(2)); a length of 0 is never valid.
 */
static bool changing(const struct ofi_monitor_hub *hub)
{
	struct uffdio_copy nothing = { 0 };

	return ioctl(hub->fd, UFFDIO_COPY, &nothing) < 0 && errno == EAGAIN;
}

void ofi_monitor_settle(struct ofi_monitor *monitor)
{
	while (changing(monitor->hub))
		sched_yield();
}

struct seen {
	struct ofi_monitor monitor;
	struct ofi_lock lock;
	uintptr_t start, end; /* of the last change; under the lock */
};

static void note(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end)
{
	struct seen *seen = (struct seen *)monitor;

	seen->start = start;
	seen->end = end;
}

static bool was_seen(struct seen *seen, const char *start, size_t len)
{
	uintptr_t at = (uintptr_t)start;
	bool ret;

	ofi_lock(&seen->lock);
	ret = seen->start <= at && seen->end >= at + len;
	seen->start = seen->end = 0;
	ofi_unlock(&seen->lock);
	return ret;
}

/* Drops pages, moves the first half, unmaps the second. */
static bool changes_are_told(struct seen *seen, char *map, size_t half)
{
	uintptr_t at = (uintptr_t)map;
	bool told;
	char *moved;

	map[0] = map[half] = 1;
	if (ofi_monitor_watch(&seen->monitor, at, at + 2 * half))
		return false;
	told = !madvise(map, half, MADV_DONTNEED) && was_seen(seen, map, half);
	moved = mremap(map, half, half, MREMAP_MAYMOVE | MREMAP_FIXED, map + 2 * half);
	told = moved != MAP_FAILED && was_seen(seen, map, half) && told;
	return !munmap(map + half, half) && was_seen(seen, map + half, half) && told;
}

struct drop {
	char *map;
	size_t len;
};

static void *drop_pages(void *arg)
{
	struct drop *drop = arg;

	madvise(drop->map, drop->len, MADV_DONTNEED);
	return NULL;
}

/* While an event can't be read it is told that there is one. */
static bool change_is_announced(struct seen *seen, char *map, size_t len)
{
	struct drop drop = { map, len };
	bool announced = false;
	pthread_t thread;
	int i;

	if (ofi_monitor_watch(&seen->monitor, (uintptr_t)map, (uintptr_t)map + len))
		return false;
	ofi_lock(&seen->lock);
	if (pthread_create(&thread, NULL, drop_pages, &drop)) {
		ofi_unlock(&seen->lock);
		return false;
	}
	for (i = 0; i < ANNOUNCE_MS && !announced; i++) {
		announced = changing(seen->monitor.hub);
		if (!announced)
			usleep(1000);
	}
	ofi_unlock(&seen->lock);
	pthread_join(thread, NULL);
	return announced && !changing(seen->monitor.hub);
}

int ofi_monitor_test(void)
{
	struct ofi_monitor_hub hub = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	struct seen seen = { .monitor = { .lock = &seen.lock, .gone = note } };
	size_t half = (size_t)sysconf(_SC_PAGESIZE);
	bool told;
	char *map;
	int ret;

	ofi_lock_init(&seen.lock);
	map = mmap(NULL, 3 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return -FI_ENOMEM;
	ret = hub_join(&hub, &seen.monitor);
	if (!ret) {
		told = change_is_announced(&seen, map, half) && changes_are_told(&seen, map, half);
		ofi_monitor_close(&seen.monitor);
		ret = told ? 0 : -FI_EIO;
	}
	munmap(map, 3 * half);
	return ret;
}
