/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues of reliable-datagram endpoints: opening, reading, waiting. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <ofi/addr.h>
#include "prov/base/cq.h"
#include "prov/base/ops.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "all.h"
#include "cq.h"
#include "progress.h"
#include "prov/verbs/queue/cq.h"
#include "prov/verbs/provider/prov.h"

#define CQ_DEFAULT_SIZE 1024

static struct vrb_rdm_cq *rdm_cq(struct fid_cq *fid)
{
	return (struct vrb_rdm_cq *)fid;
}

static bool is_empty(const struct vrb_rdm_cq *cq)
{
	return ofi_cq_ring_empty(&cq->ring);
}

ssize_t vrb_rdm_cq_read_ring(struct vrb_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	ssize_t ret;

	if (is_empty(cq))
		return -FI_EAGAIN;
	if (count && !buf)
		return -FI_EINVAL;
	ofi_lock(&cq->lock);
	ret = ofi_cq_ring_read(&cq->ring, cq->format, buf, count, src);
	ofi_unlock(&cq->lock);
	return ret;
}

/* With cq->eps_lock held. */
static void progress_all(struct vrb_rdm_cq *cq)
{
	struct vrb_rdm *ep;

	LIST_FOREACH (ep, &cq->tx_eps, tx_link)
		vrb_rdm_progress(ep);
	LIST_FOREACH (ep, &cq->rx_eps, rx_link)
		vrb_rdm_progress(ep);
}

/* With cq->eps_lock held, which is released. */
OFI_OUTLINE ssize_t vrb_rdm_cq_read_many(struct vrb_rdm_cq *cq, void *buf, size_t count,
					 fi_addr_t *src)
{
	progress_all(cq);
	ofi_unlock(&cq->eps_lock);
	ofi_triggers_run(&cq->domain->triggers);
	return vrb_rdm_cq_read_ring(cq, buf, count, src);
}

/* The application may look at the address until it reads the next failure. */
static void copy_error(struct vrb_rdm_cq *cq, const struct ofi_cq_item *item,
		       struct fi_cq_err_entry *entry)
{
	const struct sockaddr *from = vrb_rdm_cq_sender(item);
	const struct fi_cq_err_entry error = {
		.op_context = item->context,
		.flags = item->flags & ~VRB_RDM_CQ_FROM,
		.len = item->len,
		.buf = item->buf,
		.data = item->data,
		.tag = item->tag,
		.olen = from ? 0 : item->olen,
		.err = item->err,
		.prov_errno = item->prov_errno,
	};

	ofi_cq_copy_error(cq->domain->info->fabric_attr->api_version, entry, &error, from,
			  ofi_addr_size(from));
	free(cq->sender);
	cq->sender = (void *)(uintptr_t)from;
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
	struct vrb_rdm_cq *cq = rdm_cq(fid);
	const struct ofi_cq_item *item;

	if (!entry)
		return -FI_EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	ofi_lock(&cq->lock);
	item = ofi_cq_ring_take_error(&cq->ring);
	if (item)
		copy_error(cq, item, entry);
	ofi_unlock(&cq->lock);
	return item ? 1 : -FI_EAGAIN;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	struct vrb_rdm_cq *cq = rdm_cq(fid);
	const char *text = prov_errno ? ibv_wc_status_str((enum ibv_wc_status)prov_errno)
				      : "ended by the library";

	(void)err_data;
	if (!buf || !len) {
		snprintf(cq->text, sizeof(cq->text), "%s", text);
		return cq->text;
	}
	snprintf(buf, len, "%s", text);
	return buf;
}

static bool is_empty_locked(struct vrb_rdm_cq *cq)
{
	bool empty;

	ofi_lock(&cq->lock);
	empty = is_empty(cq);
	ofi_unlock(&cq->lock);
	return empty;
}

static bool has_wait(const struct vrb_rdm_cq *cq)
{
	return cq->wait.obj != FI_WAIT_NONE;
}

/* -FI_EAGAIN: look again. 0: whatever comes from now on makes the descriptor readable. */
int vrb_rdm_cq_trywait(struct vrb_rdm_cq *cq)
{
	struct vrb_rdm *ep;
	int ret = 0;

	if (!has_wait(cq))
		return -FI_EINVAL;
	ofi_lock(&cq->eps_lock);
	ofi_wait_clear(&cq->wait);
	__atomic_store_n(&cq->waiting, true, __ATOMIC_SEQ_CST);
	LIST_FOREACH (ep, &cq->tx_eps, tx_link)
		if (vrb_rdm_arm(ep))
			ret = -FI_EAGAIN;
	LIST_FOREACH (ep, &cq->rx_eps, rx_link)
		if (vrb_rdm_arm(ep))
			ret = -FI_EAGAIN;
	ofi_unlock(&cq->eps_lock);
	ofi_triggers_run(&cq->domain->triggers);
	if (!is_empty_locked(cq)) {
		/* Others may sleep until the signal that was taken back here. */
		vrb_rdm_cq_wake(cq);
		ret = -FI_EAGAIN;
	}
	return ofi_triggers_due(&cq->domain->triggers) ? -FI_EAGAIN : ret;
}

/* 0: look again. -FI_EAGAIN: the time is over, or a signal ends the wait. */
static int nap(struct vrb_rdm_cq *cq, struct ofi_sleeper *sleeper, uint64_t start, int timeout)
{
	struct pollfd fd = { .fd = cq->epfd, .events = POLLIN };
	int left = ofi_wait_left(start, timeout), ret;

	ofi_sleeper_look(sleeper, &cq->wait);
	if (ofi_sleeper_ended(sleeper, &cq->wait) || !left)
		return -FI_EAGAIN;
	if (cq->epfd < 0) {
		sched_yield();
		return 0;
	}
	ret = vrb_rdm_cq_trywait(cq);
	if (ret)
		return ret == -FI_EAGAIN ? 0 : ret;
	ret = poll(&fd, 1, left);
	if (ret < 0)
		return errno == EINTR ? -FI_EAGAIN : -errno;
	return ret ? 0 : -FI_EAGAIN;
}

static ssize_t read_more(struct vrb_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	return src ? fi_cq_readfrom(&cq->fid, buf, count, src) : fi_cq_read(&cq->fid, buf, count);
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
			    const void *cond, int timeout)
{
	struct vrb_rdm_cq *cq = rdm_cq(fid);
	size_t done = 0, want = ofi_cq_threshold(cq->wait_cond, cond, count);
	struct ofi_sleeper sleeper;
	uint64_t start = ofi_now_ms();
	ssize_t ret;

	if (!has_wait(cq))
		return -FI_ENOSYS;
	ofi_sleeper_begin(&sleeper, &cq->wait);
	for (;;) {
		ret = read_more(cq, (char *)buf + done * ofi_cq_entry_size(cq->format),
				count - done, src ? src + done : NULL);
		if (ret > 0)
			done += ret;
		if (done >= want || (ret < 0 && ret != -FI_EAGAIN))
			break;
		ret = nap(cq, &sleeper, start, timeout);
		if (ret)
			break;
	}
	ofi_sleeper_leave(&sleeper, &cq->wait);
	return done ? (ssize_t)done : ret;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
	struct vrb_rdm_cq *cq = rdm_cq(fid);

	if (!has_wait(cq))
		return -FI_ENOSYS;
	ofi_wait_end(&cq->wait);
	return 0;
}

static void cq_free(struct vrb_rdm_cq *cq)
{
	uint32_t i;

	if (!cq)
		return;
	if (cq->epfd >= 0)
		close(cq->epfd);
	ofi_wait_fini(&cq->wait);
	for (i = cq->ring.head; i != cq->ring.tail; i++)
		free(vrb_rdm_cq_sender(&cq->ring.items[i & cq->ring.mask]));
	ofi_cq_ring_fini(&cq->ring);
	free(cq->sender);
	free(cq);
}

static int cq_close(struct fid *fid)
{
	struct vrb_rdm_cq *cq = (struct vrb_rdm_cq *)fid;
	int ret = ofi_ref_busy(&cq->ref);

	if (ofi_ref_inherited(&cq->domain->ref))
		return 0;
	if (ret) {
		FI_WARN(&vrb_prov, FI_LOG_CQ,
			"fi_close: completion queue %p is still bound; close its endpoints first\n",
			(void *)cq);
		return ret;
	}
	ofi_ref_put(&cq->domain->ref);
	cq_free(cq);
	return 0;
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct vrb_rdm_cq *cq = (struct vrb_rdm_cq *)fid;
	struct ofi_wait wait = { .obj = cq->wait.obj, .fd = cq->epfd };

	return ofi_wait_control(&wait, command, arg);
}

static const struct fi_ops cq_fid_ops = {
	.size = sizeof(struct fi_ops),
	OFI_FID_DEFAULTS,
	.close = cq_close,
	.control = cq_control,
};

#define CQ_OPS(nolock)                                                                    \
	{                                                                                 \
		.size = sizeof(struct fi_ops_cq), OFI_CQ_DEFAULTS,                        \
		.read = vrb_rdm_cq_read##nolock, .readfrom = vrb_rdm_cq_readfrom##nolock, \
		.readerr = cq_readerr, .sread = cq_sread, .sreadfrom = cq_sreadfrom,      \
		.signal = cq_signal, .strerror = cq_strerror,                             \
	}

static const struct fi_ops_cq cq_ops = CQ_OPS(), cq_nolock_ops = CQ_OPS(_nolock);

bool vrb_rdm_is_cq(const struct fid *fid)
{
	return fid->ops == &cq_fid_ops;
}

static int check_attr(const struct fi_cq_attr *attr)
{
	if (attr->flags & ~FI_AFFINITY)
		return -FI_EBADFLAGS;
	if ((attr->flags & FI_AFFINITY) && attr->signaling_vector < 0) {
		FI_WARN(&vrb_prov, FI_LOG_CQ,
			"fi_cq_open: signaling_vector %d; with FI_AFFINITY it is the number of a processor\n",
			attr->signaling_vector);
		return -FI_EINVAL;
	}
	if (attr->format > FI_CQ_FORMAT_TAGGED || attr->wait_cond > FI_CQ_COND_THRESHOLD)
		return -FI_EINVAL;
	switch (attr->wait_obj) {
	case FI_WAIT_NONE:
	case FI_WAIT_UNSPEC:
	case FI_WAIT_FD:
	case FI_WAIT_POLLFD:
	case FI_WAIT_YIELD:
		return 0;
	default:
		FI_WARN(&vrb_prov, FI_LOG_CQ,
			"fi_cq_open: wait_obj %d is not supported; use FI_WAIT_FD, POLLFD, YIELD, UNSPEC or NONE\n",
			attr->wait_obj);
		return -FI_ENOSYS;
	}
}

static int open_wait(struct vrb_rdm_cq *cq, enum fi_wait_obj obj)
{
	int ret = ofi_wait_init(&cq->wait, obj);

	cq->epfd = -1;
	if (ret || cq->wait.fd < 0)
		return ret;
	cq->epfd = epoll_create1(EPOLL_CLOEXEC);
	return cq->epfd < 0 ? -errno : vrb_rdm_cq_watch(cq, cq->wait.fd);
}

int vrb_rdm_cq_open(struct fid_domain *domain_fid, struct fi_cq_attr *attr, struct fid_cq **cq_fid,
		    void *context)
{
	static const struct fi_cq_attr none;
	struct vrb_domain *domain = vrb_domain(domain_fid);
	const struct fi_cq_attr *asked = attr ? attr : &none;
	struct vrb_rdm_cq *cq;
	int ret;

	ret = cq_fid ? check_attr(asked) : -FI_EINVAL;
	if (ret)
		return ret;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->domain = domain;
	cq->format = asked->format ? asked->format : FI_CQ_FORMAT_CONTEXT;
	cq->wait_cond = asked->wait_cond;
	cq->vector = vrb_cq_vector(domain, asked);
	cq->nolock = vrb_rdm_all_biased(domain->all);
	LIST_INIT(&cq->tx_eps);
	LIST_INIT(&cq->rx_eps);
	ret = open_wait(cq, asked->wait_obj);
	if (!ret)
		ret = ofi_cq_ring_init(&cq->ring, asked->size ? asked->size : CQ_DEFAULT_SIZE);
	if (ret) {
		cq_free(cq);
		return ret;
	}
	cq->fid = (struct fid_cq){
		.fid = { .fclass = FI_CLASS_CQ, .context = context, .ops = ofi_ops(&cq_fid_ops) },
		.ops = ofi_ops(cq->nolock ? &cq_nolock_ops : &cq_ops),
	};
	ofi_ref_get(&domain->ref);
	*cq_fid = &cq->fid;
	return 0;
}
