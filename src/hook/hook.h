/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects under hooks. The application has an object of the core in place of each object of the
 * provider; a call to it is a call to the real one, and hooks see it begin and end. Functions that
 * return objects wrap them, functions that take objects get the real ones.
 */
#ifndef HOOK_H
#define HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_log.h>

/* A call of the API, and what perf has counted of it. */
struct ofi_hook_site {
	const char *name;
	uint64_t calls, again, errors, sum; /* atomic */
	bool listed;			    /* atomic */
	struct ofi_hook_site *next;
};

struct ofi_hook {
	union {
		struct fid fid;
		struct fid_fabric fabric;
		struct fid_domain domain;
		struct fid_ep ep;
		struct fid_pep pep;
		struct fid_cq cq;
		struct fid_eq eq;
		struct fid_cntr cntr;
		struct fid_av av;
		struct fid_mr mr;
		struct fid_poll poll;
	};
	struct fid *real;
	LIST_ENTRY(ofi_hook) link; /* by the address of the real one */
};

/* That of every object under hooks, and only of those. */
extern struct fi_ops ofi_hook_fid_ops;

/* The provider's object; for calls of objects that are under hooks. */
static inline void *ofi_hook_real(void *object)
{
	return ((struct ofi_hook *)object)->real;
}

/* The provider's object for any, also NULL. */
static inline struct fid *ofi_hook_unwrap(struct fid *fid)
{
	return fid && fid->ops == &ofi_hook_fid_ops ? ofi_hook_real(fid) : fid;
}

/* The application's object for one of the provider's; itself when there is none. */
struct fid *ofi_hook_find(struct fid *real);
/* A triggered operation's context names a counter: it is exchanged there. */
void ofi_hook_trigger(void *context, uint64_t flags);
/*
 * Puts an object that was opened under hooks: *object is replaced. When out of memory it is closed.
 * 0 or -FI_ENOMEM.
 */
int ofi_hook_wrap(struct fid **object, void *context, struct ofi_hook **hook);
/* One that is a fid and its table, of type ops: as struct fid_cq. */
int ofi_hook_wrap_ops(struct fid **object, void *context, void *ops);
int ofi_hook_wrap_ep(struct fid_ep **ep, void *context);

/* What perf counts now, 0 without it. */
uint64_t ofi_hook_begin(void);
/* Tells the hooks of a call that began at start. Returns ret. */
ssize_t ofi_hook_end(struct ofi_hook_site *site, const void *object, uint64_t start, ssize_t ret,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Where hooks write (out.c): FI_HOOK_FILE, or the log, trace at level trace, perf at level info. */
void ofi_hook_out_open(bool trace, bool perf);
void ofi_hook_out(enum fi_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void ofi_hook_out_close(void);

/* The counter of perf (perf.c). */
void ofi_hook_perf_open(void);
uint64_t ofi_hook_perf_read(void);
void ofi_hook_perf_add(struct ofi_hook_site *site, uint64_t start, uint64_t now, ssize_t ret);
/* Prints the counts and resets them. */
void ofi_hook_perf_report(const char *when);

/* What trace says (trace.c). True when it was nothing, once more: that is only counted. */
bool ofi_hook_trace_again(const struct ofi_hook_site *site, const void *object, ssize_t ret);
void ofi_hook_trace(const struct ofi_hook_site *site, const void *object, ssize_t ret,
		    const char *args);
/* Of the call that was told last, the object. */
void ofi_hook_trace_opened(const struct fid *fid);
/* Says how often it was nothing. */
void ofi_hook_trace_end(void);

extern struct fi_ops_fabric ofi_hook_fabric_ops;
extern struct fi_ops_domain ofi_hook_domain_ops;
extern struct fi_ops_mr ofi_hook_mr_ops;
extern struct fi_ops_ep ofi_hook_ep_ops;
extern struct fi_ops_cm ofi_hook_cm_ops;
extern struct fi_ops_msg ofi_hook_msg_ops;
extern struct fi_ops_rma ofi_hook_rma_ops;
extern struct fi_ops_tagged ofi_hook_tagged_ops;
extern struct fi_ops_atomic ofi_hook_atomic_ops;
extern struct fi_ops_collective ofi_hook_collective_ops;
extern struct fi_ops_cq ofi_hook_cq_ops;
extern struct fi_ops_eq ofi_hook_eq_ops;
extern struct fi_ops_cntr ofi_hook_cntr_ops;
extern struct fi_ops_av ofi_hook_av_ops;
extern struct fi_ops_poll ofi_hook_poll_ops;

#endif
