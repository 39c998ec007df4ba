/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RDMA reads of the fake adapter: the processes of a host list their regions in shared memory, and
 * whoever reads copies from the memory of the other process. Reads complete in any order, when the
 * CQ is polled, some of them late. Queue pairs of other hosts cannot be read from.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "fake.h"

#undef ibv_reg_mr

enum { REGIONS = 65536, READERS = 64, READS = 512 };

#define LIST "/weft-fake-efa-regions"

struct region {
	uint32_t key;
	pid_t pid; /* 0: there is none */
	int access;
	uint64_t addr, len;
	uint64_t generation;
};

struct read {
	uint64_t id, addr, remote;
	uint32_t lkey, rkey, len, qpn, qkey;
};

static struct reader {
	struct ibv_qp_ex ex; /* first */
	const struct ibv_qp *qp;
	struct read next; /* being built */
	struct read reads[READS];
	int count;
	unsigned int seed;
} readers[READERS];

static struct region *regions;
static unsigned long reads_done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

bool fake_reads(void)
{
	return getenv("FAKE_EFA_READ");
}

unsigned long fake_reads_done(void)
{
	return __atomic_load_n(&reads_done, __ATOMIC_RELAXED);
}

/* The lowest byte of a key is random, the rest the region's number. */
static struct region *region_of(uint32_t key)
{
	pthread_mutex_lock(&lock);
	if (!regions)
		regions = fake_share(LIST, REGIONS * sizeof(*regions));
	pthread_mutex_unlock(&lock);
	return &regions[(key >> 8) % REGIONS];
}

void fake_region_add(const struct ibv_mr *mr, int access)
{
	struct region *region = region_of(mr->lkey);
	uint64_t generation = __atomic_add_fetch(&region->generation, 1, __ATOMIC_SEQ_CST);

	*region = (struct region){ .key = mr->lkey,
				   .pid = getpid(),
				   .access = access,
				   .addr = (uintptr_t)mr->addr,
				   .len = mr->length,
				   .generation = generation };
}

void fake_region_remove(const struct ibv_mr *mr)
{
	struct region *region = region_of(mr->lkey);

	if (region->key != mr->lkey || region->pid != getpid())
		return;
	region->pid = 0;
	__atomic_add_fetch(&region->generation, 1, __ATOMIC_SEQ_CST);
}

static bool permits(const struct region *region, pid_t pid, uint32_t key, int access, uint64_t addr,
		    uint32_t len)
{
	return region->pid == pid && region->key == key && region->access & access &&
	       addr >= region->addr && len <= region->len &&
	       addr - region->addr <= region->len - len;
}

/* What was copied does not count if the region is gone meanwhile. */
static enum ibv_wc_status copy(const struct read *read, pid_t pid)
{
	const struct region *region = region_of(read->rkey);
	uint64_t generation = __atomic_load_n(&region->generation, __ATOMIC_SEQ_CST);
	void *bytes = malloc(read->len);
	struct iovec to = { bytes, read->len };
	struct iovec from = { (void *)(uintptr_t)read->remote, read->len };
	bool right;

	if (!bytes)
		abort();
	right = permits(region, pid, read->rkey, IBV_ACCESS_REMOTE_READ, read->remote, read->len) &&
		process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)read->len &&
		__atomic_load_n(&region->generation, __ATOMIC_SEQ_CST) == generation;
	if (right)
		memcpy((void *)(uintptr_t)read->addr, bytes, read->len);
	free(bytes);
	return right ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
}

static enum ibv_wc_status carry_out(const struct read *read)
{
	const struct region *local = region_of(read->lkey);
	enum ibv_wc_status status;
	pid_t pid;

	__atomic_add_fetch(&reads_done, 1, __ATOMIC_RELAXED);
	if (!permits(local, getpid(), read->lkey, IBV_ACCESS_LOCAL_WRITE, read->addr, read->len))
		return IBV_WC_LOC_PROT_ERR;
	status = fake_owner(read->qpn, &pid);
	if (status)
		return status;
	/* Nobody answers those who do not know the Q_Key. */
	if (!pid || fake_qkey(read->qpn) != read->qkey)
		return IBV_WC_RESP_TIMEOUT_ERR;
	status = copy(read, pid);
	/* A process that ends has no regions, but its queue pair matters more. */
	return status && fake_owner(read->qpn, &pid) ? IBV_WC_REM_INV_RD_REQ_ERR : status;
}

static void start(struct ibv_qp_ex *ex)
{
	pthread_mutex_lock(&lock);
	((struct reader *)ex)->next = (struct read){ 0 };
}

static void rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote)
{
	struct read *next = &((struct reader *)ex)->next;

	next->id = ex->wr_id;
	next->rkey = rkey;
	next->remote = remote;
	if (ex->wr_flags != IBV_SEND_SIGNALED)
		abort();
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t len)
{
	struct read *next = &((struct reader *)ex)->next;

	next->lkey = lkey;
	next->addr = addr;
	next->len = len;
}

static void set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	(void)ah;
	((struct reader *)ex)->next.qpn = qpn;
	((struct reader *)ex)->next.qkey = qkey;
}

static int complete(struct ibv_qp_ex *ex)
{
	struct reader *reader = (struct reader *)ex;

	if (!reader->next.len || reader->next.len > FAKE_MAX_READ || !reader->next.qpn) {
		fprintf(stderr, "fake efa: a read of %u B\n", reader->next.len);
		abort();
	}
	if (reader->count == READS)
		abort();
	reader->reads[reader->count++] = reader->next;
	pthread_mutex_unlock(&lock);
	return 0;
}

void fake_reader_open(struct ibv_qp *qp)
{
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < READERS && readers[i].qp; i++)
		;
	if (i == READERS)
		abort();
	readers[i].qp = qp;
	readers[i].count = 0;
	readers[i].seed = (unsigned int)i + 1;
	readers[i].ex.qp_base = *qp;
	readers[i].ex.wr_start = start;
	readers[i].ex.wr_rdma_read = rdma_read;
	readers[i].ex.wr_set_sge = set_sge;
	readers[i].ex.wr_set_ud_addr = set_ud_addr;
	readers[i].ex.wr_complete = complete;
	pthread_mutex_unlock(&lock);
}

void fake_reader_close(const struct ibv_qp *qp)
{
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < READERS; i++)
		if (readers[i].qp == qp)
			readers[i].qp = NULL;
	pthread_mutex_unlock(&lock);
}

/* Takes any of the reads. */
static struct read take(struct reader *reader)
{
	int at = rand_r(&reader->seed) % reader->count;
	struct read read = reader->reads[at];

	reader->reads[at] = reader->reads[--reader->count];
	return read;
}

static int run(struct reader *reader, int count, struct ibv_wc *wc)
{
	struct read read;
	int n = 0;

	/* Some are late: other packets and reads overtake them. */
	while (n < count && reader->count && rand_r(&reader->seed) % 4) {
		read = take(reader);
		pthread_mutex_unlock(&lock);
		wc[n++] = (struct ibv_wc){ .wr_id = read.id,
					   .status = carry_out(&read),
					   .opcode = IBV_WC_SEND, /* libefa knows no other */
					   .qp_num = reader->qp->qp_num };
		pthread_mutex_lock(&lock);
	}
	return n;
}

int fake_reader_poll(const struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	int i, n = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < READERS; i++)
		if (readers[i].qp && readers[i].qp->send_cq == cq)
			n += run(&readers[i], count - n, wc + n);
	pthread_mutex_unlock(&lock);
	return n;
}

/* This replaces the function of libibverbs. */
#pragma GCC visibility push(default)

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	int i;

	for (i = 0; i < READERS; i++)
		if (readers[i].qp == qp)
			return &readers[i].ex;
	return NULL;
}

#pragma GCC visibility pop
