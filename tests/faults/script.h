/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an application does with two endpoints of its own: open, connect, transfer, close. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

struct outcome {
	int err;	 /* 0, or the first -FI_E* */
	bool by_event;	 /* it came from an event or completion queue */
	bool connecting; /* it came as far as that */
	bool timed_out;	 /* nothing came at all */
	int close_err;	 /* of the first fi_close that failed */
	char step[40];	 /* where it was */
};

/* From here on the script's calls may fail. */
void script_begins(void);
/* Goes as far as it gets, then closes what is open. */
typedef void script_fn(const char *addr, struct outcome *outcome);
script_fn script_coll, script_run, script_rdm, script_work;

#endif
