/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Named address vectors: a header, slots and an array of fi_addr_t in shared memory, and a tree
 * private to the process that finds slots by address.
 */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "av_shared.h"
#include "src/ds/lock.h"
#include "refuse.h"
#include "shm.h"

#define MAGIC	     0x76612d7466657700ULL
#define CAPACITY     ((uint64_t)1 << 20) /* default capacity in slots */
#define CAPACITY_MAX ((uint64_t)1 << 24)

enum { LAYOUT = 2, HEADER = 4096, CHUNK = 1 << 16 };
enum { EMPTY, LIVE, REMOVED };

/* All fields except count are constant. */
struct header {
	uint64_t magic;
	uint32_t version, addr_format, entry_size, type;
	uint64_t capacity, map_addr;
	/* Number of slots that are or were in use; atomic; changed with the file locked. */
	uint64_t count;
};

/* The entry is written before count covers the slot, and never changes afterward. */
struct slot {
	uint32_t state; /* atomic */
	uint32_t reserved;
	uint8_t entry[];
};

struct ofi_av_shared {
	const struct fi_provider *prov;
	const struct ofi_av_shared_class *cls;
	struct ofi_shm shm;
	struct header *header;
	fi_addr_t *addrs; /* by slot: applications find it through attr->map_addr */
	size_t capacity, stride;
	/* Ends of the allocated memory for slots and addrs; guarded by the caller's lock. */
	size_t allocated, addrs_end;
	struct ofi_lock lock; /* guards what follows; innermost lock */
	/* A tsearch(3) tree of struct known by address, including removed ones. */
	void *tree;
	size_t seen; /* slots below this are in the tree */
};

struct known {
	uint8_t entry[OFI_AV_SHARED_ENTRY]; /* first */
	size_t index;
};

static size_t stride_of(size_t entry_size)
{
	return sizeof(struct slot) + ((entry_size + 7) & ~(size_t)7);
}

static size_t offset_of(const struct ofi_av_shared *shared, size_t index)
{
	return HEADER + index * shared->stride;
}

static struct slot *slot_at(const struct ofi_av_shared *shared, size_t index)
{
	return (struct slot *)((uint8_t *)shared->shm.base + offset_of(shared, index));
}

/* Keeps the characters of a name that a file name may have and writes the others as %xx. */
static bool append_name(char *path, const char *name)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	size_t len = strlen(path);

	for (; *name; name++) {
		if (len + 4 > OFI_SHM_PATH_LEN)
			return false;
		if (strchr(plain, *name))
			path[len++] = *name;
		else
			len += (size_t)sprintf(path + len, "%%%02x", (unsigned char)*name);
	}
	path[len] = '\0';
	return true;
}

static bool path_of(char *path, const char *scope, const char *name)
{
	sprintf(path, "/weft_av.%u.", geteuid());
	return append_name(path, scope) && strlen(path) + 2 < OFI_SHM_PATH_LEN &&
	       append_name(strcat(path, "."), name);
}

static void init_header(void *base, void *arg)
{
	*(struct header *)base = *(const struct header *)arg;
}

static size_t addrs_offset(uint64_t capacity, size_t stride)
{
	return HEADER + capacity * stride;
}

static size_t size_of(uint64_t capacity, size_t stride)
{
	return addrs_offset(capacity, stride) + capacity * sizeof(fi_addr_t);
}

/* Returns NULL if the header is usable, otherwise a description of the problem. */
static const char *check_header(const struct ofi_av_shared *shared, const struct header *found,
				const struct header *want)
{
	if (found->magic != want->magic || found->version != want->version ||
	    found->entry_size != want->entry_size)
		return "it is damaged, or was created by another version of the library";
	if (!found->capacity || found->capacity > CAPACITY_MAX ||
	    shared->shm.size < size_of(found->capacity, shared->stride))
		return "its size is wrong";
	if (found->addr_format != want->addr_format)
		return "it has a different address format";
	if (want->type != FI_AV_UNSPEC && found->type != want->type)
		return "it has a different type";
	if (found->type != FI_AV_MAP && found->type != FI_AV_TABLE)
		return "it is damaged";
	return NULL;
}

static int accept_header(struct ofi_av_shared *shared, struct header want, struct fi_av_attr *attr)
{
	struct header found;
	const char *wrong;

	memcpy(&found, shared->shm.base, sizeof(found));
	want.type = attr->type;
	wrong = check_header(shared, &found, &want);
	if (wrong)
		return ofi_refuse(
			shared->prov, FI_LOG_AV, -FI_EINVAL,
			"fi_av_open: another address vector has the name %s: %s; use another name\n",
			attr->name, wrong);
	shared->header = shared->shm.base;
	shared->capacity = found.capacity;
	attr->type = found.type;
	shared->addrs_end = addrs_offset(found.capacity, shared->stride);
	shared->addrs = (fi_addr_t *)((uint8_t *)shared->shm.base + shared->addrs_end);
	if (!attr->map_addr)
		attr->map_addr = found.map_addr ? (void *)(uintptr_t)found.map_addr : shared->addrs;
	return 0;
}

static int open_memory(struct ofi_av_shared *shared, const char *path, const struct header *want,
		       const struct fi_av_attr *attr)
{
	const struct ofi_shm_ask ask = {
		.path = path,
		.read_only = attr->flags & FI_READ,
		.head = HEADER,
		.size = size_of(want->capacity, shared->stride),
		.init = init_header,
		.arg = (void *)want,
	};
	const char *what = "";
	int ret = ofi_shm_open(&shared->shm, &ask, &what);

	if (ret == -FI_ENOENT && ask.read_only)
		FI_INFO(shared->prov, FI_LOG_AV,
			"fi_av_open: no process has an address vector %s open\n", attr->name);
	else if (ret)
		FI_WARN(shared->prov, FI_LOG_AV,
			"fi_av_open: %s: %s: %s; check that /dev/shm exists and has room, and that /dev/shm%s belongs to you\n",
			attr->name, what, strerror(-ret), path);
	return ret;
}

static uint64_t capacity_of(const struct fi_av_attr *attr)
{
	if (attr->count <= CAPACITY)
		return CAPACITY;
	return attr->count < CAPACITY_MAX ? attr->count : CAPACITY_MAX;
}

static int open_named(struct ofi_av_shared *shared, const char *path, uint32_t addr_format,
		      struct fi_av_attr *attr)
{
	const struct header want = {
		.magic = MAGIC,
		.version = LAYOUT,
		.addr_format = addr_format,
		.entry_size = (uint32_t)shared->cls->entry_size,
		.type = attr->type == FI_AV_UNSPEC ? FI_AV_TABLE : attr->type,
		.capacity = capacity_of(attr),
		.map_addr = (uintptr_t)attr->map_addr,
	};
	int ret = open_memory(shared, path, &want, attr);

	if (ret)
		return ret;
	ret = accept_header(shared, want, attr);
	if (ret)
		ofi_shm_close(&shared->shm);
	return ret;
}

int ofi_av_shared_open(const struct fi_provider *prov, const struct ofi_av_shared_class *cls,
		       const char *scope, uint32_t addr_format, struct fi_av_attr *attr,
		       struct ofi_av_shared **shared)
{
	char path[OFI_SHM_PATH_LEN];
	struct ofi_av_shared *new;
	int ret;

	if (!*attr->name || !path_of(path, scope, attr->name))
		return ofi_refuse(prov, FI_LOG_AV, -FI_EINVAL, "fi_av_open: the name is %s\n",
				  *attr->name ? "too long" : "empty");
	new = calloc(1, sizeof(*new));
	if (!new)
		return -FI_ENOMEM;
	new->prov = prov;
	new->cls = cls;
	new->stride = stride_of(cls->entry_size);
	ofi_lock_init(&new->lock);
	ret = open_named(new, path, addr_format, attr);
	if (ret) {
		free(new);
		return ret;
	}
	*shared = new;
	return 0;
}

void ofi_av_shared_close(struct ofi_av_shared *shared)
{
	if (!shared)
		return;
	ofi_shm_close(&shared->shm);
	tdestroy(shared->tree, free);
	free(shared);
}

bool ofi_av_shared_read_only(const struct ofi_av_shared *shared)
{
	return shared->shm.read_only;
}

size_t ofi_av_shared_limit(const struct ofi_av_shared *shared)
{
	uint64_t count = __atomic_load_n(&shared->header->count, __ATOMIC_ACQUIRE);

	return count < shared->capacity ? count : shared->capacity;
}

static bool copy_entry(const struct ofi_av_shared *shared, size_t index, void *entry)
{
	memcpy(entry, slot_at(shared, index)->entry, shared->cls->entry_size);
	return shared->cls->valid(entry);
}

static uint32_t state_of(const struct ofi_av_shared *shared, size_t index)
{
	return __atomic_load_n(&slot_at(shared, index)->state, __ATOMIC_ACQUIRE);
}

bool ofi_av_shared_get(const struct ofi_av_shared *shared, size_t index, void *entry)
{
	return index < ofi_av_shared_limit(shared) && state_of(shared, index) == LIVE &&
	       copy_entry(shared, index, entry);
}

/*
 * Adds a slot to the tree. Keeps the first of equal addresses; duplicates exist only if a process
 * misbehaves. Returns false when out of memory.
 */
static bool learn_entry(struct ofi_av_shared *shared, size_t index)
{
	struct known *known = calloc(1, sizeof(*known)), **found;

	if (!known)
		return false;
	known->index = index;
	if (state_of(shared, index) == EMPTY || !copy_entry(shared, index, known->entry)) {
		free(known);
		return true;
	}
	found = tsearch(known, &shared->tree, shared->cls->compare);
	if (!found || *found != known)
		free(known);
	return found;
}

static bool learn_all(struct ofi_av_shared *shared)
{
	size_t limit = ofi_av_shared_limit(shared);

	while (shared->seen < limit && learn_entry(shared, shared->seen))
		shared->seen++;
	return shared->seen >= limit;
}

/*
 * Returns the index that an address has or had. Sets *all to true if every address is in the tree.
 */
static size_t av_shared_find(struct ofi_av_shared *shared, const void *entry, bool *all)
{
	struct known **found;
	size_t index = OFI_AV_SHARED_NONE;

	ofi_lock(&shared->lock);
	*all = learn_all(shared);
	found = tfind(entry, &shared->tree, shared->cls->compare);
	if (found)
		index = (*found)->index;
	ofi_unlock(&shared->lock);
	return index;
}

size_t ofi_av_shared_find(struct ofi_av_shared *shared, const void *entry)
{
	bool all;
	size_t index = av_shared_find(shared, entry, &all);

	return index != OFI_AV_SHARED_NONE && state_of(shared, index) == LIVE ? index
									      : OFI_AV_SHARED_NONE;
}

int ofi_av_shared_begin(struct ofi_av_shared *shared)
{
	int ret = ofi_shm_lock(&shared->shm);

	if (ret)
		FI_WARN(shared->prov, FI_LOG_AV,
			"fi_av_insert: the lock on /dev/shm%s: %s; another process may have been stopped while it had it\n",
			shared->shm.path, strerror(-ret));
	return ret;
}

void ofi_av_shared_end(struct ofi_av_shared *shared)
{
	ofi_shm_unlock(&shared->shm);
}

/* If another process has allocated the memory, this costs a system call and changes nothing. */
static int allocate_to(struct ofi_av_shared *shared, size_t *allocated, size_t need)
{
	size_t end;
	int ret;

	if (need <= *allocated)
		return 0;
	end = (need + CHUNK - 1) & ~((size_t)CHUNK - 1);
	if (end > shared->shm.size)
		end = shared->shm.size;
	ret = ofi_shm_allocate(&shared->shm, *allocated, end - *allocated);
	if (!ret)
		*allocated = end;
	return ret;
}

static int allocate_chunk(struct ofi_av_shared *shared, size_t index)
{
	size_t addrs_end =
		addrs_offset(shared->capacity, shared->stride) + (index + 1) * sizeof(fi_addr_t);
	int ret = allocate_to(shared, &shared->allocated, offset_of(shared, index + 1));

	return ret ? ret : allocate_to(shared, &shared->addrs_end, addrs_end);
}

/*
 * Slots that are skipped stay empty. A slot that a killed process left unfinished is not yet
 * counted, so it is reused.
 */
static int publish_entry(struct ofi_av_shared *shared, const void *entry, size_t index)
{
	size_t at, limit = ofi_av_shared_limit(shared);
	struct slot *slot;
	int ret = index < shared->capacity ? allocate_chunk(shared, index) : -FI_ENOSPC;

	if (ret)
		return ret;
	for (at = limit; at < index; at++) {
		__atomic_store_n(&slot_at(shared, at)->state, EMPTY, __ATOMIC_RELAXED);
		__atomic_store_n(&shared->addrs[at], FI_ADDR_NOTAVAIL, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&shared->addrs[index], index, __ATOMIC_RELAXED);
	slot = slot_at(shared, index);
	memcpy(slot->entry, entry, shared->cls->entry_size);
	__atomic_store_n(&slot->state, LIVE, __ATOMIC_RELAXED);
	__atomic_store_n(&shared->header->count, index + 1, __ATOMIC_RELEASE);
	return 0;
}

int ofi_av_shared_add(struct ofi_av_shared *shared, const void *entry, size_t *index)
{
	bool all;
	size_t at = av_shared_find(shared, entry, &all), limit = ofi_av_shared_limit(shared);
	int ret;

	if (at != OFI_AV_SHARED_NONE) {
		__atomic_store_n(&slot_at(shared, at)->state, LIVE, __ATOMIC_RELEASE);
		*index = at;
		return 0;
	}
	if (!all)
		return -FI_ENOMEM;
	at = *index > limit ? *index : limit;
	ret = publish_entry(shared, entry, at);
	if (!ret)
		*index = at;
	return ret;
}

bool ofi_av_shared_remove(struct ofi_av_shared *shared, size_t index)
{
	uint32_t live = LIVE;

	return index < ofi_av_shared_limit(shared) &&
	       __atomic_compare_exchange_n(&slot_at(shared, index)->state, &live, REMOVED, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}
