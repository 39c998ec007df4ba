/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A software counter. Endpoints add to it when they find completions. A read of the counter asks
 * the registered sources, such as the bound endpoints, to make progress; so it advances even if
 * nobody reads a completion queue.
 */
#ifndef OFI_CNTR_H
#define OFI_CNTR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_prov.h>
#include "src/ds/lock.h"
#include "ref.h"
#include "trigger.h"
#include "wait.h"
#include "waitset.h"
#include "src/ds/compiler.h"

/*
 * A source of completions. Both functions are called with the counter's lock held, so they must not
 * wait for a thread that reads the counter.
 */
struct ofi_cntr_source_ops {
	void (*progress)(void *object); /* counts completed operations */
	/*
	 * Returns 0 if everything is counted and the source's descriptor becomes readable when more
	 * completes. Returns -FI_EAGAIN if something was counted, or if the source cannot signal
	 * more.
	 */
	int (*arm)(void *object);
};

struct ofi_cntr_source; /* private to cntr.c */

enum {
	OFI_CNTR_MUTE = -1, /* has no descriptor: it must be polled */
	OFI_CNTR_SELF = -2, /* has a thread that counts, and so wakes the sleepers itself */
};

/*
 * A counter has changed if one of these differs. If it was set and has the same value again, only
 * `writes` differs.
 */
struct ofi_cntr_state {
	uint64_t value, errors, writes;
};

/* The two kinds of sleepers: the application after fi_trywait, and threads in fi_cntr_wait. */
enum { OFI_CNTR_TRIED = 1, OFI_CNTR_WAITED = 2 };

struct ofi_cntr {
	struct fid_cntr fid;
	struct ofi_ref ref; /* bound endpoints, and work */
	struct ofi_ref *parent;
	const struct fi_provider *prov;
	uint64_t value, errors; /* atomic */
	uint64_t writes; /* number of times that the application has changed one of them; atomic */
	bool awaited;	 /* deferred or triggered work waits for it; atomic */
	/* OFI_CNTR_* of those who sleep or are about to; the next change wakes them; atomic */
	uint8_t armed;
	struct ofi_wait wait; /* for the application; only its fi_trywait clears it */
	struct ofi_wait own;  /* of the same kind, for fi_cntr_wait */
	struct ofi_waitset_member member;
	struct ofi_triggers *triggers;	 /* the domain's, or NULL; its lock guards the next three */
	struct ofi_trigger_list waiting; /* sorted by threshold */
	LIST_ENTRY(ofi_cntr) trigger_link;
	LIST_HEAD(, ofi_cntr_watch) watches;
	/*
	 * The descriptor for FI_GETWAIT, which watches wait.fd and the sources, or -1. It watches
	 * these itself, because Linux permits fewer ways to a descriptor the longer they are.
	 */
	int epfd;
	int sources_fd;	      /* watches the sources for fi_cntr_wait, or -1 */
	struct ofi_lock lock; /* guards what follows */
	LIST_HEAD(, ofi_cntr_source) sources;
	unsigned int mute;	     /* number of sources without a descriptor */
	struct ofi_cntr_state tried; /* at the last trywait */
};

static inline struct ofi_cntr *ofi_cntr(struct fid_cntr *fid)
{
	return (struct ofi_cntr *)fid;
}

/*
 * Returns the counter of a fid, or NULL if the fid is not a counter of the domain whose references
 * are *domain.
 */
static inline struct ofi_cntr *ofi_cntr_of(struct fid *fid, const struct ofi_ref *domain)
{
	struct ofi_cntr *cntr = (struct ofi_cntr *)fid;

	return fid && fid->fclass == FI_CLASS_CNTR && cntr->parent == domain ? cntr : NULL;
}

/*
 * Opens a counter; closing it releases a reference on *parent. Its wait set must belong to the
 * fabric. triggers is NULL if no work can wait for the counter.
 */
int ofi_cntr_open(const struct fi_provider *prov, struct ofi_ref *parent,
		  const struct ofi_ref *fabric, struct ofi_triggers *triggers,
		  const struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context);
/*
 * Registers a source, identified by its object, which may be registered several times. fd is its
 * descriptor, or one of OFI_CNTR_*. Returns 0 or -errno.
 */
int ofi_cntr_watch(struct ofi_cntr *cntr, const struct ofi_cntr_source_ops *ops, void *object,
		   int fd);
/* Undoes one registration. After the last one the object is no longer used. */
void ofi_cntr_unwatch(struct ofi_cntr *cntr, void *object);
/*
 * The registrations of one source with several counters of its domain, guarded by the lock of the
 * domain's triggers. They hold no reference: closing a counter undoes its registrations.
 */
struct ofi_cntr_watch;
LIST_HEAD(ofi_cntr_watches, ofi_cntr_watch);
/* Registers the source with a counter unless the list already contains it. Returns 0 or -FI_E*. */
int ofi_cntr_watch_once(struct ofi_triggers *triggers, struct ofi_cntr_watches *watches,
			struct ofi_cntr *cntr, const struct ofi_cntr_source_ops *ops, void *object,
			int fd);
/* Wakes the sleepers of all counters in the list. May be called with any lock of a source held. */
void ofi_cntr_wake_all(struct ofi_triggers *triggers, const struct ofi_cntr_watches *watches);
/* Undoes all registrations in the list. */
void ofi_cntr_unwatch_all(struct ofi_triggers *triggers, struct ofi_cntr_watches *watches);
/* Updates *state. Returns true if the counter has changed since. */
bool ofi_cntr_changed_since(const struct ofi_cntr *cntr, struct ofi_cntr_state *state);
/* Sets the value, or the number of errors. */
void ofi_cntr_write(struct ofi_cntr *cntr, uint64_t *what, uint64_t value);
/* Makes progress on the counter's sources, but runs no work. */
void ofi_cntr_look(struct ofi_cntr *cntr);
/*
 * Makes progress on the counter's sources, and on those of other counters that work in the domain
 * waits for. Then runs the work that is due.
 */
void ofi_cntr_progress(struct ofi_cntr *cntr);
/*
 * Returns 0 if the caller may sleep on the wait object, -FI_EAGAIN if it should read the counter
 * again.
 */
int ofi_cntr_trywait(struct fid *fid);
/*
 * Wakes the sleepers after the counter has changed. May be called from any thread with any lock of
 * a source held.
 */
void ofi_cntr_wake(struct ofi_cntr *cntr);

/*
 * Called after the value has changed. A sleeper arms first and then reads the value, so it either
 * sees the change or is woken.
 */
static inline void ofi_cntr_changed(struct ofi_cntr *cntr)
{
	if (ofi_unlikely(__atomic_load_n(&cntr->armed, __ATOMIC_SEQ_CST)))
		ofi_cntr_wake(cntr);
	if (ofi_unlikely(__atomic_load_n(&cntr->awaited, __ATOMIC_SEQ_CST)))
		__atomic_store_n(&cntr->triggers->due, true, __ATOMIC_SEQ_CST);
}

static inline void ofi_cntr_count(struct ofi_cntr *cntr, uint64_t n)
{
	__atomic_add_fetch(&cntr->value, n, __ATOMIC_SEQ_CST);
	ofi_cntr_changed(cntr);
}

static inline void ofi_cntr_count_error(struct ofi_cntr *cntr, uint64_t n)
{
	__atomic_add_fetch(&cntr->errors, n, __ATOMIC_SEQ_CST);
	ofi_cntr_changed(cntr);
}

/* Counts an operation that has completed, if there is a counter. */
static inline void ofi_cntr_count_result(struct ofi_cntr *cntr, bool good)
{
	if (!cntr)
		return;
	if (good)
		ofi_cntr_count(cntr, 1);
	else
		ofi_cntr_count_error(cntr, 1);
}

/* Does the same for an operation that has a reference on the counter, and drops it. */
void ofi_cntr_finish(struct ofi_cntr *cntr, bool good);

/* Counts an operation that reads and writes; a counter of both counts once. Each may be NULL. */
static inline void ofi_cntr_count_both(struct ofi_cntr *read, struct ofi_cntr *write)
{
	ofi_cntr_count_result(read, true);
	if (write != read)
		ofi_cntr_count_result(write, true);
}

#endif
