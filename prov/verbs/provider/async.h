/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asynchronous events of an open device. Errors of queues and of the device are delivered to the
 * event queues of its domain and endpoints, other events as FI_NOTIFY with fi_eq_entry.data = event
 * << 32 | port.
 */
#ifndef VRB_ASYNC_H
#define VRB_ASYNC_H

struct vrb_domain;

/* Starts watching domain->ctx. Returns 0 or -FI_E*. */
int vrb_async_open(struct vrb_domain *domain);
/*
 * Stops the delivery of events. Does nothing if not open. Must not be called with a lock that an
 * event takes.
 */
void vrb_async_close(struct vrb_domain *domain);
/*
 * Reports once to the domain and its endpoints that the device is gone. Called by the event thread.
 */
void vrb_async_lost(struct vrb_domain *domain);

#endif
