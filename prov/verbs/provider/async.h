/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asynchronous events of an opened device, delivered to the event queues of its domain and
 * endpoints: errors of queues and of the device, and FI_NOTIFY with fi_eq_entry.data = event << 32
 * | port.
 */
#ifndef VRB_ASYNC_H
#define VRB_ASYNC_H

struct vrb_domain;

/* Starts watching domain->ctx. 0 or -FI_E*. */
int vrb_async_open(struct vrb_domain *domain);
/* Afterwards nothing is delivered. Safe when not open. Not with a lock held that an event takes. */
void vrb_async_close(struct vrb_domain *domain);
/* The device is gone: its domain and endpoints hear of it, once. From the event thread. */
void vrb_async_lost(struct vrb_domain *domain);

#endif
