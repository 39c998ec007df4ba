/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Groups of collective operations: their numbers, on which the members agree, and their addresses.
 */
#include <stdlib.h>
#include <string.h>
#include "coll_group.h"
#include <rdma/fi_errno.h>

#define ROUND_BITS OFI_COLL_ROUND_BITS
#define SEQ_BITS   26
#define GROUP_BITS 24
#define MASK(bits) ((1ULL << (bits)) - 1)
#define TAG_JOIN   (1ULL << 63)
#define CANDIDATES 16
/*
 * Number of ofi_coll_leave() calls that keep trying to tell the others that we leave an unformed
 * group, while nothing can be sent.
 */
#define REFUSALS_MAX 10000

/* A prefix for the addresses of groups, distinct from peers' addresses, which are small numbers. */
#define ADDR_GROUP 0xc011ULL
#define ADDR_SHIFT 48

uint64_t ofi_coll_digest(uint64_t digest, const void *name, size_t len)
{
	const uint8_t *byte = name;

	for (size_t i = 0; i < len; i++)
		digest = (digest ^ byte[i]) * 0x100000001b3ULL;
	return digest;
}

static uint64_t mix_bits(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static uint64_t group_candidate(const struct ofi_coll_group *group, unsigned i)
{
	return mix_bits(group->seed + i) & MASK(GROUP_BITS);
}

static bool may_take(const struct ofi_coll_group *group, uint64_t number)
{
	if (group->formed)
		return group->number == number;
	for (unsigned i = 0; group->forming && i < CANDIDATES; i++)
		if (group_candidate(group, i) == number)
			return true;
	return false;
}

/* Returns true if no other group has the number or may still get it. */
static bool is_free(const struct ofi_coll *coll, uint64_t number)
{
	const struct ofi_coll_group *group;

	TAILQ_FOREACH (group, &coll->groups, link)
		if (may_take(group, number))
			return false;
	return true;
}

static uint64_t acceptable(const struct ofi_coll_group *group)
{
	uint64_t mask = 0;

	for (unsigned i = 0; i < CANDIDATES; i++)
		if (is_free(group->coll, group_candidate(group, i)))
			mask |= 1ULL << i;
	return mask;
}

/* Returns the tag of one of the two message rounds of a join. */
static uint64_t join_tag(const struct ofi_coll_group *group, bool confirm)
{
	uint64_t word = mix_bits(~group->seed) & MASK(SEQ_BITS + GROUP_BITS) & ~1ULL;

	return TAG_JOIN | (word | confirm) << ROUND_BITS;
}

static struct ofi_coll_past *past_find(struct ofi_coll *coll, uint64_t digest)
{
	struct ofi_coll_past *past;

	SLIST_FOREACH (past, &coll->past, link)
		if (past->digest == digest)
			return past;
	past = calloc(1, sizeof(*past));
	if (!past)
		return NULL;
	past->digest = digest;
	TAILQ_INIT(&past->owed);
	SLIST_INSERT_HEAD(&coll->past, past, link);
	return past;
}

static struct ofi_coll_group *group_new(struct ofi_coll *coll,
					const struct ofi_coll_members *members)
{
	size_t bytes = members->count * sizeof(*members->addr);
	struct ofi_coll_group *group = calloc(1, sizeof(*group) + bytes + members->count);

	if (!group)
		return NULL;
	memcpy(group->member, members->addr, bytes);
	group->lost = (bool *)&group->member[members->count];
	group->coll = coll;
	group->size = members->count;
	group->rank = members->rank;
	TAILQ_INIT(&group->ops);
	return group;
}

static void group_free(struct ofi_coll_group *group)
{
	struct ofi_coll_op *op;

	while ((op = TAILQ_FIRST(&group->ops)))
		ofi_coll_op_free(op);
	TAILQ_REMOVE(&group->coll->groups, group, link);
	free(group);
}

/*
 * All members derive the same numbers, and the same tag for the agreement, from the members' names.
 */
static void group_offer(struct ofi_coll_group *group, uint64_t digest, uint64_t count)
{
	group->seed = mix_bits(mix_bits(digest + group->size) ^ mix_bits(count + 1));
	group->offer = acceptable(group);
	group->forming = true;
}

int ofi_coll_join(struct ofi_coll *coll, const struct ofi_coll_members *members, void *context,
		  struct ofi_coll_group **out)
{
	struct ofi_coll_past *past;
	struct ofi_coll_group *group;

	if (!members->count || members->rank >= members->count)
		return -FI_EINVAL;
	if (members->count > OFI_COLL_MEMBERS_MAX)
		return -FI_EMSGSIZE;
	past = past_find(coll, members->digest);
	group = past ? group_new(coll, members) : NULL;
	if (!group)
		return -FI_ENOMEM;
	group->past = past;
	group_offer(group, members->digest, past->count);
	TAILQ_INSERT_TAIL(&coll->groups, group, link);
	past->count++;
	*out = group;
	if (ofi_coll_agree(group, context, join_tag(group, false), join_tag(group, true))) {
		/* No other member knows of the group yet. */
		*out = NULL;
		past->count--;
		group_free(group);
		return -FI_ENOMEM;
	}
	ofi_coll_owed_run(group);
	return 0;
}

void ofi_coll_group_form(struct ofi_coll_group *group, int err)
{
	group->forming = false;
	if (err)
		return;
	group->number = group_candidate(group, (unsigned)__builtin_ctzll(group->agreed));
	group->formed = true;
}

uint64_t ofi_coll_group_tag(struct ofi_coll_group *group)
{
	uint64_t seq = group->next++ & MASK(SEQ_BITS);

	return ((group->number << SEQ_BITS) | seq) << ROUND_BITS;
}

size_t ofi_coll_group_rank(const struct ofi_coll_group *group, fi_addr_t addr)
{
	size_t rank;

	for (rank = 0; rank < group->size && group->member[rank] != addr; rank++)
		;
	return rank;
}

fi_addr_t ofi_coll_addr(const struct ofi_coll_group *group)
{
	return group->formed ? (ADDR_GROUP << ADDR_SHIFT) | group->number : FI_ADDR_NOTAVAIL;
}

struct ofi_coll_group *ofi_coll_find(struct ofi_coll *coll, fi_addr_t addr)
{
	struct ofi_coll_group *group;

	TAILQ_FOREACH (group, &coll->groups, link)
		if (group->formed && ofi_coll_addr(group) == addr)
			return group;
	return NULL;
}

/* Drops messages of members that were ahead of us. */
static void group_purge(const struct ofi_coll_group *group)
{
	const struct ofi_coll *coll = group->coll;
	uint64_t tag = group->number << SEQ_BITS << ROUND_BITS;
	uint64_t ignore = MASK(SEQ_BITS + ROUND_BITS);

	if (!group->formed) {
		tag = join_tag(group, false);
		ignore = MASK(ROUND_BITS + 1);
	}
	for (size_t i = 0; i < group->size; i++)
		if (i != group->rank)
			coll->net.purge(coll->arg, group->member[i], tag, ignore);
}

bool ofi_coll_leave(struct ofi_coll_group *group)
{
	struct ofi_coll_op *op, *next;

	if (group->forming && !ofi_coll_refuse(group) && group->refusals++ < REFUSALS_MAX)
		return false;
	for (op = TAILQ_FIRST(&group->ops); op; op = next) {
		next = TAILQ_NEXT(op, link);
		ofi_coll_op_cancel(op);
	}
	group_purge(group);
	if (!TAILQ_EMPTY(&group->ops))
		return false;
	group_free(group);
	return true;
}

void ofi_coll_sever(struct ofi_coll_group *group)
{
	struct ofi_coll_op *op;

	group->refusals = REFUSALS_MAX;
	TAILQ_FOREACH (op, &group->ops, link)
		ofi_coll_op_sever(op);
}

bool ofi_coll_forming(const struct ofi_coll *coll)
{
	const struct ofi_coll_group *group;

	TAILQ_FOREACH (group, &coll->groups, link)
		if (group->forming)
			return true;
	return false;
}

void ofi_coll_lost(struct ofi_coll *coll, fi_addr_t member)
{
	struct ofi_coll_group *group;
	size_t rank;

	TAILQ_FOREACH (group, &coll->groups, link) {
		rank = ofi_coll_group_rank(group, member);
		if (rank < group->size)
			group->lost[rank] = true;
	}
}

struct ofi_coll *ofi_coll_new(const struct ofi_coll_net *net, void *arg)
{
	struct ofi_coll *coll = calloc(1, sizeof(*coll));

	if (!coll)
		return NULL;
	coll->net = *net;
	coll->arg = arg;
	TAILQ_INIT(&coll->groups);
	SLIST_INIT(&coll->past);
	return coll;
}

void ofi_coll_free(struct ofi_coll *coll)
{
	struct ofi_coll_past *past;

	if (!coll)
		return;
	while (!TAILQ_EMPTY(&coll->groups)) {
		TAILQ_FIRST(&coll->groups)->forming = false;
		if (!ofi_coll_leave(TAILQ_FIRST(&coll->groups)))
			group_free(TAILQ_FIRST(&coll->groups));
	}
	while ((past = SLIST_FIRST(&coll->past))) {
		SLIST_REMOVE_HEAD(&coll->past, link);
		ofi_coll_owed_free(coll, past);
		free(past);
	}
	free(coll);
}
