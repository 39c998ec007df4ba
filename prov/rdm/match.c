/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Matching: classes of receives, the unexpected queue with its indexes, and the slow path. */
#include "match.h"
#include "src/ds/container.h"

static struct ofi_rdm_match_recv *recv_of(struct ofi_rdm_match_node *node)
{
	return (struct ofi_rdm_match_recv *)node;
}

static uint32_t class_of(const struct ofi_rdm_match_node *node)
{
	return (uint32_t)(node->from >> 32);
}

static void set_class(struct ofi_rdm_match_class *kind, uint32_t number, bool any, uint64_t ignore)
{
	*kind = (struct ofi_rdm_match_class){
		.ignore = ignore,
		.keep = ~ignore,
		.from = (uint64_t)number << 32,
	};
	if (any)
		kind->from |= OFI_RDM_MATCH_ANY;
}

void ofi_rdm_match_init(struct ofi_rdm_match *m, struct ofi_rdm_match_node **recvs,
			struct ofi_rdm_match_node **msgs, unsigned int bits)
{
	uint64_t mask = ((uint64_t)1 << bits) - 1;
	uint32_t c;

	*m = (struct ofi_rdm_match){
		.recvs = { .buckets = recvs, .mask = mask, .shift = 64 - bits },
		.indexed = { .buckets = msgs, .mask = mask, .shift = 64 - bits },
		.recent = { &m->classes[0], &m->classes[1] },
		.only = &m->shut,
		.now = { &m->shut, &m->shut },
	};
	TAILQ_INIT(&m->msgs);
	TAILQ_INIT(&m->claimed);
	/* No class has this number. */
	set_class(&m->shut, OFI_RDM_MATCH_CLASSES + 1, false, 0);
	m->shut.shut = 1;
	/* The first two classes are always for receives without a mask. */
	for (c = 0; c <= OFI_RDM_MATCH_CLASSES; c++)
		set_class(&m->classes[c], c, c == 1, 0);
}

static bool is_any(const struct ofi_rdm_match_class *kind)
{
	return (uint32_t)kind->from == OFI_RDM_MATCH_ANY;
}

static bool is_class(const struct ofi_rdm_match_class *kind, bool any, uint64_t ignore)
{
	return kind->ignore == ignore && is_any(kind) == any;
}

static void set_only(struct ofi_rdm_match *m, struct ofi_rdm_match_class *only)
{
	if (only != &m->shut)
		only->shut = m->msg_count != 0;
	m->only = only;
	m->now[false] = is_any(only) ? &m->shut : only;
	m->now[true] = is_any(only) ? only : &m->shut;
}

static void set_active(struct ofi_rdm_match *m)
{
	uint32_t c;

	m->active = 0;
	for (c = 0; c < OFI_RDM_MATCH_CLASSES; c++)
		m->active |= (uint32_t)m->classes[c].active << c;
	if (m->active && !(m->active & (m->active - 1)) && !m->rest)
		set_only(m, &m->classes[__builtin_ctz(m->active)]);
	else
		set_only(m, &m->shut);
}

/* Returns the class for a receive; NULL if none is free. */
static struct ofi_rdm_match_class *find_class(struct ofi_rdm_match *m, bool any, uint64_t ignore)
{
	struct ofi_rdm_match_class *kind, *unused = NULL;

	if (!ignore)
		return &m->classes[any];
	for (kind = m->classes + 2; kind < m->classes + OFI_RDM_MATCH_CLASSES; kind++) {
		if (is_class(kind, any, ignore))
			return kind;
		if (!kind->count && (!unused || unused->active))
			unused = kind;
	}
	if (!unused)
		return NULL;
	if (m->recent[!any] == unused)
		m->recent[!any] = &m->classes[!any];
	set_class(unused, (uint32_t)(unused - m->classes), any, ignore);
	set_active(m);
	return unused;
}

/* Deactivates classes without receives. Until this runs, messages are still compared with them. */
static void match_sweep(struct ofi_rdm_match *m)
{
	uint32_t c;

	for (c = 0; c < OFI_RDM_MATCH_CLASSES; c++)
		m->classes[c].active = m->classes[c].count;
	set_active(m);
}

static void post_rest(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv, uint32_t src,
		      uint64_t tag, uint64_t ignore)
{
	struct ofi_rdm_match_class *kind = &m->classes[OFI_RDM_MATCH_CLASSES];

	recv->seq = ++m->seq;
	recv->ignore = ignore;
	recv->node.tag = tag & ~ignore;
	recv->node.from = kind->from | src;
	kind->count++;
	ofi_rdm_match_append(&m->rest, &recv->node);
	set_only(m, &m->shut);
}

static void post_to(struct ofi_rdm_match *m, struct ofi_rdm_match_class *kind,
		    struct ofi_rdm_match_recv *recv, uint32_t src, uint64_t tag)
{
	recv->seq = ++m->seq;
	ofi_rdm_match_add(m, kind, recv, kind->from | src, tag);
}

/* Slow path of posting: messages are queued, or the class is new or not the one used last. */
static OFI_OUTLINE struct ofi_rdm_match_msg *post_any(struct ofi_rdm_match *m,
						      struct ofi_rdm_match_recv *recv, uint32_t src,
						      uint64_t tag, uint64_t ignore)
{
	struct ofi_rdm_match_msg *msg =
		m->msg_count ? ofi_rdm_match_peek(m, src, tag, ignore) : NULL;
	bool any = src == OFI_RDM_MATCH_ANY;
	struct ofi_rdm_match_class *kind;

	if (msg) {
		ofi_rdm_match_drop(m, msg);
		return msg;
	}
	kind = m->recent[any];
	if (kind->ignore != ignore)
		kind = find_class(m, any, ignore);
	if (!kind) {
		post_rest(m, recv, src, tag, ignore);
		return NULL;
	}
	m->recent[any] = kind;
	if (!kind->active) {
		kind->active = true;
		set_active(m);
	}
	post_to(m, kind, recv, src, tag);
	return NULL;
}

/* Tries the class used last before the others. */
struct ofi_rdm_match_msg *ofi_rdm_match_post_many(struct ofi_rdm_match *m,
						  struct ofi_rdm_match_recv *recv, uint32_t src,
						  uint64_t tag, uint64_t ignore)
{
	struct ofi_rdm_match_class *kind = m->recent[src == OFI_RDM_MATCH_ANY];

	if (ofi_unlikely(m->msg_count || kind->ignore != ignore || !kind->active))
		return post_any(m, recv, src, tag, ignore);
	post_to(m, kind, recv, src, tag);
	return NULL;
}

/* Removes a node at any position of its group, whose first node is *link. */
static void remove_from(struct ofi_rdm_match_node **link, struct ofi_rdm_match_node *node)
{
	if (*link == node) {
		ofi_rdm_match_shift(link, node);
		return;
	}
	node->prev->next = node->next;
	if (node->next)
		node->next->prev = node->prev;
	else
		(*link)->prev = node->prev;
}

void ofi_rdm_match_remove(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv)
{
	struct ofi_rdm_match_node *node = &recv->node;

	if (class_of(node) == OFI_RDM_MATCH_CLASSES)
		remove_from(&m->rest, node);
	else
		remove_from(ofi_rdm_match_find(&m->recvs, node->tag, node->from), node);
	m->classes[class_of(node)].count--;
}

static struct ofi_rdm_match_recv *first_of_rest(struct ofi_rdm_match *m, uint32_t src, uint64_t tag)
{
	struct ofi_rdm_match_node *node;
	uint32_t from;

	for (node = m->rest; node; node = node->next) {
		from = (uint32_t)node->from;
		if ((from == OFI_RDM_MATCH_ANY || from == src) &&
		    (tag & ~recv_of(node)->ignore) == node->tag)
			break;
	}
	return recv_of(node);
}

struct ofi_rdm_match_recv *ofi_rdm_match_arrive_many(struct ofi_rdm_match *m, uint32_t src,
						     uint64_t tag)
{
	struct ofi_rdm_match_node **link, **best_link = NULL;
	struct ofi_rdm_match_recv *recv, *best = NULL;
	struct ofi_rdm_match_class *kind;
	uint32_t bits;

	if (++m->arrivals % OFI_RDM_MATCH_PATIENCE == 0)
		match_sweep(m);
	for (bits = m->active; bits; bits &= bits - 1) {
		kind = &m->classes[__builtin_ctz(bits)];
		link = ofi_rdm_match_find(&m->recvs, tag & kind->keep, kind->from | src);
		recv = recv_of(*link);
		if (recv && (!best || recv->seq < best->seq)) {
			best = recv;
			best_link = link;
		}
	}
	recv = m->rest ? first_of_rest(m, src, tag) : NULL;
	if (recv && (!best || recv->seq < best->seq)) {
		if (!recv->sticky)
			ofi_rdm_match_remove(m, recv);
		return recv;
	}
	if (best && !best->sticky) {
		ofi_rdm_match_shift(best_link, &best->node);
		m->classes[class_of(&best->node)].count--;
	}
	return best;
}

static struct ofi_rdm_match_recv *with_context(struct ofi_rdm_match_node *node, const void *context)
{
	while (node && recv_of(node)->context != context)
		node = node->next;
	return recv_of(node);
}

struct ofi_rdm_match_recv *ofi_rdm_match_cancel(struct ofi_rdm_match *m, const void *context)
{
	struct ofi_rdm_match_recv *found = with_context(m->rest, context);
	struct ofi_rdm_match_node *first;
	size_t i;

	for (i = 0; i <= m->recvs.mask && !found; i++) {
		for (first = m->recvs.buckets[i]; first && !found; first = first->chain)
			found = with_context(first, context);
	}
	if (found)
		ofi_rdm_match_remove(m, found);
	return found;
}

/* All receives of a group have the same source. */
bool ofi_rdm_match_awaits(const struct ofi_rdm_match *m, uint32_t src)
{
	const struct ofi_rdm_match_node *node;
	size_t i;

	for (node = m->rest; node; node = node->next)
		if ((uint32_t)node->from == src)
			return true;
	for (i = 0; ofi_rdm_match_recv_count(m) && i <= m->recvs.mask; i++)
		for (node = m->recvs.buckets[i]; node; node = node->chain)
			if ((uint32_t)node->from == src)
				return true;
	return false;
}

struct ofi_rdm_match_recv *ofi_rdm_match_first_recv(const struct ofi_rdm_match *m)
{
	size_t i;

	if (m->rest)
		return recv_of(m->rest);
	for (i = 0; i <= m->recvs.mask; i++) {
		if (m->recvs.buckets[i])
			return recv_of(m->recvs.buckets[i]);
	}
	return NULL;
}

size_t ofi_rdm_match_recv_count(const struct ofi_rdm_match *m)
{
	size_t count = 0;
	uint32_t c;

	for (c = 0; c <= OFI_RDM_MATCH_CLASSES; c++)
		count += m->classes[c].count;
	return count;
}

static void index_msg(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg, uint32_t i)
{
	const struct ofi_rdm_match_class *index = &m->indexes[i];
	struct ofi_rdm_match_node *node = &msg->nodes[i];

	node->tag = msg->tag & ~index->ignore;
	node->from = index->from | msg->src;
	ofi_rdm_match_append(ofi_rdm_match_find(&m->indexed, node->tag, node->from), node);
}

static void unindex_msg(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg, uint32_t i)
{
	struct ofi_rdm_match_node *node = &msg->nodes[i];

	remove_from(ofi_rdm_match_find(&m->indexed, node->tag, node->from), node);
}

static void match_disarm(struct ofi_rdm_match *m, uint32_t i)
{
	struct ofi_rdm_match_msg *msg;

	TAILQ_FOREACH (msg, &m->msgs, order)
		unindex_msg(m, msg, i);
	m->armed &= ~(1u << i);
}

static void match_arm(struct ofi_rdm_match *m, uint32_t i, bool any, uint64_t ignore)
{
	struct ofi_rdm_match_msg *msg;

	set_class(&m->indexes[i], i, any, ignore);
	m->armed |= 1u << i;
	TAILQ_FOREACH (msg, &m->msgs, order)
		index_msg(m, msg, i);
}

/* Returns the index for the receives of a class, OFI_RDM_MATCH_INDEXES if none can be built now. */
static uint32_t index_for(struct ofi_rdm_match *m, bool any, uint64_t ignore)
{
	uint32_t i, oldest = 0;

	for (i = 0; i < OFI_RDM_MATCH_INDEXES; i++) {
		if (m->armed & 1u << i && is_class(&m->indexes[i], any, ignore))
			return i;
	}
	for (i = 0; i < OFI_RDM_MATCH_INDEXES && m->armed & 1u << i; i++) {
		if (m->used[i] < m->used[oldest])
			oldest = i;
	}
	if (i == OFI_RDM_MATCH_INDEXES) {
		if (m->searches - m->used[oldest] < OFI_RDM_MATCH_PATIENCE)
			return OFI_RDM_MATCH_INDEXES;
		i = oldest;
		match_disarm(m, i);
	}
	match_arm(m, i, any, ignore);
	return i;
}

static struct ofi_rdm_match_msg *scan_msgs(struct ofi_rdm_match *m, uint32_t src, uint64_t tag,
					   uint64_t ignore)
{
	struct ofi_rdm_match_msg *msg;

	TAILQ_FOREACH (msg, &m->msgs, order)
		if (ofi_rdm_match_takes(msg, src, tag, ignore))
			break;
	return msg;
}

struct ofi_rdm_match_msg *ofi_rdm_match_peek(struct ofi_rdm_match *m, uint32_t src, uint64_t tag,
					     uint64_t ignore)
{
	struct ofi_rdm_match_msg *oldest = ofi_rdm_match_oldest(m, src, tag, ignore);
	struct ofi_rdm_match_node *node;
	uint32_t i;

	if (oldest)
		return oldest;
	if (m->msg_count <= OFI_RDM_MATCH_SCAN)
		return scan_msgs(m, src, tag, ignore);
	m->searches++;
	i = index_for(m, src == OFI_RDM_MATCH_ANY, ignore);
	if (i == OFI_RDM_MATCH_INDEXES)
		return scan_msgs(m, src, tag, ignore);
	m->used[i] = m->searches;
	node = *ofi_rdm_match_find(&m->indexed, tag & ~ignore, m->indexes[i].from | src);
	if (!node)
		return NULL;
	return ofi_container(node - i, struct ofi_rdm_match_msg, nodes);
}

void ofi_rdm_match_index(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg)
{
	uint32_t bits;

	for (bits = m->armed; bits; bits &= bits - 1)
		index_msg(m, msg, (uint32_t)__builtin_ctz(bits));
}

void ofi_rdm_match_unindex(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg)
{
	uint32_t bits;

	for (bits = m->armed; bits; bits &= bits - 1)
		unindex_msg(m, msg, (uint32_t)__builtin_ctz(bits));
}

static void unclaim(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg)
{
	TAILQ_REMOVE(&m->claimed, msg, order);
	msg->claimed = false;
}

void ofi_rdm_match_claim(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg, void *context)
{
	ofi_rdm_match_drop(m, msg);
	msg->context = context;
	msg->claimed = true;
	TAILQ_INSERT_TAIL(&m->claimed, msg, order);
}

struct ofi_rdm_match_msg *ofi_rdm_match_take_claim(struct ofi_rdm_match *m, const void *context)
{
	struct ofi_rdm_match_msg *msg;

	TAILQ_FOREACH (msg, &m->claimed, order)
		if (msg->context == context)
			break;
	if (msg)
		unclaim(m, msg);
	return msg;
}

bool ofi_rdm_match_forget(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg)
{
	bool known = msg->queued || msg->claimed;

	if (msg->queued)
		ofi_rdm_match_drop(m, msg);
	else if (msg->claimed)
		unclaim(m, msg);
	return known;
}
