/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Threads that sleep on one object and must all wake up. */
#ifndef SLEEPERS_H
#define SLEEPERS_H

#include <rdma/fi_eq.h>
#include "check.h"

#define SLEEPERS_MAX 4

/* Sleeps on the object until there is something, or it is signaled. */
typedef void sleep_fn(void *object, unsigned int number);

struct sleepers;

/*
 * Begins count threads, each of which calls sleep once, and waits until they are likely to sleep.
 */
struct sleepers *sleepers_start(unsigned int count, sleep_fn *sleep, void *object);
/* Checks that all have woken up, in far less time than they would have slept. */
void sleepers_join(struct sleepers *sleepers);

/* Take one entry of the completion queue, or must be ended by fi_cq_signal. */
sleep_fn sleep_for_entry, sleep_for_signal;
/* Sleeps until the value is 1 + number. */
sleep_fn sleep_for_value;

#endif
