/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Many connections of one end to itself. */
#ifndef LINKS_H
#define LINKS_H

#include "steps.h"

struct link {
	struct fid_ep *from, *to;
};

/* Opens an enabled endpoint on the accepting side; arg is for the test. */
typedef struct fid_ep *open_fn(struct end *end, struct fi_info *info, void *arg);

/* Connects `from`, opened by end_ep() or the caller, to `to`. The end listens at the place. */
void link_open(struct end *end, const struct place *place, struct link *link, open_fn *open,
	       void *arg);
void link_close(struct link *link);

#endif
