/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of a completion queue that does not depend on the provider: opening, the wait object,
 * blocking reads, errors. A provider embeds struct ofi_cq, implements fi_cq_read and
 * fi_cq_readfrom, and uses the functions below for the rest of its ops table.
 */
#ifndef OFI_CQ_H
#define OFI_CQ_H

#include <stdbool.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_prov.h>
#include "ref.h"
#include "wait.h"
#include "waitset.h"

struct ofi_cq;
struct ofi_cq_peer;
struct ofi_stats;

struct ofi_cq_ops {
	/*
	 * Returns 0 if every event from now on makes the descriptor readable, -FI_EAGAIN if the
	 * caller must poll again.
	 */
	int (*trywait)(struct ofi_cq *cq);
	/* Returns true if there may be something to read. */
	bool (*ready)(struct ofi_cq *cq);
	/* Removes the error at which reads stop. Returns false if there is none. */
	bool (*take_error)(struct ofi_cq *cq, struct fi_cq_err_entry *entry);
};

/* Fields that the fast path of reading does not use. */
struct ofi_cq_slow {
	const struct fi_provider *prov;
	const struct ofi_cq_ops *ops;
	struct ofi_ref *parent; /* the domain's references */
	struct ofi_ref ref;	/* bound endpoints */
	enum fi_cq_wait_cond cond;
	struct ofi_wait wait; /* for wake-ups by software */
	int epfd; /* the descriptor for FI_GETWAIT, which watches wait.fd and others; or -1 */
	struct ofi_waitset_member member;
	struct ofi_stats *stats;  /* counts blocking waits; may be NULL */
	struct ofi_cq_peer *peer; /* if the CQ is a peer of another (cq_peer.c), or NULL */
	/* Programs without fi_trywait() have old_ops, which call the provider's. */
	struct fi_ops_cq old_ops, *inner;
};

struct ofi_cq {
	struct fid_cq fid;
	enum fi_cq_format format;
	struct ofi_cq_slow *slow;
};

/* Checks the attributes. Returns 0, or logs and returns -FI_E*. */
int ofi_cq_check_attr(const struct fi_provider *prov, const struct fi_cq_attr *attr);
/*
 * Initializes the wait object and everything but the ops tables. Returns 0 or -FI_E*; ofi_cq_fini()
 * must follow in either case.
 */
int ofi_cq_init(struct ofi_cq *cq, const struct fi_provider *prov, struct ofi_cq_slow *slow,
		const struct ofi_cq_ops *ops, struct ofi_ref *parent,
		const struct fi_cq_attr *attr);
void ofi_cq_fini(struct ofi_cq *cq);
/*
 * Joins the wait set of FI_WAIT_SET; from now on other threads may call trywait. Returns 0, or logs
 * and returns -FI_E*.
 */
int ofi_cq_join(struct ofi_cq *cq, const struct fi_provider *prov, const struct ofi_ref *fabric,
		const struct fi_cq_attr *attr);
/*
 * Wakes sleepers when fd becomes readable. Does nothing if the CQ has no wait object. Returns 0 or
 * -FI_E*.
 */
int ofi_cq_watch(struct ofi_cq *cq, int fd);
void ofi_cq_unwatch(struct ofi_cq *cq, int fd);
/* Replaces the ops of a new CQ if the program of that API version cannot know fi_trywait(). */
void ofi_cq_arm_reads(struct ofi_cq *cq, uint32_t api_version);
/* Makes such a program read, so that it requests a wakeup of an endpoint that is bound now, too. */
static inline void ofi_cq_rearm(struct ofi_cq *cq)
{
	if (cq->slow->inner)
		ofi_wait_signal(&cq->slow->wait);
}
/*
 * Returns the CQ of a fid. Returns NULL if the fid is not one of these CQs, or if `domain` is not
 * NULL and the CQ belongs to another domain.
 */
struct ofi_cq *ofi_cq_of(struct fid *fid, const struct ofi_ref *domain);
int ofi_cq_trywait(struct fid *fid);
/* These functions are for ops tables. */
ssize_t ofi_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags);
ssize_t ofi_cq_sread(struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout);
ssize_t ofi_cq_sreadfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src,
			 const void *cond, int timeout);
int ofi_cq_signal(struct fid_cq *cq);
int ofi_cq_control(struct fid *cq, int command, void *arg);

static inline bool ofi_cq_can_wait(const struct ofi_cq *cq)
{
	return cq->slow->wait.obj != FI_WAIT_NONE;
}

/* Returns the size of an entry; FI_CQ_FORMAT_UNSPEC is not allowed. */
static inline size_t ofi_cq_entry_size(enum fi_cq_format format)
{
	static const uint8_t sizes[] = {
		[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
		[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
		[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
		[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
	};

	return sizes[format];
}

/*
 * Copies an error entry for an application of the given API version: the fields of `from` before
 * err_data, and len bytes of detail. The detail goes to the application's buffer if it provided
 * one; otherwise err_data points to it.
 */
void ofi_cq_copy_error(uint32_t version, struct fi_cq_err_entry *to,
		       const struct fi_cq_err_entry *from, const void *detail, size_t len);

#endif
