/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Internals of the engine of coll.h: its groups, and the tags of their messages:
 *
 *    1 bit   set in the agreement of a new group (bit 63)
 *   24 bits  number of the group, or digest of the agreement
 *   26 bits  sequence number of the operation, or more of the digest
 *   13 bits  round of the operation
 */
#ifndef OFI_COLL_GROUP_H
#define OFI_COLL_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "coll.h"
#include "coll_plan.h"

struct ofi_coll_op {
	TAILQ_ENTRY(ofi_coll_op) link; /* in its group */
	struct ofi_coll_group *group;  /* NULL: it is in past->owed */
	struct ofi_coll_past *past;    /* of a join */
	struct ofi_coll_plan plan;
	size_t next;	/* next step */
	size_t pending; /* number of transfers in flight */
	uint64_t tag;	/* tag without the round */
	uint64_t turn;	/* turn of the progress call that last ran it */
	enum fi_collective_op kind;
	void *context;
	uint8_t *staged; /* host copy of buffers in device memory, the result at its end; or NULL */
	void *result;	 /* device memory that the result is copied to */
	size_t result_at, result_len;
	uint64_t word; /* of a join: the result */
	int err;
	bool join;
	bool running;
	bool canceled; /* waits for transfers in flight */
	bool stalled;  /* the next step returned -FI_EAGAIN */
	bool owed;     /* of a join that failed: only sends what has not arrived */
};

TAILQ_HEAD(ofi_coll_ops, ofi_coll_op);

struct ofi_coll_group {
	TAILQ_ENTRY(ofi_coll_group) link;
	struct ofi_coll *coll;
	struct ofi_coll_past *past;
	struct ofi_coll_ops ops;
	size_t size, rank;
	uint64_t seed;	 /* seed of the acceptable numbers */
	uint64_t number; /* valid once formed */
	uint64_t next;	 /* sequence number of the next operation */
	bool forming, formed;
	bool *lost;			  /* members that are gone, by rank */
	struct ofi_coll_op *confirmation; /* second round of the agreement, while forming */
	unsigned refusals; /* number of ofi_coll_leave() calls that could not send everything */
	uint64_t offer, agreed; /* acceptable numbers: of this member, of all */
	fi_addr_t member[];
};

TAILQ_HEAD(ofi_coll_groups, ofi_coll_group);

/*
 * Counts how often a group of these members was formed, because it gets a new number each time. A
 * member that a failed join could not reach counts differently: it waits for the messages that are
 * owed to it, which are sent when the group is joined again.
 */
struct ofi_coll_past {
	SLIST_ENTRY(ofi_coll_past) link;
	uint64_t digest;
	uint64_t count;
	struct ofi_coll_ops owed;
};

struct ofi_coll {
	struct ofi_coll_net net;
	void *arg;
	struct ofi_coll_groups groups;
	SLIST_HEAD(, ofi_coll_past) past;
	size_t ops;    /* number of operations in flight, joins apart */
	bool stalled;  /* an operation may be stalled */
	uint64_t turn; /* number of the current ofi_coll_progress() call */
};

/* in coll.c */
/*
 * Starts the agreement. All memory is allocated before the first message. On -FI_ENOMEM nothing was
 * sent.
 */
int ofi_coll_agree(struct ofi_coll_group *group, void *context, uint64_t tag, uint64_t confirm_tag);
/*
 * Cancels the operations. Sends members that wait for join messages ones that make the join fail.
 * Returns false if the call must be repeated.
 */
bool ofi_coll_refuse(struct ofi_coll_group *group);
/*
 * Cancels the operation. Unless a transfer stays in flight, reports it as FI_ECANCELED, if it is
 * not a join, and frees it.
 */
void ofi_coll_op_cancel(struct ofi_coll_op *op);
/* Ends the connections of transfers still in flight after a cancel. */
void ofi_coll_op_sever(struct ofi_coll_op *op);
/* Frees the operation, or keeps it in past->owed. */
void ofi_coll_op_free(struct ofi_coll_op *op);
/* Moves the operations from past->owed to the group. */
void ofi_coll_owed_run(struct ofi_coll_group *group);
/* Frees the operations in past->owed. */
void ofi_coll_owed_free(struct ofi_coll *coll, struct ofi_coll_past *past);

/* in coll_group.c */
/* Completes the agreement: takes the number that all members accept, unless there was an error. */
void ofi_coll_group_form(struct ofi_coll_group *group, int err);
/* Returns the tag of the next operation. */
uint64_t ofi_coll_group_tag(struct ofi_coll_group *group);
/* Returns the rank of an address, or group->size if it is not a member's. */
size_t ofi_coll_group_rank(const struct ofi_coll_group *group, fi_addr_t addr);

#endif
