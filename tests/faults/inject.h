/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stands between libfabric.so and the libraries below it: counts the calls that it makes, lets one
 * of them fail, and keeps account of what is open. Only libfabric's own calls go through here,
 * since it is its table of imported functions that is changed.
 */
#ifndef INJECT_H
#define INJECT_H

#include <stdbool.h>

/* What is counted as open. */
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

/* False when libfabric is no shared library here. Before its first call. */
bool inject_install(void);
/* The nth call of a function, from now on, fails with its usual errno. */
void inject_arm(const char *function, unsigned int n);
void inject_disarm(void);
/* Whether a call has failed since inject_arm(). */
bool inject_happened(void);
/* What a function is made to fail with; 0 when it is unknown. */
int inject_errno(const char *function);
/* Opened and not closed. */
long inject_live(enum inject_object object);
/* Blocks of memory that nothing in libfabric's variables leads to. When nothing is open. */
long inject_leaks(void);

#endif
