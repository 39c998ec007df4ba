/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes each RDMA device look like an Elastic Fabric Adapter, preloaded or linked into a test: its
 * vendor, its attributes and limits, what it refuses, and completions in any order. The data path
 * remains that of the device, whose UD queue pairs work alike.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>
#include "fake.h"

#undef ibv_query_port
#undef ibv_reg_mr

enum {
	VENDOR = 0x1d0f,
	QUEUE_MAX = 512,
	RQ_MAX = 1536, /* segments */
	SQ_SGE = 2,
	RQ_SGE = 3,
	INLINE_MAX = 32,
	GRH = 40,
	SRD_MAX = 64,
	HELD_MAX = 8,
	REFUSED_MAX = 64,
	PAGE = 4096,
	NUMBERS = 65536
};

/* Here the processes of a host tell each other which SRD queue pairs exist. */
#define REGISTRY "/weft-fake-efa"

/* Those of the device's driver, the same for all devices. */
static int (*real_query_port)(struct ibv_context *, uint8_t, struct ibv_port_attr *, size_t);
static int (*real_poll_cq)(struct ibv_cq *, int, struct ibv_wc *);
static int (*real_post_send)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static int (*real_post_recv)(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int most_held;

static void *real(const char *name)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (symbol)
		return symbol;
	fprintf(stderr, "fake efa: there is no %s\n", name);
	abort();
}

/* The library's ibv_reg_mr() would call the function below. */
static struct ibv_mr *real_reg(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	struct ibv_mr *(*call)(struct ibv_pd *, void *, size_t, uint64_t, unsigned int) =
		real("ibv_reg_mr_iova2");

	return call(pd, addr, len, (uintptr_t)addr, (unsigned int)access);
}

/* An adapter has no link layer that verbs knows, and its longest message is its MTU. */
static int fake_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr,
			   size_t len)
{
	int err = real_query_port(ctx, port, attr, len);

	if (err)
		return err;
	attr->link_layer = IBV_LINK_LAYER_UNSPECIFIED;
	attr->max_msg_sz = 128u << attr->active_mtu;
	return 0;
}

/*
 * SRD queue pairs are UD queue pairs of the device. The network header that the device puts before
 * each packet goes elsewhere. Packets leave in any order, and for some the receiver is not ready,
 * or gone. What is held back to change the order stays here if the process is stopped: with
 * FAKE_EFA_ORDER set nothing is held.
 */
static struct {
	struct ibv_qp *qp;
	struct ibv_mr *spill;
	struct ibv_send_wr *held[HELD_MAX]; /* posted later */
	int held_count;
	struct ibv_wc refused[REFUSED_MAX]; /* reported without being sent */
	int refused_count;
	unsigned int seed;
} srds[SRD_MAX];

static int srd_of_number(uint32_t number)
{
	int i;

	for (i = 0; i < SRD_MAX; i++)
		if (srds[i].qp && srds[i].qp->qp_num == number)
			return i;
	return -1;
}

/* The host's queue pairs, by their numbers. */
struct entry {
	uint32_t number;
	pid_t pid; /* 0: the queue pair is gone */
	uint32_t qkey;
	int room; /* receives that are posted, less packets on their way; atomic */
};

static struct entry *registry;

void *fake_share(const char *name, size_t size)
{
	/* Other users have queue pairs, too. */
	int fd = shm_open(name, O_RDWR | O_CREAT, 0666);
	void *shared;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		abort();
	fchmod(fd, 0666);
	shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED)
		abort();
	close(fd);
	return shared;
}

static struct entry *entry_of(uint32_t number)
{
	return &registry[number % NUMBERS];
}

static void enlist(uint32_t number, pid_t pid)
{
	*entry_of(number) = (struct entry){ .number = number, .pid = pid };
}

bool fake_is_in(pid_t pid, const char *states)
{
	char path[32], text[256];
	const char *name_end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return errno == ENOENT && strchr(states, 'X');
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	name_end = strrchr(text, ')');
	return name_end && name_end[1] && strchr(states, name_end[2]);
}

/* A process that its parent has not waited for yet has no queue pairs any more. */
static bool has_ended(pid_t pid)
{
	return fake_is_in(pid, "ZX");
}

enum ibv_wc_status fake_owner(uint32_t number, pid_t *pid)
{
	const struct entry *entry = entry_of(number);

	*pid = entry->number == number ? entry->pid : 0;
	return entry->number == number && (!*pid || has_ended(*pid)) ? IBV_WC_REM_INV_RD_REQ_ERR
								     : IBV_WC_SUCCESS;
}

uint32_t fake_qkey(uint32_t number)
{
	return entry_of(number)->qkey;
}

/* Returns what is reported of a packet. A queue pair of another host counts as there. */
static enum ibv_wc_status fate(uint32_t to, unsigned int *seed)
{
	struct entry *entry = entry_of(to);
	pid_t pid;

	if (fake_owner(to, &pid))
		return IBV_WC_REM_INV_RD_REQ_ERR;
	if (!pid)
		return IBV_WC_SUCCESS;
	if (rand_r(seed) % 50 == 0)
		return IBV_WC_RNR_RETRY_EXC_ERR;
	if (__atomic_fetch_sub(&entry->room, 1, __ATOMIC_RELAXED) > 0)
		return IBV_WC_SUCCESS;
	__atomic_add_fetch(&entry->room, 1, __ATOMIC_RELAXED);
	return IBV_WC_RNR_RETRY_EXC_ERR;
}

static int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct ibv_recv_wr one;
	struct ibv_sge sge[2];
	int i = srd_of_number(qp->qp_num), err;

	if (i < 0)
		return real_post_recv(qp, wr, bad);
	sge[0] = (struct ibv_sge){ .addr = (uintptr_t)srds[i].spill->addr,
				   .length = GRH,
				   .lkey = srds[i].spill->lkey };
	for (; wr; wr = wr->next) {
		one = *wr;
		sge[1] = wr->sg_list[0];
		one.sg_list = sge;
		one.num_sge = 2;
		one.next = NULL;
		err = real_post_recv(qp, &one, bad);
		if (err) {
			*bad = wr;
			return err;
		}
		__atomic_add_fetch(&entry_of(qp->qp_num)->room, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

static struct ibv_send_wr *wr_copy(const struct ibv_send_wr *wr)
{
	size_t len = wr->send_flags & IBV_SEND_INLINE ? wr->sg_list[0].length : 0;
	struct {
		struct ibv_send_wr wr;
		struct ibv_sge sge;
		char data[INLINE_MAX];
	} *copy = calloc(1, sizeof(*copy));

	if (!copy)
		abort();
	copy->wr = *wr;
	copy->sge = wr->sg_list[0];
	copy->wr.sg_list = &copy->sge;
	copy->wr.next = NULL;
	if (len)
		memcpy(copy->data, (void *)(uintptr_t)wr->sg_list[0].addr, len);
	if (len)
		copy->sge.addr = (uintptr_t)copy->data;
	return &copy->wr;
}

static void post_held(int i)
{
	struct ibv_send_wr *bad;
	int at;

	while (srds[i].held_count) {
		at = rand_r(&srds[i].seed) % srds[i].held_count;
		if (real_post_send(srds[i].qp, srds[i].held[at], &bad))
			abort();
		free(srds[i].held[at]);
		srds[i].held[at] = srds[i].held[--srds[i].held_count];
	}
}

static void srd_send(int i, struct ibv_send_wr *wr)
{
	struct ibv_wc wc = { .wr_id = wr->wr_id, .qp_num = srds[i].qp->qp_num };

	pthread_mutex_lock(&lock);
	wr->send_flags |= IBV_SEND_SIGNALED;
	if (fake_keep(srds[i].qp, &wc, wr->wr.ud.remote_qpn)) {
		pthread_mutex_unlock(&lock);
		return;
	}
	wc.status = fate(wr->wr.ud.remote_qpn, &srds[i].seed);
	if (wc.status && srds[i].refused_count < REFUSED_MAX) {
		srds[i].refused[srds[i].refused_count++] = wc;
	} else {
		srds[i].held[srds[i].held_count++] = wr_copy(wr);
		if (srds[i].held_count == most_held || rand_r(&srds[i].seed) % 3 == 0)
			post_held(i);
	}
	pthread_mutex_unlock(&lock);
}

/* Posts what is held, and reports packets whose receiver was not ready, or is gone. */
static int srd_poll(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	int i, n = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < SRD_MAX; i++) {
		if (!srds[i].qp || srds[i].qp->send_cq != cq)
			continue;
		post_held(i);
		while (n < count && srds[i].refused_count)
			wc[n++] = srds[i].refused[--srds[i].refused_count];
	}
	n += fake_kept_poll(cq, count - n, wc + n);
	pthread_mutex_unlock(&lock);
	return n + fake_reader_poll(cq, count - n, wc + n);
}

/* Returns true for what libefa takes: each work request has a completion. */
static bool is_taken(const struct ibv_send_wr *wr)
{
	unsigned int flags = wr->send_flags & ~(unsigned int)IBV_SEND_INLINE;
	uint32_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return (wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM) &&
	       flags == IBV_SEND_SIGNALED &&
	       (wr->send_flags & IBV_SEND_INLINE ? len <= INLINE_MAX : wr->num_sge <= SQ_SGE);
}

static int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int srd = srd_of_number(qp->qp_num);
	struct ibv_send_wr *at;

	for (at = wr; at; at = at->next) {
		if (!is_taken(at)) {
			fprintf(stderr, "fake efa: opcode %d, flags 0x%x, %d segments\n",
				at->opcode, at->send_flags, at->num_sge);
			abort();
		}
		if (srd >= 0)
			srd_send(srd, at);
	}
	return srd >= 0 ? 0 : real_post_send(qp, wr, bad);
}

/*
 * Shuffles what is there, except received packets: SRD has no order, but a packet that was sent
 * once another had arrived does not overtake it in the queue.
 */
static int fake_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	static __thread unsigned int seed = 1;
	struct ibv_wc other;
	int i, j, srd, n;

	if (fake_take_stale(cq))
		return -EINVAL;
	srd = srd_poll(cq, count, wc);
	n = real_poll_cq(cq, count - srd, wc + srd);
	if (n < 0)
		return srd ? srd : n;
	n += srd;
	for (i = 0; i < n; i++) {
		wc[i].wc_flags &= ~(unsigned int)IBV_WC_GRH;
		fake_put_code(&wc[i]);
		srd = srd_of_number(wc[i].qp_num);
		if (srd >= 0 && wc[i].opcode == IBV_WC_RECV && wc[i].status == IBV_WC_SUCCESS)
			wc[i].byte_len -= GRH;
	}
	for (i = n - 1; i > 0; i--) {
		j = rand_r(&seed) % (i + 1);
		if (srd_of_number(wc[i].qp_num) >= 0 || srd_of_number(wc[j].qp_num) >= 0)
			continue;
		other = wc[i];
		wc[i] = wc[j];
		wc[j] = other;
	}
	return n;
}

static void take_over(struct ibv_context *ctx)
{
	struct verbs_context *verbs = verbs_get_ctx(ctx);

	pthread_mutex_lock(&lock);
	if (verbs->query_port != fake_query_port) {
		real_query_port = verbs->query_port;
		real_poll_cq = ctx->ops.poll_cq;
		real_post_send = ctx->ops.post_send;
		verbs->query_port = fake_query_port;
		ctx->ops.poll_cq = fake_poll_cq;
		real_post_recv = ctx->ops.post_recv;
		ctx->ops.post_send = fake_post_send;
		ctx->ops.post_recv = fake_post_recv;
	}
	pthread_mutex_unlock(&lock);
}

/* These replace the functions of libibverbs and libefa. */
#pragma GCC visibility push(default)

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*call)(struct ibv_device *) = real("ibv_open_device");
	struct ibv_context *ctx = call(device);

	device->node_type = IBV_NODE_UNSPECIFIED;
	device->transport_type = IBV_TRANSPORT_UNSPECIFIED;
	if (ctx)
		take_over(ctx);
	return ctx;
}

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *attr)
{
	int (*call)(struct ibv_context *, struct ibv_device_attr *) = real("ibv_query_device");
	int err = call(ctx, attr);

	if (err)
		return err;
	attr->vendor_id = VENDOR;
	attr->max_qp_wr = QUEUE_MAX;
	attr->max_sge = SQ_SGE;
	attr->atomic_cap = IBV_ATOMIC_NONE;
	attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 0;
	attr->max_srq = attr->max_srq_wr = attr->max_srq_sge = attr->max_mw = 0;
	return 0;
}

int efadv_query_device(struct ibv_context *ctx, struct efadv_device_attr *attr, uint32_t len)
{
	(void)ctx;
	if (len < sizeof(*attr))
		return EINVAL;
	*attr = (struct efadv_device_attr){
		.max_sq_wr = QUEUE_MAX,
		.max_rq_wr = RQ_MAX,
		.max_sq_sge = SQ_SGE,
		.max_rq_sge = RQ_SGE,
		.inline_buf_size = INLINE_MAX,
		.device_caps = EFADV_DEVICE_ATTR_CAPS_RNR_RETRY,
	};
	if (fake_reads()) {
		attr->device_caps |= EFADV_DEVICE_ATTR_CAPS_RDMA_READ;
		attr->max_rdma_size = FAKE_MAX_READ;
	}
	return 0;
}

static bool fits(const struct ibv_qp_cap *cap)
{
	return cap->max_inline_data <= INLINE_MAX && cap->max_send_sge <= SQ_SGE &&
	       cap->max_recv_sge <= RQ_SGE && cap->max_send_wr <= QUEUE_MAX &&
	       cap->max_recv_wr * cap->max_recv_sge <= RQ_MAX;
}

static struct ibv_qp *real_create(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *(*call)(struct ibv_pd *, struct ibv_qp_init_attr *) = real("ibv_create_qp");

	return call(pd, attr);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	if (attr->qp_type != IBV_QPT_UD || attr->srq) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (!fits(&attr->cap)) {
		errno = EINVAL;
		return NULL;
	}
	return real_create(pd, attr);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t len, int access)
{
	int known = IBV_ACCESS_LOCAL_WRITE | (fake_reads() ? IBV_ACCESS_REMOTE_READ : 0);
	struct ibv_mr *mr;

	if (access & ~known) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	mr = real_reg(pd, addr, len, access & IBV_ACCESS_LOCAL_WRITE);
	if (!mr)
		return NULL;
	mr->rkey = mr->lkey;
	if (fake_reads())
		fake_region_add(mr, access);
	return mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	int (*call)(struct ibv_mr *) = real("ibv_dereg_mr");

	if (fake_reads())
		fake_region_remove(mr);
	return call(mr);
}

struct ibv_qp *efadv_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *ex,
				  struct efadv_qp_init_attr *efa, uint32_t len)
{
	struct ibv_qp_init_attr attr = { .qp_context = ex->qp_context,
					 .send_cq = ex->send_cq,
					 .recv_cq = ex->recv_cq,
					 .cap = ex->cap,
					 .qp_type = IBV_QPT_UD };
	bool has_reads = ex->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_qp *qp;
	void *spill;
	int i;

	(void)ctx;
	if (ex->qp_type != IBV_QPT_DRIVER || !(ex->comp_mask & IBV_QP_INIT_ATTR_PD) ||
	    len < sizeof(*efa) || efa->driver_qp_type != EFADV_QP_DRIVER_TYPE_SRD ||
	    attr.cap.max_recv_sge > 1 || !fits(&attr.cap) || (has_reads && !fake_reads())) {
		errno = EINVAL;
		return NULL;
	}
	attr.cap.max_recv_sge = 2;
	qp = real_create(ex->pd, &attr);
	if (!qp)
		return NULL;
	pthread_mutex_lock(&lock);
	for (i = 0; i < SRD_MAX && srds[i].qp; i++)
		;
	if (i == SRD_MAX)
		abort();
	/* A page of its own: it may not be copied to a child. */
	spill = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	srds[i].spill = real_reg(ex->pd, spill, PAGE, IBV_ACCESS_LOCAL_WRITE);
	if (!srds[i].spill)
		abort();
	if (!registry)
		registry = fake_share(REGISTRY, NUMBERS * sizeof(*registry));
	most_held = getenv("FAKE_EFA_ORDER") ? 1 : HELD_MAX;
	enlist(qp->qp_num, getpid());
	srds[i].held_count = srds[i].refused_count = 0;
	srds[i].seed = (unsigned int)i + 1;
	srds[i].qp = qp;
	if (has_reads)
		fake_reader_open(qp);
	pthread_mutex_unlock(&lock);
	return qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int (*call)(struct ibv_qp *, struct ibv_qp_attr *, int) = real("ibv_modify_qp");

	if (srd_of_number(qp->qp_num) >= 0 && mask & IBV_QP_QKEY)
		entry_of(qp->qp_num)->qkey = attr->qkey;
	if (srd_of_number(qp->qp_num) >= 0)
		mask &= ~IBV_QP_RNR_RETRY; /* which soft-RoCE refuses */
	return call(qp, attr, mask);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int (*call)(struct ibv_qp *) = real("ibv_destroy_qp");
	int (*dereg)(struct ibv_mr *) = real("ibv_dereg_mr");
	int i = srd_of_number(qp->qp_num), err;
	void *spill;

	fake_add_stale(qp);
	if (i < 0)
		return call(qp);
	fake_reader_close(qp);
	pthread_mutex_lock(&lock);
	post_held(i);
	fake_keep_none(qp);
	enlist(qp->qp_num, 0);
	err = call(qp);
	srds[i].qp = NULL;
	spill = srds[i].spill->addr;
	dereg(srds[i].spill);
	munmap(spill, PAGE);
	pthread_mutex_unlock(&lock);
	return err;
}

/* Called by ibv_reg_mr() if the access is not constant. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len, uint64_t iova,
				unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, len, (int)access);
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	(void)cq;
	(void)cqe;
	return EOPNOTSUPP;
}

#pragma GCC visibility pop
