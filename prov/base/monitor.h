/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reports when memory is unmapped or moved, or loses its pages. It is based on userfaultfd events,
 * so no allocator is patched. A thread that changes a mapping sleeps until the monitor has read the
 * event, which the monitor does with the locks of all its users held; so a thread that takes such a
 * lock after its own munmap() finds the change reported. Meanwhile the address may have been given
 * to another thread, so a caller that relies on an address calls ofi_monitor_settle() first.
 *
 * Nothing that may change a mapping, which includes malloc and free, may be done while holding such
 * a lock, because the thread that reads the events takes it. Memory to be freed after a change is
 * freed by tidy() in another thread.
 *
 * A forked child has neither the threads nor the descriptor: its copies of the parent's monitors
 * report nothing.
 */
#ifndef OFI_MONITOR_H
#define OFI_MONITOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "src/ds/lock.h"

struct ofi_monitor_hub;

/* A user of the monitor, which sets the lock and the functions. */
struct ofi_monitor {
	struct ofi_lock *lock;
	/*
	 * Reports that [start, end) has changed, whichever user watches it; `unmapped` means that
	 * nothing of it is left. Returns true if tidy() has work. Called with the lock held.
	 */
	bool (*gone)(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end, bool unmapped);
	/*
	 * Narrows the range to its first part that the user still relies on; returns false if there
	 * is none. Called with the lock held.
	 */
	bool (*wants)(struct ofi_monitor *monitor, uintptr_t *start, uintptr_t *end);
	/*
	 * Does the work that a change has left, such as freeing memory. Called without any lock, in
	 * a thread that may change mappings, and never after ofi_monitor_close().
	 */
	void (*tidy)(struct ofi_monitor *monitor);

	struct ofi_monitor_hub *hub;
	unsigned int epoch;	      /* epoch of the hub when the monitor was opened */
	bool dirty;		      /* tidy() has work; guarded by the hub's mutex */
	LIST_ENTRY(ofi_monitor) link; /* hub->users */
};

/*
 * Joins the process's monitor, because memory can be watched by only one, or starts it with its
 * threads, which sleep. Returns 0, or -FI_E* if the kernel does not permit it.
 */
int ofi_monitor_open(struct ofi_monitor *monitor);
/* Opens a separate monitor with its own threads and descriptor, for the test. */
int ofi_monitor_open_alone(struct ofi_monitor *monitor);
/*
 * Closes a user that no longer relies on any memory and has called ofi_monitor_unwatch() for all of
 * it.
 */
void ofi_monitor_close(struct ofi_monitor *monitor);
/*
 * Watches whole pages, for which wants() already returns true. Must not be called with the lock
 * held. Fails unless all of the range is private anonymous memory (files, including those in
 * memory, change without an event), and fails if the process has more than half of the mappings
 * that it may have. After -FI_EOPNOTSUPP nothing of the range is watched; after any other error the
 * caller must unwatch it once wants() no longer includes it.
 */
int ofi_monitor_watch(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end);
/*
 * Stops watching those parts of the range that no user wants: the kernel may merge the mappings
 * again, and unmapping no longer waits for the monitor. Must not be called with the lock held.
 */
void ofi_monitor_unwatch(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end);
/* Returns true if there is a change whose event has not been read yet. Makes a system call. */
bool ofi_monitor_changing(const struct ofi_monitor *monitor);
/*
 * Waits until each change that began before the call has been reported. Must not be called with the
 * lock held.
 */
void ofi_monitor_settle(const struct ofi_monitor *monitor);
/*
 * Tests the monitor by changing mappings of its own in all known ways. Returns 0; -FI_EIO if a
 * change was not reported, so the monitor must not be relied on; or the error of
 * ofi_monitor_open().
 */
int ofi_monitor_test(void);

#endif
