/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The actions of an application with its own two endpoints: open, connect, transfer, close. */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

struct outcome {
	int err;	 /* 0, or the first -FI_E* */
	bool by_event;	 /* the error came from an event or completion queue */
	bool connecting; /* the script got that far */
	bool timed_out;	 /* nothing arrived at all */
	int close_err;	 /* of the first fi_close that failed */
	char step[40];	 /* last step */
};

/* From here on the script's calls may fail. */
void script_begins(void);
/* Runs as far as possible, then closes everything. */
typedef void script_fn(const char *addr, struct outcome *outcome);
script_fn script_coll, script_hmem, script_run, script_rdm, script_sep, script_work;

#endif
