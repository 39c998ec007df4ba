/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_open("stats"): the statistics of a process, read from its shared memory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "fid.h"
#include "stats_read.h"
#include <rdma/fi_errno.h>

enum { FILES = 8, FILE_STEP = 1 << 28 }; /* each plug-in provider has its own file */
enum { TRIES = 100 };

typedef uint64_t __attribute__((may_alias)) word;

struct reader {
	struct fid fid;
	size_t count;
	struct {
		const char *base;
		size_t size;
	} files[FILES];
};

/*
 * A copy of a record and of the two pointers that it refers to. The other process may change its
 * file at any time, so only the copy is checked and used.
 */
struct snapshot {
	struct ofi_stats stats;
	uint64_t head, tail;
};

static const struct ofi_stats_header *header_of(const struct reader *reader, size_t i)
{
	return (const struct ofi_stats_header *)reader->files[i].base;
}

/* Copies the word at offset `where` from a record, unless that is outside the mapping. */
static bool copy_pointer(const struct reader *reader, size_t i, const struct ofi_stats *stats,
			 int64_t where, uint64_t *to)
{
	uint64_t at = (uint64_t)((const char *)stats - reader->files[i].base) + (uint64_t)where;

	if (at % 8 || at > reader->files[i].size - 8)
		return false;
	*to = __atomic_load_n((const word *)(reader->files[i].base + at), __ATOMIC_ACQUIRE);
	return true;
}

static bool copy_record(const struct reader *reader, size_t i, const struct ofi_stats *stats,
			struct snapshot *copy)
{
	const word *from = (const word *)stats;
	word *to = (word *)&copy->stats;
	size_t n;

	for (n = 0; n < sizeof(*stats) / sizeof(*to); n++)
		to[n] = __atomic_load_n(&from[n], __ATOMIC_ACQUIRE);
	/* The tail is read first: it never passes the head. */
	return copy_pointer(reader, i, stats, copy->stats.tail, &copy->tail) &&
	       copy_pointer(reader, i, stats, copy->stats.head, &copy->head);
}

/*
 * Returns false if the object is gone or invalid. The mark is set before the head gets a whole
 * round ahead of it, so both must be from the same time.
 */
static bool take_snapshot(const struct reader *reader, size_t i, const struct ofi_stats *stats,
			  struct snapshot *copy)
{
	int tries = TRIES;

	do {
		if (!copy_record(reader, i, stats, copy))
			return false;
	} while (__atomic_load_n(&stats->mark, __ATOMIC_ACQUIRE) != copy->stats.mark && --tries);
	copy->stats.head = (char *)&copy->head - (char *)&copy->stats;
	copy->stats.tail = (char *)&copy->tail - (char *)&copy->stats;
	return copy->stats.id && __atomic_load_n(&stats->id, __ATOMIC_ACQUIRE) == copy->stats.id;
}

static uint32_t read_small(const struct reader *reader, size_t i)
{
	uint32_t n = __atomic_load_n(&header_of(reader, i)->used, __ATOMIC_ACQUIRE);

	return n < OFI_STATS_SLOTS ? n : OFI_STATS_SLOTS;
}

/* Returns the number of wide objects in the file, and the number of slots of each in *slots. */
static uint32_t read_wide(const struct reader *reader, size_t i, uint32_t *slots)
{
	uint32_t n = __atomic_load_n(&header_of(reader, i)->wide_used, __ATOMIC_ACQUIRE);

	*slots = __atomic_load_n(&header_of(reader, i)->wide, __ATOMIC_RELAXED);
	if (!*slots || *slots > OFI_STATS_SLOTS)
		return 0;
	return n < OFI_STATS_SLOTS / *slots ? n : OFI_STATS_SLOTS / *slots;
}

static uint32_t slots_used(const struct reader *reader, size_t i)
{
	uint32_t slots;

	return read_small(reader, i) + read_wide(reader, i, &slots);
}

/* Returns the number of slots from the header to the end of an object. */
static size_t end_of(const struct reader *reader, size_t i, uint32_t object)
{
	uint32_t first = read_small(reader, i), slots, n = read_wide(reader, i, &slots);

	if (object < first || object - first >= n)
		return object + 1UL;
	return OFI_STATS_SLOTS - (size_t)(object - first) * slots;
}

static const struct ofi_stats *record_at(const struct reader *reader, size_t i, uint32_t object)
{
	size_t end = end_of(reader, i, object);

	if (end > OFI_STATS_SLOTS)
		return NULL;
	return (const struct ofi_stats *)(reader->files[i].base + (end + 1) * OFI_STATS_SLOT) - 1;
}

/* Makes ids of different files distinct; 0 stays 0. */
static uint32_t stats_number(size_t i, uint32_t id)
{
	return id ? id + (uint32_t)i * FILE_STEP : 0;
}

/* Finds the object with the smallest number above *number, and stores that number in *number. */
static const struct ofi_stats *find_next(const struct reader *reader, uint32_t *number,
					 size_t *file)
{
	const struct ofi_stats *stats, *found = NULL;
	uint32_t slot, id, best = UINT32_MAX;
	size_t i;

	for (i = 0; i < reader->count; i++)
		for (slot = 0; slot < slots_used(reader, i); slot++) {
			stats = record_at(reader, i, slot);
			id = stats ? __atomic_load_n(&stats->id, __ATOMIC_ACQUIRE) : 0;
			if (stats_number(i, id) <= *number || stats_number(i, id) >= best)
				continue;
			best = stats_number(i, id);
			found = stats;
			*file = i;
		}
	*number = best;
	return found;
}

/* Returns the number of completions of the open queues of a completion queue. */
static uint64_t cq_completed(const struct reader *reader, size_t i, uint32_t cq)
{
	const struct ofi_stats *stats;
	struct snapshot copy;
	uint64_t sum = 0;
	uint32_t slot;

	for (slot = 0; slot < slots_used(reader, i); slot++) {
		stats = record_at(reader, i, slot);
		if (!stats || __atomic_load_n(&stats->cq, __ATOMIC_RELAXED) != cq ||
		    !take_snapshot(reader, i, stats, &copy))
			continue;
		sum += ofi_stats_minus(ofi_stats_posted(&copy.stats),
				       ofi_stats_outstanding(&copy.stats));
	}
	return sum;
}

static void describe_stats(const struct reader *reader, size_t i, const struct ofi_stats *stats,
			   struct fi_stats_object *object)
{
	object->fclass = stats->fclass;
	object->group = stats_number(i, stats->group);
	object->domain = stats_number(i, stats->domain);
	object->cq = stats_number(i, stats->cq);
	memcpy(object->name, stats->name, sizeof(object->name));
	object->name[sizeof(object->name) - 1] = '\0';
	object->count = (uint32_t)ofi_stats_list(stats, object->items);
	if (object->fclass == FI_CLASS_CQ && object->count)
		object->items[0].value += cq_completed(reader, i, stats->id);
}

/*
 * Skips objects that were closed meanwhile; ids are not reused. In a process that changes its file
 * all the time, there is no next one.
 */
static int reader_next(struct fid *fid, uint32_t after, struct fi_stats_object *object)
{
	const struct reader *reader = (const struct reader *)fid;
	const struct ofi_stats *stats;
	struct snapshot copy;
	int tries = TRIES;
	size_t i = 0;

	if (!fid || !object)
		return -FI_EINVAL;
	while (tries-- && (stats = find_next(reader, &after, &i))) {
		if (!take_snapshot(reader, i, stats, &copy) ||
		    stats_number(i, copy.stats.id) != after)
			continue;
		*object = (struct fi_stats_object){ .id = after };
		describe_stats(reader, i, &copy.stats, object);
		return 1;
	}
	return 0;
}

static int reader_next_peer(struct fid *fid, uint32_t after, struct fi_stats_peer *peer)
{
	const struct reader *reader = (const struct reader *)fid;
	const uint32_t last = after;
	struct fi_stats_peer found;
	size_t i;

	if (!fid || !peer)
		return -FI_EINVAL;
	for (i = after / FILE_STEP; i < reader->count; i++) {
		if (!ofi_stats_peer_next(header_of(reader, i), after % FILE_STEP, &found)) {
			after = 0;
			continue;
		}
		found.id = stats_number(i, found.id);
		found.ep = stats_number(i, found.ep);
		*peer = found;
		return found.id > last; /* ids that are too large for a file could lead back */
	}
	return 0;
}

static struct fi_ops_stats_process process_ops = {
	.size = sizeof(process_ops),
	.next = reader_next,
	.next_peer = reader_next_peer,
};

static int reader_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context)
{
	(void)fid;
	(void)context;
	if (!name || !ops)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	if (strcmp(name, FI_STATS_PROCESS_OPS))
		return -FI_ENOSYS;
	*ops = &process_ops;
	return 0;
}

static int reader_close(struct fid *fid)
{
	struct reader *reader = (struct reader *)fid;
	size_t i;

	for (i = 0; i < reader->count; i++)
		munmap((void *)(uintptr_t)reader->files[i].base, reader->files[i].size);
	free(reader);
	return 0;
}

static struct fi_ops reader_ops = {
	.size = sizeof(reader_ops),
	.close = reader_close,
	.bind = ofi_fid_no_bind,
	.control = ofi_fid_no_control,
	.ops_open = reader_open_ops,
};

/*
 * Maps a file. Accepts only the format of this library, and seals so that its owner can neither
 * shrink it nor take pages out of it, which would kill the reader.
 */
static int take_file(struct reader *reader, int fd)
{
	const struct ofi_stats_header *header;
	const int needed = F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE;
	int seals = fcntl(fd, F_GET_SEALS); /* -1 if the file cannot have any */
	struct stat st;
	void *base;

	if (fstat(fd, &st))
		return -errno;
	if (seals < 0 || (seals & needed) != needed || st.st_size < (off_t)OFI_STATS_SIZE)
		return -FI_EINVAL;
	base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	header = base;
	if (header->magic != OFI_STATS_MAGIC || header->version != OFI_STATS_VERSION ||
	    header->slot_size != OFI_STATS_SLOT ||
	    header->record_size != sizeof(struct ofi_stats)) {
		munmap(base, (size_t)st.st_size);
		return -FI_EPROTO;
	}
	reader->files[reader->count].base = base;
	reader->files[reader->count++].size = (size_t)st.st_size;
	return 0;
}

/*
 * Maps the file that this descriptor refers to, if it is a file of statistics. Otherwise returns 0.
 */
static int try_descriptor(struct reader *reader, int dir, const char *name)
{
	static const char prefix[] = "/memfd:" OFI_STATS_FILE;
	char target[sizeof(prefix)];
	ssize_t len = readlinkat(dir, name, target, sizeof(target));
	int fd, ret;

	if (len < (ssize_t)sizeof(prefix) - 1 || memcmp(target, prefix, sizeof(prefix) - 1))
		return 0;
	/* Another kind of file may have this name: a FIFO would wait for a writer. */
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	ret = take_file(reader, fd);
	close(fd);
	return ret;
}

/* A file of another version does not hide those of other plug-ins. Returns 0 if there is one. */
static int find_files(struct reader *reader, pid_t pid)
{
	char path[40] = "/proc/self/fd";
	int ret, err = -FI_ENODATA;
	struct dirent *entry;
	DIR *dir;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (reader->count < FILES && (entry = readdir(dir))) {
		ret = try_descriptor(reader, dirfd(dir), entry->d_name);
		if (ret)
			err = ret;
	}
	closedir(dir);
	return reader->count ? 0 : err;
}

int ofi_stats_open(void *attr, size_t attr_len, uint64_t flags, struct fid **fid, void *context)
{
	const struct fi_stats_attr *given = attr;
	struct reader *reader;
	int ret;

	if (flags)
		return -FI_EBADFLAGS;
	if (attr_len &&
	    (attr_len < sizeof(*given) || given->size < sizeof(*given) || given->pid < 0))
		return -FI_EINVAL;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -FI_ENOMEM;
	reader->fid =
		(struct fid){ .fclass = FI_CLASS_UNSPEC, .context = context, .ops = &reader_ops };
	ret = find_files(reader, attr_len ? given->pid : 0);
	if (ret) {
		reader_close(&reader->fid);
		return ret;
	}
	*fid = &reader->fid;
	return 0;
}
