/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tells when memory stops being what it was: unmapped, moved, its pages dropped. Built on
 * userfaultfd events, so no allocator is patched. A thread that changes the mapping sleeps until
 * the monitor has read the event, which it does with the locks of all its users held: a thread
 * that takes such a lock after its own munmap() finds the change reported. Another thread may have
 * been given the address meanwhile, so a caller that relies on an address calls
 * ofi_monitor_settle() first.
 *
 * Nothing that may change a mapping (malloc and free among it) may be done with that lock held,
 * because the thread that reads events takes it. What has to be freed after a change is freed by
 * tidy(), in another thread.
 *
 * A forked child has neither the threads nor the descriptor: its copies of the parent's monitors
 * tell nothing.
 */
#ifndef OFI_MONITOR_H
#define OFI_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "src/ds/lock.h"

struct ofi_monitor_hub;

/* A user's interest. The user sets the lock and the functions. */
struct ofi_monitor {
	struct ofi_lock *lock;
	/*
	 * With the lock held: [start, end) is no longer what it was, whoever watches it; if
	 * `unmapped`, nothing of it is left. True when tidy() has work.
	 */
	bool (*gone)(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end, bool unmapped);
	/*
	 * With the lock held: narrows the range to its first part that the user still relies on;
	 * false: none.
	 */
	bool (*wants)(struct ofi_monitor *monitor, uintptr_t *start, uintptr_t *end);
	/*
	 * Without any lock, in a thread that may change mappings. Never after ofi_monitor_close().
	 */
	void (*tidy)(struct ofi_monitor *monitor);

	struct ofi_monitor_hub *hub;
	unsigned int epoch;	      /* of the hub, when it was opened: see there */
	bool dirty;		      /* tidy() has work; under the hub's mutex */
	LIST_ENTRY(ofi_monitor) link; /* hub->users */
};

/*
 * Joins the process's monitor (memory can be watched by one only) or starts it: threads that sleep.
 * 0, or -FI_E* where the kernel does not let us.
 */
int ofi_monitor_open(struct ofi_monitor *monitor);
/* The same with threads and a descriptor of its own, for the test. */
int ofi_monitor_open_alone(struct ofi_monitor *monitor);
/* The user relies on nothing any more, and has said so by ofi_monitor_unwatch(). */
void ofi_monitor_close(struct ofi_monitor *monitor);
/*
 * Watches whole pages, which wants() names already. Not with the lock held. Fails unless all of it
 * is private anonymous memory (a file, also one in memory, changes without an event), and when the
 * process has half of the mappings that it may have. -FI_EOPNOTSUPP: nothing of it is watched; any
 * other error: it has to be unwatched, when wants() names it no more.
 */
int ofi_monitor_watch(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end);
/*
 * What no user wants of the range is not watched any more: the kernel may join the mappings again,
 * and unmaps without waiting for us. Not with the lock held.
 */
void ofi_monitor_unwatch(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end);
/* Is there a change whose event is not read yet? A system call. */
bool ofi_monitor_changing(const struct ofi_monitor *monitor);
/* Waits until each change that began before the call is told. Not with the lock held. */
void ofi_monitor_settle(const struct ofi_monitor *monitor);
/*
 * Changes mappings of its own in each way there is and looks whether all is told. 0, or -FI_EIO:
 * the monitor must not be relied on; or what ofi_monitor_open() returns.
 */
int ofi_monitor_test(void);

#endif
