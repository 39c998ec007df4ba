/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that processes share by name: creating, using and removing it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "shm.h"
#include "src/ds/fork.h"
#include "src/ds/memfd.h"

enum { TRIES = 5000, PAUSE_NS = 1000000, AGAIN = 1 };

/*
 * The bytes of the file that are locked: every user locks the first for reading; a writer also
 * locks the second.
 */
enum { USERS, WRITER };

OFI_FORK_MUTEX(shms_lock, OFI_FORK_INNER);
static LIST_HEAD(, ofi_shm) shms = LIST_HEAD_INITIALIZER(shms);

/*
 * A child would keep the locks of its parent, with which it shares the open files. It cannot use
 * the memory: see FORK in fi_verbs(7).
 */
static void shm_in_child(void)
{
	struct ofi_shm *shm;

	LIST_FOREACH (shm, &shms, link) {
		if (shm->fd < 0)
			continue;
		mmap(shm->base, shm->size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
		close(shm->fd);
		shm->fd = -1;
	}
}

__attribute__((constructor)) static void shm_watch_forks(void)
{
	pthread_atfork(NULL, NULL, shm_in_child);
}

struct visit {
	struct ofi_shm *shm;
	const struct ofi_shm_ask *ask;
	const char **what;
	bool created;
};

static int shm_failed(const struct visit *visit, const char *what)
{
	int err = errno;

	*visit->what = what;
	return -err;
}

/* Returns AGAIN if another process holds the lock. */
static int set_lock(int fd, short type, off_t byte)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };

	if (!fcntl(fd, F_OFD_SETLK, &lock))
		return 0;
	return errno == EAGAIN || errno == EINTR ? AGAIN : -errno;
}

static void pause_once(void)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	nanosleep(&pause, NULL);
}

static int shm_map(const struct visit *visit, size_t size)
{
	struct ofi_shm *shm = visit->shm;
	int prot = shm->read_only ? PROT_READ : PROT_READ | PROT_WRITE;
	void *base = mmap(NULL, size, prot, MAP_SHARED, shm->fd, 0);

	if (base == MAP_FAILED)
		return shm_failed(visit, "mmap");
	shm->base = base;
	shm->size = size;
	return 0;
}

static int set_size(const struct visit *visit)
{
	errno = EFBIG;
	if (!ofi_file_may_grow(visit->ask->size))
		return shm_failed(visit, "setrlimit(RLIMIT_FSIZE)");
	return ftruncate(visit->shm->fd, (off_t)visit->ask->size) ? shm_failed(visit, "ftruncate")
								  : 0;
}

/* Creates the memory. All of it is in place before another process can lock USERS. */
static int shm_make(const struct visit *visit)
{
	const struct ofi_shm_ask *ask = visit->ask;
	struct ofi_shm *shm = visit->shm;
	int ret = set_size(visit);

	if (!ret) {
		*visit->what = "posix_fallocate";
		ret = ofi_shm_allocate(shm, 0, ask->head);
	}
	if (!ret)
		ret = shm_map(visit, ask->size);
	if (ret)
		return ret;
	ask->init(shm->base, ask->arg);
	ret = set_lock(shm->fd, F_RDLCK, USERS);
	if (ret)
		*visit->what = "fcntl";
	return ret;
}

/* Removes the name unless another process has removed it. */
static void take_away(const struct ofi_shm *shm)
{
	struct stat st;

	if (!fstat(shm->fd, &st) && st.st_nlink)
		shm_unlink(shm->path);
}

/* Handles a file that nobody else uses: it is new, or was left behind. */
static int enter_alone(const struct visit *visit)
{
	if (visit->created)
		return shm_make(visit);
	take_away(visit->shm);
	return AGAIN;
}

static int shm_enter(const struct visit *visit)
{
	int ret, fd = visit->shm->fd;
	struct stat st;
	bool alone;

	/* Another user's file is not waited for. */
	if (fstat(fd, &st))
		return shm_failed(visit, "fstat");
	errno = EACCES;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return shm_failed(visit, "owner and mode of the file");
	ret = set_lock(fd, F_WRLCK, USERS);
	alone = !ret;
	if (ret == AGAIN)
		ret = set_lock(fd, F_RDLCK, USERS);
	if (ret) {
		*visit->what = "fcntl";
		return ret;
	}
	if (fstat(fd, &st))
		return shm_failed(visit, "fstat");
	if (!st.st_nlink)
		return AGAIN;
	if (alone)
		return enter_alone(visit);
	errno = EINVAL;
	if (st.st_size < (off_t)visit->ask->head)
		return shm_failed(visit, "size of the file");
	return shm_map(visit, (size_t)st.st_size);
}

/* Locks require a file that is open for writing; only the mapping is read-only for readers. */
static int visit_once(struct visit *visit)
{
	struct ofi_shm *shm = visit->shm;
	int ret;

	visit->created = false;
	shm->base = NULL;
	shm->fd = shm_open(visit->ask->path, O_RDWR, 0);
	if (shm->fd < 0 && errno == ENOENT && !visit->ask->read_only) {
		shm->fd = shm_open(visit->ask->path, O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
		visit->created = shm->fd >= 0;
		if (shm->fd < 0 && errno == EEXIST)
			return AGAIN;
	}
	if (shm->fd < 0)
		return shm_failed(visit, "shm_open");
	ret = shm_enter(visit);
	if (!ret)
		return 0;
	/* Whoever has the lock of the file takes it away: two would take away the next one. */
	if (visit->created && ret != AGAIN)
		take_away(shm);
	if (shm->base)
		munmap(shm->base, shm->size);
	close(shm->fd);
	return ret;
}

int ofi_shm_open(struct ofi_shm *shm, const struct ofi_shm_ask *ask, const char **what)
{
	struct visit visit = { .shm = shm, .ask = ask, .what = what };
	int i, ret;

	if (strlen(ask->path) >= sizeof(shm->path))
		return -EINVAL;
	strcpy(shm->path, ask->path);
	shm->read_only = ask->read_only;
	for (i = 0; i < TRIES; i++) {
		ret = visit_once(&visit);
		if (!ret) {
			pthread_mutex_lock(&shms_lock);
			LIST_INSERT_HEAD(&shms, shm, link);
			pthread_mutex_unlock(&shms_lock);
		}
		if (ret != AGAIN)
			return ret;
		pause_once();
	}
	*what = "fcntl";
	return -ETIMEDOUT;
}

void ofi_shm_close(struct ofi_shm *shm)
{
	pthread_mutex_lock(&shms_lock);
	LIST_REMOVE(shm, link);
	pthread_mutex_unlock(&shms_lock);
	munmap(shm->base, shm->size);
	if (!set_lock(shm->fd, F_WRLCK, USERS))
		take_away(shm);
	close(shm->fd);
}

int ofi_shm_allocate(struct ofi_shm *shm, size_t offset, size_t len)
{
	return ofi_file_allocate(shm->fd, offset, len);
}

int ofi_shm_lock(struct ofi_shm *shm)
{
	int i, ret = AGAIN;

	for (i = 0; i < TRIES && ret == AGAIN; i++) {
		ret = set_lock(shm->fd, F_WRLCK, WRITER);
		if (ret == AGAIN)
			pause_once();
	}
	return ret == AGAIN ? -ETIMEDOUT : ret;
}

void ofi_shm_unlock(struct ofi_shm *shm)
{
	set_lock(shm->fd, F_UNLCK, WRITER);
}
