/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A counter in software. Endpoints add to it when they find completions; to find them, it asks the
 * sources that its endpoints have named, so that it progresses when nobody reads a completion
 * queue.
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
 * Where completions come from; called with the counter's lock held, so neither may wait for a
 * thread that reads it.
 */
struct ofi_cntr_source_ops {
	void (*progress)(void *object); /* counts what has completed */
	/*
	 * 0: all is counted, and the source's descriptor becomes readable when more completes.
	 * -FI_EAGAIN: something was counted, or the source can't tell when there is more.
	 */
	int (*arm)(void *object);
};

struct ofi_cntr_source; /* private to cntr.c */

struct ofi_cntr {
	struct fid_cntr fid;
	struct ofi_ref ref; /* endpoints bound to it */
	struct ofi_ref *parent;
	const struct fi_provider *prov;
	uint64_t value, errors; /* atomic */
	bool awaited;		/* work waits for it; atomic */
	bool armed; /* somebody sleeps, or is about to: the next change signals; atomic */
	struct ofi_wait wait;
	struct ofi_waitset_member member;
	struct ofi_triggers *triggers;	 /* of the domain, or NULL; its lock guards the next two */
	struct ofi_trigger_list waiting; /* in the order of thresholds */
	LIST_ENTRY(ofi_cntr) trigger_link;
	int epfd;	      /* the descriptor of FI_GETWAIT: wait.fd and the sources', else -1 */
	struct ofi_lock lock; /* guards what follows */
	LIST_HEAD(, ofi_cntr_source) sources;
	unsigned int mute;		    /* sources without a descriptor */
	uint64_t tried_value, tried_errors; /* at the last trywait */
};

static inline struct ofi_cntr *ofi_cntr(struct fid_cntr *fid)
{
	return (struct ofi_cntr *)fid;
}

/* The counter that a fid is, NULL if it is none of the domain whose references are *domain. */
static inline struct ofi_cntr *ofi_cntr_of(struct fid *fid, const struct ofi_ref *domain)
{
	struct ofi_cntr *cntr = (struct ofi_cntr *)fid;

	return fid && fid->fclass == FI_CLASS_CNTR && cntr->parent == domain ? cntr : NULL;
}

/*
 * Opens a counter whose close gives the reference on *parent back; its wait set is one of the
 * fabric. triggers is NULL where no work can wait for it.
 */
int ofi_cntr_open(const struct fi_provider *prov, struct ofi_ref *parent,
		  const struct ofi_ref *fabric, struct ofi_triggers *triggers,
		  const struct fi_cntr_attr *attr, struct fid_cntr **cntr, void *context);
/*
 * Names a source, by its object; the same may be named several times. fd is -1 where it has none.
 * 0, or -errno.
 */
int ofi_cntr_watch(struct ofi_cntr *cntr, const struct ofi_cntr_source_ops *ops, void *object,
		   int fd);
/* Takes back one naming. The object is not used any more once all are. */
void ofi_cntr_unwatch(struct ofi_cntr *cntr, void *object);
/* What was named to counters, each of which has a reference. The caller guards the list. */
struct ofi_cntr_watch;
LIST_HEAD(ofi_cntr_watches, ofi_cntr_watch);
/* Names a source to a counter unless the list has it. 0 or -FI_E*. */
int ofi_cntr_watch_once(struct ofi_cntr_watches *watches, struct ofi_cntr *cntr,
			const struct ofi_cntr_source_ops *ops, void *object, int fd);
/* Takes all of them back. */
void ofi_cntr_unwatch_all(struct ofi_cntr_watches *watches);
/* Counts what has completed at the sources, and nothing else. */
void ofi_cntr_look(struct ofi_cntr *cntr);
/* The same, also for the counters that work of the domain waits for; does the work that is due. */
void ofi_cntr_progress(struct ofi_cntr *cntr);
/*
 * -FI_SUCCESS when the caller may sleep on the wait object, -FI_EAGAIN when it should look at the
 * counter.
 */
int ofi_cntr_trywait(struct ofi_cntr *cntr);
/* The counter has changed: wakes the sleepers. From any thread, with any lock of a source held. */
void ofi_cntr_wake(struct ofi_cntr *cntr);

/*
 * The order of the two accesses is the reverse of a sleeper's, which arms and then looks at the
 * value.
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

#endif
