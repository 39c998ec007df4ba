/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The core's side of explain.h: candidates rejected during one fi_getinfo call of this thread. */
#ifndef OFI_REJECT_H
#define OFI_REJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <rdma/fabric.h>
#include <rdma/fi_explain.h>
#include <rdma/providers/fi_log.h>

struct ofi_reject; /* a copy of one entry, private to explain.c */

struct ofi_rejects {
	struct ofi_reject *entry;
	size_t count;
	size_t total;		   /* including those that were dropped */
	bool wanted;		   /* report all of them, even if something is offered */
	struct ofi_rejects *outer; /* rejections of the fi_getinfo call that contains this one */
};

/* Providers call this through ofi_explain(). */
void ofi_reject(const struct fi_explain_entry *entry);

/*
 * Returns true if every rejection is of interest, not only those of providers that offer nothing.
 */
bool ofi_reject_wanted(void);

/* Begins a collection. With `all`, every rejection is wanted. */
void ofi_rejects_begin(struct ofi_rejects *rejects, bool all);
void ofi_rejects_end(struct ofi_rejects *rejects);
/* Logs the nearest `near` rejections at level warn and the others at level info. */
void ofi_rejects_log(struct ofi_rejects *rejects, size_t near);
/*
 * Returns true if the log should show them to the user: an application that probes repeatedly is
 * told once, and one with a listener is told by the listener.
 */
bool ofi_rejects_news(const struct ofi_rejects *rejects);

/* Implements fi_open("explain"). */
int ofi_explain_open(void *attr, size_t attr_len, uint64_t flags, struct fid **fid, void *context);

#endif
