/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Inside of the engine of coll.h: its groups, and the tags of their messages.
 *
 *   1 bit  agreement of a new group    63 ..
 *  24 bits the group's number          or digest
 *  26 bits sequence of the operation   of the agreement
 *  13 bits round of the operation
 */
#ifndef OFI_COLL_GROUP_H
#define OFI_COLL_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "coll.h"
#include "coll_plan.h"

#define OFI_COLL_WORDS 3 /* of an agreement: digest, its complement, acceptable numbers */

struct ofi_coll_op {
	TAILQ_ENTRY(ofi_coll_op) link; /* in its group */
	struct ofi_coll_group *group;
	struct ofi_coll_plan plan;
	size_t next;	/* step */
	size_t pending; /* transfers */
	uint64_t tag;	/* without the round */
	uint64_t turn;	/* of progress that it had last */
	enum fi_collective_op kind;
	void *context;
	uint64_t flags;
	int err;
	bool join;
	bool running;
	bool canceled; /* waits for what is in flight */
	bool stalled;  /* the next step got -FI_EAGAIN */
};

TAILQ_HEAD(ofi_coll_ops, ofi_coll_op);

struct ofi_coll_group {
	TAILQ_ENTRY(ofi_coll_group) link;
	struct ofi_coll *coll;
	struct ofi_coll_ops ops;
	size_t size, rank;
	uint64_t seed;	 /* of the numbers that it may have */
	uint64_t number; /* once formed */
	uint64_t next;	 /* sequence */
	bool forming, formed;
	bool *lost;			  /* by rank */
	struct ofi_coll_op *confirmation; /* of the agreement, while forming */
	unsigned refusals;		  /* calls that could not send all of them */
	uint64_t offer[OFI_COLL_WORDS], agreed[OFI_COLL_WORDS];
	fi_addr_t member[];
};

TAILQ_HEAD(ofi_coll_groups, ofi_coll_group);

/* How often a group of these members has been formed: each time it gets another number. */
struct ofi_coll_past {
	SLIST_ENTRY(ofi_coll_past) link;
	uint64_t digest;
	uint64_t count;
};

struct ofi_coll {
	struct ofi_coll_net net;
	void *arg;
	struct ofi_coll_groups groups;
	SLIST_HEAD(, ofi_coll_past) past;
	size_t ops;    /* in flight */
	bool stalled;  /* some operation may be */
	uint64_t turn; /* of ofi_coll_progress() */
};

/* coll.c */
/*
 * All that needs memory is allocated before the first message. 0 or -FI_ENOMEM: nothing was sent.
 */
int ofi_coll_agree(struct ofi_coll_group *group, void *context, uint64_t tag, uint64_t confirm_tag);
/*
 * The operations end here, and members that wait for the join's messages get ones that fail it.
 * False: call it again.
 */
bool ofi_coll_refuse(struct ofi_coll_group *group);
/* Frees it unless something stays in flight. */
void ofi_coll_op_cancel(struct ofi_coll_op *op);
/* Severs what is still in flight of an operation that has been canceled. */
void ofi_coll_op_sever(struct ofi_coll_op *op);
void ofi_coll_op_free(struct ofi_coll_op *op);

/* coll_group.c */
/* The members' offers are known. err, or what is wrong with them. */
int ofi_coll_group_agree(const struct ofi_coll_group *group, int err);
/*
 * The members know that all of them agree: takes the number that all accept, unless there was an
 * error.
 */
void ofi_coll_group_form(struct ofi_coll_group *group, int err);
/* The next operation's tag. */
uint64_t ofi_coll_group_tag(struct ofi_coll_group *group);
/* group->size when the address is not a member's. */
size_t ofi_coll_group_rank(const struct ofi_coll_group *group, fi_addr_t addr);

#endif
