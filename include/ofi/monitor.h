/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tells when memory stops being what it was: unmapped, moved, its pages dropped. Built on userfaultfd
 * events, so no allocator is patched. Who changes the mapping sleeps until the monitor has read the
 * event, which it does with the locks of all its users held: a thread that takes such a lock after its own
 * munmap() finds the change told. Another thread may have been given the address meanwhile, so who
 * wants to rely on an address calls ofi_monitor_settle() first.
 *
 * Nothing that may change a mapping (malloc and free among it) may be done with that lock held.
 */
#ifndef OFI_MONITOR_H
#define OFI_MONITOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <ofi/lock.h>

struct ofi_monitor_hub;

/* A user's interest. */
struct ofi_monitor {
	struct ofi_lock *lock;
	/* With the lock held: [start, end) is no longer what it was, whoever watches it. */
	void (*gone)(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end);
	struct ofi_monitor_hub *hub;
	LIST_ENTRY(ofi_monitor) link; /* hub->users */
};

/*
 * Joins the process's monitor (memory can be watched by one only) or starts it: a thread that sleeps.
 * lock and gone are set. 0, or -FI_E* where the kernel does not let us.
 */
int ofi_monitor_open(struct ofi_monitor *monitor);
void ofi_monitor_close(struct ofi_monitor *monitor);
/*
 * Watches whole pages. Not with the lock held. -FI_EOPNOTSUPP for memory that the kernel does not
 * watch, a mapped file for one.
 */
int ofi_monitor_watch(struct ofi_monitor *monitor, uintptr_t start, uintptr_t end);
/*
 * Waits until each change that began before the call is told: a system call. Not with the lock held.
 */
void ofi_monitor_settle(struct ofi_monitor *monitor);
/*
 * Changes mappings of its own in each way there is and looks whether all is told. 0, or -FI_EIO: the
 * monitor must not be relied on.
 */
int ofi_monitor_test(void);

#endif
