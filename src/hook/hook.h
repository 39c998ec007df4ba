/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects under hooks. The application gets an object of the core in place of each object of the
 * provider. A call on it calls the provider's object, and hooks see the call begin and end.
 * Functions that return objects wrap them; functions that take objects unwrap them.
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

/* A call of the API, and the counts of the perf hook. */
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
	uint64_t tx_flags, rx_flags; /* of fi_ep_alias and FI_SETOPSFLAG: may have FI_TRIGGER */
	LIST_ENTRY(ofi_hook) link;   /* hashed by the address of the provider's object */
};

/* The ops table of every object under hooks, and of no other object. */
extern struct fi_ops ofi_hook_fid_ops;

/* Returns the provider's object behind an object under hooks. */
static inline void *ofi_hook_real(void *object)
{
	return ((struct ofi_hook *)object)->real;
}

/* Returns the provider's object behind any object, which may be NULL. */
static inline struct fid *ofi_hook_unwrap(struct fid *fid)
{
	return fid && fid->ops == &ofi_hook_fid_ops ? ofi_hook_real(fid) : fid;
}

/* Returns the application's object for a provider's, or the object itself if there is none. */
struct fid *ofi_hook_find(struct fid *real);
/* Replaces the counter in the context of a triggered operation by the provider's. */
void ofi_hook_trigger(void *context, uint64_t flags);
/* Puts a new object under hooks and replaces *object. On -FI_ENOMEM the object has been closed. */
int ofi_hook_wrap(struct fid **object, void *context);

/* Returns the current count of the perf hook, or 0 without that hook. */
uint64_t ofi_hook_begin(void);
/* Reports a call to the hooks; `start` is the count at its beginning. Returns ret. */
ssize_t ofi_hook_end(struct ofi_hook_site *site, const void *object, uint64_t start, ssize_t ret,
		     const char *format, ...) __attribute__((format(printf, 5, 6)));

/*
 * The output of hooks (out.c): FI_HOOK_FILE, or else the log, where trace uses level trace and perf
 * level info.
 */
void ofi_hook_out_open(bool trace, bool perf);
void ofi_hook_out(enum fi_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void ofi_hook_out_close(void);

/* The counter of the perf hook (perf.c). */
void ofi_hook_perf_open(void);
/* From now on time is measured, and threads that end no longer call the library. */
void ofi_hook_perf_close(void);
uint64_t ofi_hook_perf_read(void);
void ofi_hook_perf_add(struct ofi_hook_site *site, uint64_t start, uint64_t now, ssize_t ret);
/* Prints the counts and resets them. */
void ofi_hook_perf_report(const char *when);

/*
 * The trace hook (trace.c). ofi_hook_trace_again() returns true if the call has returned -FI_EAGAIN
 * once more, which is only counted.
 */
bool ofi_hook_trace_again(const struct ofi_hook_site *site, const void *object, ssize_t ret);
void ofi_hook_trace(const struct ofi_hook_site *site, const void *object, ssize_t ret,
		    const char *args);
/* Reports the object that the last reported call has opened. */
void ofi_hook_trace_opened(const struct fid *fid);
/* Reports how many repeated calls were only counted. */
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
