/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wrappers of the functions that libfabric imports, which are entered into its table of imports. */
#include "inject.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <netdb.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

const char *const inject_object_names[INJECT_OBJECTS] = {
	[INJECT_MEMORY] = "blocks of memory",
	[INJECT_DEVICE_LIST] = "device lists",
	[INJECT_CONTEXT] = "device contexts",
	[INJECT_PD] = "protection domains",
	[INJECT_MR] = "memory regions",
	[INJECT_CHANNEL] = "completion channels",
	[INJECT_CQ] = "completion queues",
	[INJECT_QP] = "queue pairs",
	[INJECT_AH] = "address handles",
	[INJECT_ATTACHED] = "attached groups",
	[INJECT_JOINED] = "joined groups",
	[INJECT_SRQ] = "shared receive queues",
	[INJECT_MW] = "memory windows",
	[INJECT_CM_CHANNEL] = "event channels",
	[INJECT_CM_EVENT] = "unacknowledged events",
	[INJECT_ID] = "connection ids",
	[INJECT_ADDRINFO] = "address lists",
	[INJECT_THREAD] = "threads",
};

/* How a function says that it failed. */
enum how {
	NEVER,	   /* it does not: it releases something */
	NO_OBJECT, /* NULL and errno */
	MINUS_ONE, /* -1 and errno */
	POSITIVE,  /* the errno */
	NEGATIVE,  /* the errno negated */
	EAI,	   /* EAI_MEMORY */
};

/* its name, how it fails, with which errno, what a success opens, what a call closes */
#define CALLS(CALL)                                                                           \
	CALL(malloc, NO_OBJECT, ENOMEM, INJECT_MEMORY, INJECT_NOTHING)                        \
	CALL(calloc, NO_OBJECT, ENOMEM, INJECT_MEMORY, INJECT_NOTHING)                        \
	CALL(realloc, NO_OBJECT, ENOMEM, INJECT_MEMORY, INJECT_MEMORY)                        \
	CALL(strdup, NO_OBJECT, ENOMEM, INJECT_MEMORY, INJECT_NOTHING)                        \
	CALL(strndup, NO_OBJECT, ENOMEM, INJECT_MEMORY, INJECT_NOTHING)                       \
	CALL(aligned_alloc, NO_OBJECT, ENOMEM, INJECT_MEMORY, INJECT_NOTHING)                 \
	CALL(vasprintf, MINUS_ONE, ENOMEM, INJECT_MEMORY, INJECT_NOTHING)                     \
	CALL(free, NEVER, 0, INJECT_NOTHING, INJECT_MEMORY)                                   \
	CALL(pthread_create, POSITIVE, EAGAIN, INJECT_THREAD, INJECT_NOTHING)                 \
	CALL(pthread_join, NEVER, 0, INJECT_NOTHING, INJECT_THREAD)                           \
	CALL(epoll_create1, MINUS_ONE, EMFILE, INJECT_NOTHING, INJECT_NOTHING)                \
	CALL(epoll_ctl, MINUS_ONE, ENOSPC, INJECT_NOTHING, INJECT_NOTHING)                    \
	CALL(epoll_wait, MINUS_ONE, EINTR, INJECT_NOTHING, INJECT_NOTHING)                    \
	CALL(eventfd, MINUS_ONE, EMFILE, INJECT_NOTHING, INJECT_NOTHING)                      \
	CALL(fcntl, MINUS_ONE, EACCES, INJECT_NOTHING, INJECT_NOTHING)                        \
	CALL(poll, MINUS_ONE, EINTR, INJECT_NOTHING, INJECT_NOTHING)                          \
	CALL(socket, MINUS_ONE, EMFILE, INJECT_NOTHING, INJECT_NOTHING)                       \
	CALL(setsockopt, MINUS_ONE, EACCES, INJECT_NOTHING, INJECT_NOTHING)                   \
	CALL(bind, MINUS_ONE, EADDRNOTAVAIL, INJECT_NOTHING, INJECT_NOTHING)                  \
	CALL(connect, MINUS_ONE, ENETUNREACH, INJECT_NOTHING, INJECT_NOTHING)                 \
	CALL(getsockname, MINUS_ONE, ENOBUFS, INJECT_NOTHING, INJECT_NOTHING)                 \
	CALL(memfd_create, MINUS_ONE, EMFILE, INJECT_NOTHING, INJECT_NOTHING)                 \
	CALL(shm_open, MINUS_ONE, EMFILE, INJECT_NOTHING, INJECT_NOTHING)                     \
	CALL(posix_fallocate, POSITIVE, ENOSPC, INJECT_NOTHING, INJECT_NOTHING)               \
	CALL(fchmod, MINUS_ONE, EPERM, INJECT_NOTHING, INJECT_NOTHING)                        \
	CALL(ftruncate, MINUS_ONE, EINVAL, INJECT_NOTHING, INJECT_NOTHING)                    \
	CALL(fstat, MINUS_ONE, ENOMEM, INJECT_NOTHING, INJECT_NOTHING)                        \
	CALL(mmap, MINUS_ONE, ENOMEM, INJECT_NOTHING, INJECT_NOTHING)                         \
	CALL(open, MINUS_ONE, EMFILE, INJECT_NOTHING, INJECT_NOTHING)                         \
	CALL(opendir, NO_OBJECT, EMFILE, INJECT_NOTHING, INJECT_NOTHING)                      \
	CALL(scandir, MINUS_ONE, ENOMEM, INJECT_NOTHING, INJECT_NOTHING)                      \
	CALL(stat, MINUS_ONE, ENOENT, INJECT_NOTHING, INJECT_NOTHING)                         \
	CALL(readlink, MINUS_ONE, ENOENT, INJECT_NOTHING, INJECT_NOTHING)                     \
	CALL(getifaddrs, MINUS_ONE, ENOMEM, INJECT_ADDRINFO, INJECT_NOTHING)                  \
	CALL(freeifaddrs, NEVER, 0, INJECT_NOTHING, INJECT_ADDRINFO)                          \
	CALL(getaddrinfo, EAI, ENOMEM, INJECT_ADDRINFO, INJECT_NOTHING)                       \
	CALL(freeaddrinfo, NEVER, 0, INJECT_NOTHING, INJECT_ADDRINFO)                         \
	CALL(ibv_fork_init, POSITIVE, ENOMEM, INJECT_NOTHING, INJECT_NOTHING)                 \
	CALL(ibv_get_device_list, NO_OBJECT, ENOMEM, INJECT_DEVICE_LIST, INJECT_NOTHING)      \
	CALL(ibv_free_device_list, NEVER, 0, INJECT_NOTHING, INJECT_DEVICE_LIST)              \
	CALL(ibv_open_device, NO_OBJECT, EMFILE, INJECT_CONTEXT, INJECT_NOTHING)              \
	CALL(ibv_close_device, NEVER, 0, INJECT_NOTHING, INJECT_CONTEXT)                      \
	CALL(ibv_query_device, POSITIVE, ENOMEM, INJECT_NOTHING, INJECT_NOTHING)              \
	CALL(ibv_query_port, POSITIVE, ENOMEM, INJECT_NOTHING, INJECT_NOTHING)                \
	CALL(ibv_query_pkey, MINUS_ONE, EPERM, INJECT_NOTHING, INJECT_NOTHING)                \
	CALL(_ibv_query_gid_table, NEGATIVE, ENOMEM, INJECT_NOTHING, INJECT_NOTHING)          \
	CALL(ibv_alloc_pd, NO_OBJECT, ENOMEM, INJECT_PD, INJECT_NOTHING)                      \
	CALL(ibv_dealloc_pd, NEVER, 0, INJECT_NOTHING, INJECT_PD)                             \
	CALL(ibv_reg_mr, NO_OBJECT, ENOMEM, INJECT_MR, INJECT_NOTHING)                        \
	CALL(ibv_reg_mr_iova2, NO_OBJECT, EFAULT, INJECT_MR, INJECT_NOTHING)                  \
	CALL(ibv_reg_dmabuf_mr, NO_OBJECT, EFAULT, INJECT_MR, INJECT_NOTHING)                 \
	CALL(ibv_dereg_mr, NEVER, 0, INJECT_NOTHING, INJECT_MR)                               \
	CALL(ibv_alloc_mw, NO_OBJECT, ENOMEM, INJECT_MW, INJECT_NOTHING)                      \
	CALL(ibv_dealloc_mw, NEVER, 0, INJECT_NOTHING, INJECT_MW)                             \
	CALL(ibv_create_comp_channel, NO_OBJECT, EMFILE, INJECT_CHANNEL, INJECT_NOTHING)      \
	CALL(ibv_destroy_comp_channel, NEVER, 0, INJECT_NOTHING, INJECT_CHANNEL)              \
	CALL(ibv_create_cq, NO_OBJECT, ENOSPC, INJECT_CQ, INJECT_NOTHING)                     \
	CALL(ibv_resize_cq, POSITIVE, ENOSPC, INJECT_NOTHING, INJECT_NOTHING)                 \
	CALL(ibv_destroy_cq, NEVER, 0, INJECT_NOTHING, INJECT_CQ)                             \
	CALL(ibv_get_cq_event, MINUS_ONE, EAGAIN, INJECT_NOTHING, INJECT_NOTHING)             \
	CALL(ibv_create_qp, NO_OBJECT, ENOSPC, INJECT_QP, INJECT_NOTHING)                     \
	CALL(ibv_modify_qp, POSITIVE, EPERM, INJECT_NOTHING, INJECT_NOTHING)                  \
	CALL(ibv_create_srq, NO_OBJECT, ENOSPC, INJECT_SRQ, INJECT_NOTHING)                   \
	CALL(ibv_modify_srq, POSITIVE, EPERM, INJECT_NOTHING, INJECT_NOTHING)                 \
	CALL(ibv_destroy_srq, NEVER, 0, INJECT_NOTHING, INJECT_SRQ)                           \
	CALL(ibv_destroy_qp, NEVER, 0, INJECT_NOTHING, INJECT_QP)                             \
	CALL(ibv_create_ah, NO_OBJECT, ENOMEM, INJECT_AH, INJECT_NOTHING)                     \
	CALL(ibv_destroy_ah, NEVER, 0, INJECT_NOTHING, INJECT_AH)                             \
	CALL(ibv_attach_mcast, POSITIVE, ENOMEM, INJECT_ATTACHED, INJECT_NOTHING)             \
	CALL(ibv_detach_mcast, NEVER, 0, INJECT_NOTHING, INJECT_ATTACHED)                     \
	CALL(ibv_get_async_event, MINUS_ONE, EAGAIN, INJECT_NOTHING, INJECT_NOTHING)          \
	CALL(ibv_post_send, POSITIVE, EFAULT, INJECT_NOTHING, INJECT_NOTHING)                 \
	CALL(ibv_post_recv, POSITIVE, EFAULT, INJECT_NOTHING, INJECT_NOTHING)                 \
	CALL(ibv_post_srq_recv, POSITIVE, EFAULT, INJECT_NOTHING, INJECT_NOTHING)             \
	CALL(ibv_req_notify_cq, POSITIVE, EFAULT, INJECT_NOTHING, INJECT_NOTHING)             \
	CALL(rdma_create_event_channel, NO_OBJECT, EMFILE, INJECT_CM_CHANNEL, INJECT_NOTHING) \
	CALL(rdma_destroy_event_channel, NEVER, 0, INJECT_NOTHING, INJECT_CM_CHANNEL)         \
	CALL(rdma_create_id, MINUS_ONE, EMFILE, INJECT_ID, INJECT_NOTHING)                    \
	CALL(rdma_destroy_id, NEVER, 0, INJECT_NOTHING, INJECT_ID)                            \
	CALL(rdma_set_option, MINUS_ONE, EPERM, INJECT_NOTHING, INJECT_NOTHING)               \
	CALL(rdma_bind_addr, MINUS_ONE, EADDRINUSE, INJECT_NOTHING, INJECT_NOTHING)           \
	CALL(rdma_listen, MINUS_ONE, EADDRINUSE, INJECT_NOTHING, INJECT_NOTHING)              \
	CALL(rdma_resolve_addr, MINUS_ONE, ENODEV, INJECT_NOTHING, INJECT_NOTHING)            \
	CALL(rdma_resolve_route, MINUS_ONE, ENETUNREACH, INJECT_NOTHING, INJECT_NOTHING)      \
	CALL(rdma_connect, MINUS_ONE, ENOBUFS, INJECT_NOTHING, INJECT_NOTHING)                \
	CALL(rdma_accept, MINUS_ONE, ENOBUFS, INJECT_NOTHING, INJECT_NOTHING)                 \
	CALL(rdma_establish, MINUS_ONE, ENOBUFS, INJECT_NOTHING, INJECT_NOTHING)              \
	CALL(rdma_reject, MINUS_ONE, ENOBUFS, INJECT_NOTHING, INJECT_NOTHING)                 \
	CALL(rdma_disconnect, MINUS_ONE, ENOMEM, INJECT_NOTHING, INJECT_NOTHING)              \
	CALL(rdma_join_multicast, MINUS_ONE, ENOMEM, INJECT_JOINED, INJECT_NOTHING)           \
	CALL(rdma_leave_multicast, NEVER, 0, INJECT_NOTHING, INJECT_JOINED)                   \
	CALL(rdma_notify, MINUS_ONE, EINVAL, INJECT_NOTHING, INJECT_NOTHING)                  \
	CALL(rdma_init_qp_attr, MINUS_ONE, EPERM, INJECT_NOTHING, INJECT_NOTHING)             \
	CALL(rdma_get_cm_event, MINUS_ONE, ENOMEM, INJECT_CM_EVENT, INJECT_NOTHING)           \
	CALL(rdma_ack_cm_event, NEVER, 0, INJECT_NOTHING, INJECT_CM_EVENT)                    \
	CALL(rdma_getaddrinfo, MINUS_ONE, ENOMEM, INJECT_ADDRINFO, INJECT_NOTHING)            \
	CALL(rdma_freeaddrinfo, NEVER, 0, INJECT_NOTHING, INJECT_ADDRINFO)

#define ID(name, how, err, opens, closes) CALL_##name,
enum { CALLS(ID) CALL_COUNT };

/*
 * Every argument and result is an integer or a pointer, and there are at most six, which are all
 * passed in registers.
 */
typedef long any_fn(long, long, long, long, long, long);

#define WRAPPER(name, how, err, opens, closes) static any_fn wrap_##name;
CALLS(WRAPPER)

static struct call {
	const char *name;
	enum how how;
	int err;
	enum inject_object opens, closes;
	any_fn *wrapper;
	any_fn *real;
} calls[CALL_COUNT] = {
#define ROW(name_, how_, err_, opens_, closes_) \
	[CALL_##name_] = { .name = #name_,      \
			   .how = (how_),       \
			   .err = (err_),       \
			   .opens = (opens_),   \
			   .closes = (closes_), \
			   .wrapper = wrap_##name_ },
	CALLS(ROW)
};

/* The call that is to fail: counted from 1, atomic. */
static const struct call *armed;
static unsigned int counted, fail_at;
static bool happened;
static long live[INJECT_OBJECTS];

/*
 * Blocks of memory by address: blocks that libc allocates and libfabric frees must not be counted.
 */
enum { BLOCKS = 1 << 14, FREED = 1 };
static uintptr_t blocks[BLOCKS];
static struct link_map *library;
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

static uintptr_t *find_block(uintptr_t address, uintptr_t wanted)
{
	size_t i = (address >> 4) * 2654435761u % BLOCKS;

	while (blocks[i] != wanted && blocks[i])
		i = (i + 1) % BLOCKS;
	return &blocks[i];
}

static void add_block(long address)
{
	uintptr_t *block;

	if (!address)
		return;
	pthread_mutex_lock(&blocks_lock);
	block = find_block((uintptr_t)address, FREED);
	*block = (uintptr_t)address;
	live[INJECT_MEMORY]++;
	pthread_mutex_unlock(&blocks_lock);
}

static void remove_block(long address)
{
	uintptr_t *block;

	pthread_mutex_lock(&blocks_lock);
	block = find_block((uintptr_t)address, (uintptr_t)address);
	if (address && *block) {
		*block = FREED;
		live[INJECT_MEMORY]--;
	}
	pthread_mutex_unlock(&blocks_lock);
}

struct live_block {
	uintptr_t start, size;
	bool reached;
};

static struct live_block live_blocks[BLOCKS];
static size_t live_count;

static void list_blocks(void)
{
	size_t i;

	live_count = 0;
	for (i = 0; i < BLOCKS; i++)
		if (blocks[i] > FREED)
			live_blocks[live_count++] = (struct live_block){
				.start = blocks[i],
				.size = malloc_usable_size((void *)blocks[i]),
			};
}

/* Marks the blocks that these words point to, and the blocks that those point to. */
static __attribute__((no_sanitize("address"))) void reach(const uintptr_t *word, size_t count)
{
	struct live_block *block;

	for (; count--; word++) {
		for (block = live_blocks; block < live_blocks + live_count; block++) {
			if (*word - block->start >= block->size || block->reached)
				continue;
			block->reached = true;
			reach((uintptr_t *)block->start, block->size / sizeof(*word));
		}
	}
}

static int reach_from(struct dl_phdr_info *info, size_t size, void *map)
{
	const ElfW(Phdr) * segment;
	int i;

	(void)size;
	if (info->dlpi_addr != ((struct link_map *)map)->l_addr)
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W))
			reach((uintptr_t *)((info->dlpi_addr + segment->p_vaddr + 7) & ~7UL),
			      segment->p_memsz / sizeof(uintptr_t) - 1);
	}
	return 1;
}

long inject_leaks(void)
{
	long leaks = 0;
	size_t i;

	list_blocks();
	dl_iterate_phdr(reach_from, library);
	for (i = 0; i < live_count; i++)
		leaks += !live_blocks[i].reached;
	return leaks;
}

static bool succeeded(const struct call *call, long ret)
{
	switch (call->how) {
	case NO_OBJECT:
		return ret;
	case MINUS_ONE:
	case NEGATIVE:
		return (int)ret >= 0;
	default:
		return !(int)ret;
	}
}

static void swap_op(any_fn **op, int id)
{
	if (*op == calls[id].wrapper)
		return;
	calls[id].real = *op;
	*op = calls[id].wrapper;
}

/* Some go through the context. */
static void wrap_context(struct ibv_context *ctx)
{
	swap_op((any_fn **)(void *)&ctx->ops.post_send, CALL_ibv_post_send);
	swap_op((any_fn **)(void *)&ctx->ops.post_recv, CALL_ibv_post_recv);
	swap_op((any_fn **)(void *)&ctx->ops.post_srq_recv, CALL_ibv_post_srq_recv);
	swap_op((any_fn **)(void *)&ctx->ops.req_notify_cq, CALL_ibv_req_notify_cq);
	swap_op((any_fn **)(void *)&ctx->ops.alloc_mw, CALL_ibv_alloc_mw);
	swap_op((any_fn **)(void *)&ctx->ops.dealloc_mw, CALL_ibv_dealloc_mw);
	if (verbs_get_ctx(ctx))
		swap_op((any_fn **)(void *)&verbs_get_ctx(ctx)->query_port, CALL_ibv_query_port);
}

static void account(int id, const long *arg, long ret)
{
	enum inject_object opens = calls[id].opens;

	if (!opens || !succeeded(&calls[id], ret))
		return;
	if (id == CALL_vasprintf)
		add_block(*(long *)arg[0]);
	else if (opens == INJECT_MEMORY)
		add_block(ret);
	else
		__atomic_add_fetch(&live[opens], 1, __ATOMIC_RELAXED);
	if (id == CALL_ibv_open_device)
		wrap_context((struct ibv_context *)ret);
	if (id == CALL_rdma_get_cm_event &&
	    (*(struct rdma_cm_event **)arg[1])->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		__atomic_add_fetch(&live[INJECT_ID], 1, __ATOMIC_RELAXED);
}

static bool fails(const struct call *call)
{
	if (__atomic_load_n(&armed, __ATOMIC_ACQUIRE) != call)
		return false;
	if (__atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED) != fail_at)
		return false;
	__atomic_store_n(&happened, true, __ATOMIC_RELEASE);
	return true;
}

static long failure(const struct call *call)
{
	errno = call->err;
	switch (call->how) {
	case NO_OBJECT:
		return 0;
	case POSITIVE:
		return call->err;
	case NEGATIVE:
		return -call->err;
	case EAI:
		return EAI_MEMORY;
	default:
		return -1;
	}
}

static long dispatch(int id, const long *arg)
{
	const struct call *call = &calls[id];
	long ret;

	if (fails(call))
		return failure(call);
	if (call->closes == INJECT_MEMORY)
		remove_block(arg[0]);
	else if (call->closes && arg[0])
		__atomic_sub_fetch(&live[call->closes], 1, __ATOMIC_RELAXED);
	ret = call->real(arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	if (id == CALL_realloc && !ret && arg[1])
		add_block(arg[0]);
	account(id, arg, ret);
	return ret;
}

#define BODY(name, how, err, opens, closes)                                     \
	static long wrap_##name(long a, long b, long c, long d, long e, long f) \
	{                                                                       \
		return dispatch(CALL_##name, (long[]){ a, b, c, d, e, f });     \
	}
CALLS(BODY)

/* Putting them in */

#if defined(__x86_64__)
#define IS_IMPORT(type) \
	((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#elif defined(__aarch64__)
#define IS_IMPORT(type) \
	((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#else
#define IS_IMPORT(type) false
#endif

struct tables {
	const ElfW(Sym) * symbols;
	const char *strings;
	const ElfW(Rela) * rela[2];
	size_t size[2];
};

static struct tables find_tables(const struct link_map *map)
{
	struct tables tables = { 0 };
	const ElfW(Dyn) * dyn;

	for (dyn = map->l_ld; dyn->d_tag != DT_NULL; dyn++) {
		switch (dyn->d_tag) {
		case DT_SYMTAB:
			tables.symbols = (void *)dyn->d_un.d_ptr;
			break;
		case DT_STRTAB:
			tables.strings = (void *)dyn->d_un.d_ptr;
			break;
		case DT_RELA:
			tables.rela[0] = (void *)dyn->d_un.d_ptr;
			break;
		case DT_RELASZ:
			tables.size[0] = dyn->d_un.d_val;
			break;
		case DT_JMPREL:
			tables.rela[1] = (void *)dyn->d_un.d_ptr;
			break;
		case DT_PLTRELSZ:
			tables.size[1] = dyn->d_un.d_val;
			break;
		}
	}
	return tables;
}

static struct call *find_call(const char *name)
{
	int id;

	for (id = 0; id < CALL_COUNT; id++)
		if (!strcmp(calls[id].name, name))
			return &calls[id];
	return NULL;
}

/* The table may have been made read-only once it was complete. */
static void replace(any_fn **slot, any_fn *with)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *start = (void *)((uintptr_t)slot & ~(page - 1));

	if (mprotect(start, page, PROT_READ | PROT_WRITE)) {
		perror("mprotect");
		exit(1);
	}
	*slot = with;
}

static void import(const struct link_map *map, const char *name, const ElfW(Rela) * rela)
{
	struct call *call = find_call(name);

	if (!call)
		return;
	call->real = (any_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, name);
	if (!call->real)
		return;
	replace((any_fn **)(map->l_addr + rela->r_offset), call->wrapper);
}

/* libibverbs looks for its drivers once: here, instead of in each later process. */
static void load_drivers(void)
{
	any_fn *get = (any_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "ibv_get_device_list");
	any_fn *put = (any_fn *)(uintptr_t)dlsym(RTLD_DEFAULT, "ibv_free_device_list");
	long list = get && put ? get(0, 0, 0, 0, 0, 0) : 0;

	if (list)
		put(list, 0, 0, 0, 0, 0);
}

bool inject_install(void)
{
	void *handle = dlopen("libfabric.so.1", RTLD_LAZY | RTLD_NOLOAD);
	const ElfW(Rela) * rela;
	struct tables tables;
	int i;

	if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &library))
		return false;
	load_drivers();
	tables = find_tables(library);
	for (i = 0; i < 2; i++)
		for (rela = tables.rela[i];
		     (const char *)rela < (const char *)tables.rela[i] + tables.size[i]; rela++)
			if (IS_IMPORT(ELF64_R_TYPE(rela->r_info)) && ELF64_R_SYM(rela->r_info))
				import(library,
				       tables.strings +
					       tables.symbols[ELF64_R_SYM(rela->r_info)].st_name,
				       rela);
	return calls[CALL_malloc].real;
}

void inject_arm(const char *function, unsigned int n)
{
	counted = 0;
	fail_at = n;
	happened = false;
	__atomic_store_n(&armed, find_call(function), __ATOMIC_RELEASE);
}

void inject_disarm(void)
{
	__atomic_store_n(&armed, NULL, __ATOMIC_RELEASE);
}

bool inject_happened(void)
{
	return __atomic_load_n(&happened, __ATOMIC_ACQUIRE);
}

int inject_errno(const char *function)
{
	const struct call *call = find_call(function);

	return call ? call->err : 0;
}

long inject_live(enum inject_object object)
{
	return __atomic_load_n(&live[object], __ATOMIC_RELAXED);
}
