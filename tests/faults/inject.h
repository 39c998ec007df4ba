/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Intercepts the calls of libfabric.so to the libraries below it: counts them, makes one of them
 * fail, and tracks what is open. Only libfabric's own calls are intercepted, because its table of
 * imported functions is changed.
 */
#ifndef INJECT_H
#define INJECT_H

#include <stdbool.h>

/* The kinds of objects that are tracked. */
enum inject_object {
	INJECT_NOTHING,
	INJECT_MEMORY,
	INJECT_DEVICE_LIST,
	INJECT_CONTEXT,
	INJECT_PD,
	INJECT_MR,
	INJECT_CHANNEL,
	INJECT_CQ,
	INJECT_QP,
	INJECT_AH,
	INJECT_ATTACHED,
	INJECT_JOINED,
	INJECT_SRQ,
	INJECT_MW,
	INJECT_CM_CHANNEL,
	INJECT_CM_EVENT,
	INJECT_ID,
	INJECT_ADDRINFO,
	INJECT_THREAD,
	INJECT_OBJECTS
};

extern const char *const inject_object_names[INJECT_OBJECTS];

/* Returns false if libfabric is not a shared library here. Must precede its first call. */
bool inject_install(void);
/* Makes the nth call of a function from now on fail with its usual errno. */
void inject_arm(const char *function, unsigned int n);
void inject_disarm(void);
/* Returns true if a call has failed since inject_arm(). */
bool inject_happened(void);
/* Returns the errno that a function fails with; 0 for an unknown function. */
int inject_errno(const char *function);
/* Returns the number of open objects. */
long inject_live(enum inject_object object);
/*
 * Returns the number of memory blocks that are unreachable from libfabric's variables. Call it when
 * nothing is open.
 */
long inject_leaks(void);

#endif
