/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A software event queue: any thread of the provider posts events, the application reads them.
 * Events keep their order, and each error is kept until it is read.
 */
#ifndef OFI_EQ_H
#define OFI_EQ_H

#include <stdbool.h>
#include <sys/queue.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include "src/ds/lock.h"
#include "loop.h"
#include "ref.h"
#include "wait.h"
#include "waitset.h"

struct ofi_eq_item; /* one event or error, private to eq.c */
TAILQ_HEAD(ofi_eq_list, ofi_eq_item);

typedef const char *ofi_eq_strerror_fn(int prov_errno, const void *err_data, size_t len, char *buf,
				       size_t buflen);

struct ofi_eq {
	struct fid_eq fid;
	struct ofi_ref ref; /* fids bound to it */
	struct ofi_ref *parent;
	const struct fi_provider *prov;
	uint32_t api_version; /* the fabric's; before 1.5 callers have no buffer for err_data */
	ofi_eq_strerror_fn *strerror;
	struct ofi_wait wait;
	struct ofi_waitset_member member;
	/* The source of most events, which threads that wait in fi_eq_sread may serve; or NULL. */
	struct ofi_loop *loop;
	struct ofi_source *source;
	/* An event before this time, in ms, closely follows the last one; atomic. */
	uint64_t busy_until;
	unsigned int streak;  /* number of events that followed each other closely; atomic */
	struct ofi_lock lock; /* guards what follows */
	/* In order; while an error is at the head, reads return -FI_EAVAIL. */
	struct ofi_eq_list items;
	struct ofi_eq_item *last_err; /* owns the err_data returned by the last readerr */
	bool writable;		      /* opened with FI_WRITE */
	/*
	 * Set when out of memory: later events are lost, and FI_EOVERRUN is read after the others.
	 */
	bool overrun;
	bool unsignaled; /* a thread posted events that it is about to read itself */
};

static inline struct ofi_eq *ofi_eq(struct fid_eq *fid)
{
	return (struct ofi_eq *)fid;
}

/*
 * Returns the EQ of a fid, or NULL if the fid is not an EQ of the fabric whose references are
 * *fabric.
 */
static inline struct ofi_eq *ofi_eq_of(struct fid *fid, const struct ofi_ref *fabric)
{
	struct ofi_eq *eq = (struct ofi_eq *)fid;

	return fid && fid->fclass == FI_CLASS_EQ && eq->parent == fabric ? eq : NULL;
}

/* Opens an EQ; closing it releases a reference on *parent, the fabric's. */
int ofi_eq_open(const struct fi_provider *prov, uint32_t api_version, struct ofi_ref *parent,
		const struct fi_eq_attr *attr, ofi_eq_strerror_fn *strerror, struct fid_eq **eq,
		void *context);
/*
 * Binds an event queue to an object of this fabric, which keeps it in *slot, and takes a reference.
 */
int ofi_eq_bind(const struct fi_provider *prov, enum fi_log_subsys subsys, const char *call,
		struct ofi_eq **slot, struct fid *eq, const struct ofi_ref *fabric, uint64_t flags);
/* Names the source of most events before the EQ is used. */
static inline void ofi_eq_set_source(struct ofi_eq *eq, struct ofi_loop *loop,
				     struct ofi_source *source)
{
	eq->loop = loop;
	eq->source = source;
}
/* Appends an event with a copy of its entry (fi_eq_entry, or fi_eq_cm_entry followed by data). */
int ofi_eq_post(struct ofi_eq *eq, uint32_t event, const void *entry, size_t len);
/* Appends an error and copies err_data. */
int ofi_eq_post_err(struct ofi_eq *eq, const struct fi_eq_err_entry *entry);
/* Appends an event of a fid, with its context. Does nothing if eq is NULL. */
void ofi_eq_report(struct ofi_eq *eq, uint32_t event, const struct fid *fid, uint64_t data);
void ofi_eq_report_err(struct ofi_eq *eq, const struct fid *fid, int err, int prov_errno);
/*
 * Drops the events of a fid that is being closed, or all events if fid is NULL. Rejects their
 * unread connection requests, with fi_reject of the passive endpoint, which is still there. Does
 * nothing if eq is NULL.
 */
void ofi_eq_forget(struct ofi_eq *eq, const struct fid *fid);
/* Returns 0 if the caller may sleep on the wait object, -FI_EAGAIN if an event is queued. */
int ofi_eq_trywait(struct fid *fid);

#endif
