/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An event queue in software: any thread of the provider posts, the application reads.
 * Events keep their order, each error is kept until it is read.
 */
#ifndef OFI_EQ_H
#define OFI_EQ_H

#include <stdbool.h>
#include <sys/queue.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_prov.h>
#include "src/ds/lock.h"
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
	uint32_t api_version; /* of the fabric: before 1.5 error entries end at err_data */
	ofi_eq_strerror_fn *strerror;
	struct ofi_wait wait;
	struct ofi_waitset_member member;
	struct ofi_lock lock;	  /* guards what follows */
	struct ofi_eq_list items; /* in order; an error at the head makes read return -FI_EAVAIL */
	struct ofi_eq_item *last_err; /* owner of err_data handed out by the last readerr */
	bool writable;		      /* opened with FI_WRITE */
	bool overrun; /* out of memory: later events are lost, FI_EOVERRUN is read after the rest */
};

static inline struct ofi_eq *ofi_eq(struct fid_eq *fid)
{
	return (struct ofi_eq *)fid;
}

/* The EQ that a fid is, NULL if it is none of the fabric whose references are *fabric. */
static inline struct ofi_eq *ofi_eq_of(struct fid *fid, const struct ofi_ref *fabric)
{
	struct ofi_eq *eq = (struct ofi_eq *)fid;

	return fid && fid->fclass == FI_CLASS_EQ && eq->parent == fabric ? eq : NULL;
}

/* Opens an EQ whose close gives the reference on *parent, the fabric's, back. */
int ofi_eq_open(const struct fi_provider *prov, uint32_t api_version, struct ofi_ref *parent,
		const struct fi_eq_attr *attr, ofi_eq_strerror_fn *strerror, struct fid_eq **eq,
		void *context);
/* Appends an event with a copy of its entry (fi_eq_entry, fi_eq_cm_entry with data behind it). */
int ofi_eq_post(struct ofi_eq *eq, uint32_t event, const void *entry, size_t len);
/* Appends an error; err_data is copied. */
int ofi_eq_post_err(struct ofi_eq *eq, const struct fi_eq_err_entry *entry);
/* Drops what is queued for a fid that is being closed, and its unread connection requests. */
void ofi_eq_forget(struct ofi_eq *eq, const struct fid *fid);
/* -FI_SUCCESS when the caller may sleep on the wait object, -FI_EAGAIN when something is queued. */
int ofi_eq_trywait(struct ofi_eq *eq);

#endif
