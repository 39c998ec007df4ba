/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues, whatever fills them: opening, the wait object, blocking reads, errors. A
 * provider embeds a struct ofi_cq, reads it with its own fi_cq_read and fi_cq_readfrom, and names
 * the rest below in its tables.
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
struct ofi_stats;

struct ofi_cq_ops {
	/* 0: whatever comes from now on makes the descriptor readable. -FI_EAGAIN: look again. */
	int (*trywait)(struct ofi_cq *cq);
	/* There may be something to read. */
	bool (*ready)(struct ofi_cq *cq);
	/* Takes the error that reads stop at. False: there is none. */
	bool (*take_error)(struct ofi_cq *cq, struct fi_cq_err_entry *entry);
};

/* What reading does not look at. */
struct ofi_cq_slow {
	const struct fi_provider *prov;
	const struct ofi_cq_ops *ops;
	struct ofi_ref *parent; /* the domain's */
	struct ofi_ref ref;	/* endpoints */
	enum fi_cq_wait_cond cond;
	struct ofi_wait wait; /* what software has to tell sleepers */
	int epfd; /* the descriptor of FI_GETWAIT: that of wait and those watched, or -1 */
	struct ofi_waitset_member member;
	struct ofi_stats *stats; /* counts sleeps; may be NULL */
};

struct ofi_cq {
	struct fid_cq fid;
	enum fi_cq_format format;
	struct ofi_cq_slow *slow;
};

/* 0 or -FI_E*, logged. sets: FI_WAIT_SET is served. */
int ofi_cq_check_attr(const struct fi_provider *prov, const struct fi_cq_attr *attr, bool sets);
/* The wait object, and all but the tables. 0 or -FI_E*; ofi_cq_fini() in any case. */
int ofi_cq_init(struct ofi_cq *cq, const struct fi_provider *prov, struct ofi_cq_slow *slow,
		const struct ofi_cq_ops *ops, struct ofi_ref *parent,
		const struct fi_cq_attr *attr);
void ofi_cq_fini(struct ofi_cq *cq);
/* With FI_WAIT_SET: from here on other threads may ask it. 0 or -FI_EINVAL, logged. */
int ofi_cq_join(struct ofi_cq *cq, const struct fi_provider *prov, const struct ofi_ref *fabric,
		const struct fi_cq_attr *attr);
/* Sleepers wake when it is readable. Nothing happens where nobody can sleep. 0 or -FI_E*. */
int ofi_cq_watch(struct ofi_cq *cq, int fd);
void ofi_cq_unwatch(struct ofi_cq *cq, int fd);
/* NULL unless it is such a queue, of this domain where one is named. */
struct ofi_cq *ofi_cq_of(struct fid *fid, const struct ofi_ref *domain);
int ofi_cq_trywait(struct ofi_cq *cq);
/* For tables. */
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

/* Bytes of an entry; not of FI_CQ_FORMAT_UNSPEC. */
size_t ofi_cq_entry_size(enum fi_cq_format format);
/* Entries, of count at most, that end a wait with the condition. */
size_t ofi_cq_threshold(enum fi_cq_wait_cond wait_cond, const void *cond, size_t count);
/*
 * An error for an application of that API version: the fields of `from` before err_data, and len
 * bytes of detail, in the application's buffer where it gave one, else where they are.
 */
void ofi_cq_copy_error(uint32_t version, struct fi_cq_err_entry *to,
		       const struct fi_cq_err_entry *from, const void *detail, size_t len);

#endif
