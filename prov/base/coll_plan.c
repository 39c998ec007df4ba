/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The algorithm of each collective operation. */
#include <stdlib.h>
#include <string.h>
#include "coll_plan.h"
#include <rdma/fi_errno.h>

#define BRUCK_MAX 4096	/* result size up to which fewer rounds pay for more copies */
#define RING_MIN  32768 /* size from which each member reduces only one slice */

typedef struct ofi_coll_plan plan_t;
typedef const struct ofi_coll_shape shape_t;

static void coll_plan_add(plan_t *plan, const struct ofi_coll_step *step)
{
	struct ofi_coll_step *more;
	size_t room;

	if (plan->count == plan->room) {
		room = plan->room ? 2 * plan->room : 16;
		more = realloc(plan->step, room * sizeof(*more));
		if (!more) {
			plan->err = -FI_ENOMEM;
			return;
		}
		plan->step = more;
		plan->room = room;
	}
	plan->step[plan->count++] = *step;
}

static void add_send(plan_t *plan, size_t peer, size_t round, const void *src, size_t len)
{
	coll_plan_add(plan, &(struct ofi_coll_step){ .verb = OFI_COLL_SEND,
						     .peer = (uint16_t)peer,
						     .round = (uint16_t)round,
						     .src = src,
						     .len = len });
}

static void add_recv(plan_t *plan, size_t peer, size_t round, void *dst, size_t len)
{
	coll_plan_add(plan, &(struct ofi_coll_step){ .verb = OFI_COLL_RECV,
						     .peer = (uint16_t)peer,
						     .round = (uint16_t)round,
						     .dst = dst,
						     .len = len });
}

static void add_wait(plan_t *plan)
{
	coll_plan_add(plan, &(struct ofi_coll_step){ .verb = OFI_COLL_WAIT });
}

static void add_copy(plan_t *plan, void *dst, const void *src, size_t len)
{
	if (dst != src && len)
		coll_plan_add(plan,
			      &(struct ofi_coll_step){
				      .verb = OFI_COLL_COPY, .dst = dst, .src = src, .len = len });
}

static void add_reduce(plan_t *plan, void *dst, const void *src, size_t count)
{
	if (count)
		coll_plan_add(plan, &(struct ofi_coll_step){ .verb = OFI_COLL_REDUCE,
							     .dst = dst,
							     .src = src,
							     .len = count });
}

static uint8_t *scratch(plan_t *plan, size_t len)
{
	plan->scratch = malloc(len ? len : 1);
	if (!plan->scratch)
		plan->err = -FI_ENOMEM;
	return plan->scratch;
}

/* Convert ranks to and from positions counted from the root. */
static size_t from_root(shape_t *s)
{
	return (s->rank + s->size - s->root) % s->size;
}

static size_t to_rank(shape_t *s, size_t v)
{
	return (v + s->root) % s->size;
}

/*
 * Returns the number of slices that a member of a binomial tree handles: its own and those of the
 * members below.
 */
static size_t below(shape_t *s, size_t v)
{
	size_t span = v ? v & -v : s->size;

	return span < s->size - v ? span : s->size - v;
}

/* Returns the half of the span that belongs to the first child. */
static size_t half_span(size_t span)
{
	size_t bit = 1;

	while (2 * bit < span)
		bit *= 2;
	return span > 1 ? bit : 0;
}

/* Dissemination: in round k each member hears from the member 2^k before it. */
static void plan_barrier(plan_t *plan, shape_t *s)
{
	size_t round = 0;

	for (size_t k = 1; k < s->size; k *= 2, round++) {
		add_recv(plan, (s->rank + s->size - k) % s->size, round, NULL, 0);
		add_send(plan, (s->rank + k) % s->size, round, NULL, 0);
		add_wait(plan);
	}
}

/* Binomial tree; the largest subtree is sent to first. */
static void plan_broadcast(plan_t *plan, shape_t *s)
{
	size_t v = from_root(s);

	if (v) {
		add_recv(plan, to_rank(s, v & (v - 1)), 0, s->result, s->bytes);
		add_wait(plan);
	}
	for (size_t k = half_span(below(s, v)); k; k /= 2)
		add_send(plan, to_rank(s, v + k), 0, s->result, s->bytes);
}

/* The tree of the broadcast, in reverse. */
static void plan_reduce(plan_t *plan, shape_t *s)
{
	size_t v = from_root(s), span = below(s, v);
	uint8_t *mem, *acc, *in;

	if (v && span == 1) {
		add_send(plan, to_rank(s, v & (v - 1)), 0, s->buf, s->bytes);
		return;
	}
	mem = scratch(plan, 2 * s->bytes);
	if (!mem)
		return;
	in = mem;
	acc = v ? mem + s->bytes : s->result;
	add_copy(plan, acc, s->buf, s->bytes);
	for (size_t k = 1; k < span; k *= 2) {
		add_recv(plan, to_rank(s, v + k), 0, in, s->bytes);
		add_wait(plan);
		add_reduce(plan, acc, in, s->count);
	}
	if (v)
		add_send(plan, to_rank(s, v & (v - 1)), 0, acc, s->bytes);
}

/* The accumulator and the received data; they are swapped if the result went to the latter. */
struct pair {
	uint8_t *acc, *in;
};

/* The operand of the lower rank is always on the left, so all members compute the same bits. */
static void plan_combine(plan_t *plan, shape_t *s, struct pair *p, bool peer_is_lower)
{
	uint8_t *acc = p->acc;

	if (!peer_is_lower) {
		add_reduce(plan, p->acc, p->in, s->count);
		return;
	}
	add_reduce(plan, p->in, p->acc, s->count);
	p->acc = p->in;
	p->in = acc;
}

/*
 * Recursive doubling among the largest power of two of the members. Each of the `extra` members
 * beyond it first gives its data to a neighbor, and gets the result at the end.
 */
static void plan_doubling(plan_t *plan, shape_t *s)
{
	size_t power = 1, extra, me, peer, round = 1;
	struct pair p = { s->result, scratch(plan, s->bytes) };

	while (2 * power <= s->size)
		power *= 2;
	extra = s->size - power;
	add_copy(plan, p.acc, s->buf, s->bytes);
	if (s->rank < 2 * extra && s->rank % 2 == 0) {
		add_send(plan, s->rank + 1, 0, p.acc, s->bytes);
		add_wait(plan);
		add_recv(plan, s->rank + 1, 0, s->result, s->bytes);
		return;
	}
	if (s->rank < 2 * extra) {
		add_recv(plan, s->rank - 1, 0, p.in, s->bytes);
		add_wait(plan);
		plan_combine(plan, s, &p, true);
	}
	me = s->rank < 2 * extra ? s->rank / 2 : s->rank - extra;
	for (size_t k = 1; k < power; k *= 2, round++) {
		peer = me ^ k;
		peer = peer < extra ? 2 * peer + 1 : peer + extra;
		add_recv(plan, peer, round, p.in, s->bytes);
		add_send(plan, peer, round, p.acc, s->bytes);
		add_wait(plan);
		plan_combine(plan, s, &p, peer < s->rank);
	}
	add_copy(plan, s->result, p.acc, s->bytes);
	if (s->rank < 2 * extra)
		add_send(plan, s->rank - 1, 0, s->result, s->bytes);
}

/*
 * A slice of an array that is divided among the members; the first ones may have one more element.
 */
struct slice {
	size_t at, count;
};

static struct slice slice_of(shape_t *s, size_t i)
{
	size_t each = s->count / s->size, more = s->count % s->size;

	return (struct slice){ i * each + (i < more ? i : more), each + (i < more) };
}

/*
 * Slices travel around the ring twice: they are reduced in the first turn and copied in the second.
 */
static void plan_ring(plan_t *plan, shape_t *s)
{
	size_t n = s->size, unit = s->bytes / s->count, at;
	uint8_t *in = scratch(plan, (s->count / n + 1) * unit), *out = s->result;
	struct slice give, take;
	bool first;

	add_copy(plan, out, s->buf, s->bytes);
	for (size_t round = 0; round < 2 * (n - 1); round++) {
		first = round < n - 1;
		at = first ? s->rank + n - round : s->rank + 2 * n - round;
		give = slice_of(s, at % n);
		take = slice_of(s, (at + n - 1) % n);
		add_recv(plan, (s->rank + n - 1) % n, round, first ? in : out + take.at * unit,
			 take.count * unit);
		add_send(plan, (s->rank + 1) % n, round, out + give.at * unit, give.count * unit);
		add_wait(plan);
		if (first)
			add_reduce(plan, out + take.at * unit, in, take.count);
	}
}

static void plan_allreduce(plan_t *plan, shape_t *s)
{
	if (s->size > 2 && s->count >= s->size && s->bytes >= RING_MIN)
		plan_ring(plan, s);
	else
		plan_doubling(plan, s);
}

/* Rotates the slices of all members: the first one goes to place `first`. */
static void plan_rotate(plan_t *plan, shape_t *s, uint8_t *dst, const uint8_t *src, size_t first)
{
	size_t head = (s->size - first) * s->bytes;

	add_copy(plan, dst + first * s->bytes, src, head);
	add_copy(plan, dst, src + head, first * s->bytes);
}

/* Bruck's algorithm: the data of a member doubles in each round. */
static void plan_bruck(plan_t *plan, shape_t *s)
{
	size_t n = s->size, round = 0, count;
	uint8_t *mem = scratch(plan, n * s->bytes);

	if (!mem)
		return;
	add_copy(plan, mem, s->buf, s->bytes);
	for (size_t k = 1; k < n; k *= 2, round++) {
		count = k < n - k ? k : n - k;
		add_recv(plan, (s->rank + k) % n, round, mem + k * s->bytes, count * s->bytes);
		add_send(plan, (s->rank + n - k) % n, round, mem, count * s->bytes);
		add_wait(plan);
	}
	plan_rotate(plan, s, s->result, mem, s->rank);
}

static void plan_allgather(plan_t *plan, shape_t *s)
{
	size_t n = s->size;
	uint8_t *out = s->result;

	if (n * s->bytes <= BRUCK_MAX) {
		plan_bruck(plan, s);
		return;
	}
	add_copy(plan, out + s->rank * s->bytes, s->buf, s->bytes);
	for (size_t i = 0; i < n - 1; i++) {
		add_recv(plan, (s->rank + n - 1) % n, i, out + (s->rank + n - i - 1) % n * s->bytes,
			 s->bytes);
		add_send(plan, (s->rank + 1) % n, i, out + (s->rank + n - i) % n * s->bytes,
			 s->bytes);
		add_wait(plan);
	}
}

/* Binomial tree; a member gets its slice and those of the members below it in one message. */
static void plan_scatter(plan_t *plan, shape_t *s)
{
	size_t v = from_root(s), span = below(s, v);
	const uint8_t *mem = s->buf;

	if (v && span == 1) {
		add_recv(plan, to_rank(s, v & (v - 1)), 0, s->result, s->bytes);
		return;
	}
	if (v || s->root)
		mem = scratch(plan, span * s->bytes);
	if (!mem)
		return;
	if (v) {
		add_recv(plan, to_rank(s, v & (v - 1)), 0, (void *)mem, span * s->bytes);
		add_wait(plan);
	} else if (s->root) {
		plan_rotate(plan, s, (void *)mem, s->buf, s->size - s->root);
	}
	for (size_t k = half_span(span); k; k /= 2)
		add_send(plan, to_rank(s, v + k), 0, mem + k * s->bytes,
			 (k < span - k ? k : span - k) * s->bytes);
	add_wait(plan);
	add_copy(plan, s->result, mem, s->bytes);
}

/* The tree of the scatter, in reverse. */
static void plan_gather(plan_t *plan, shape_t *s)
{
	size_t v = from_root(s), span = below(s, v);
	uint8_t *mem = s->result;

	if (v && span == 1) {
		add_send(plan, to_rank(s, v & (v - 1)), 0, s->buf, s->bytes);
		return;
	}
	if (v || s->root)
		mem = scratch(plan, span * s->bytes);
	if (!mem)
		return;
	add_copy(plan, mem, s->buf, s->bytes);
	for (size_t k = half_span(span); k; k /= 2)
		add_recv(plan, to_rank(s, v + k), 0, mem + k * s->bytes,
			 (k < span - k ? k : span - k) * s->bytes);
	add_wait(plan);
	if (v)
		add_send(plan, to_rank(s, v & (v - 1)), 0, mem, span * s->bytes);
	else if (s->root)
		plan_rotate(plan, s, s->result, mem, s->root);
}

/* In round i each member sends to the member i after it. */
static void plan_alltoall(plan_t *plan, shape_t *s)
{
	size_t n = s->size, total = n * s->bytes, to, from;
	const uint8_t *in = s->buf;
	uint8_t *out = s->result;

	if (in < out + total && out < in + total) {
		in = scratch(plan, total);
		if (!in)
			return;
		add_copy(plan, (void *)in, s->buf, total);
	}
	add_copy(plan, out + s->rank * s->bytes, in + s->rank * s->bytes, s->bytes);
	for (size_t i = 1; i < n; i++) {
		to = (s->rank + i) % n;
		from = (s->rank + n - i) % n;
		add_recv(plan, from, i, out + from * s->bytes, s->bytes);
		add_send(plan, to, i, in + to * s->bytes, s->bytes);
		add_wait(plan);
	}
}

static void plan_reduce_scatter(plan_t *plan, shape_t *s)
{
	size_t n = s->size, to;
	uint8_t *in = scratch(plan, 2 * s->bytes), *acc;
	const uint8_t *from = s->buf;

	if (!in)
		return;
	acc = in + s->bytes;
	add_copy(plan, acc, from + s->rank * s->bytes, s->bytes);
	for (size_t i = 1; i < n; i++) {
		to = (s->rank + i) % n;
		add_recv(plan, (s->rank + n - i) % n, i, in, s->bytes);
		add_send(plan, to, i, from + to * s->bytes, s->bytes);
		add_wait(plan);
		add_reduce(plan, acc, in, s->count);
	}
	add_copy(plan, s->result, acc, s->bytes);
}

typedef void plan_fn(plan_t *plan, shape_t *shape);

static plan_fn *const plans[] = {
	[FI_BARRIER] = plan_barrier,	 [FI_BROADCAST] = plan_broadcast,
	[FI_ALLTOALL] = plan_alltoall,	 [FI_ALLREDUCE] = plan_allreduce,
	[FI_ALLGATHER] = plan_allgather, [FI_REDUCE_SCATTER] = plan_reduce_scatter,
	[FI_REDUCE] = plan_reduce,	 [FI_SCATTER] = plan_scatter,
	[FI_GATHER] = plan_gather,
};

int ofi_coll_sliced(enum fi_collective_op kind)
{
	return kind == FI_ALLTOALL || kind == FI_ALLGATHER || kind == FI_REDUCE_SCATTER ||
	       kind == FI_SCATTER || kind == FI_GATHER;
}

int ofi_coll_plan_make(struct ofi_coll_plan *plan, const struct ofi_coll_shape *shape)
{
	plans[shape->kind](plan, shape);
	if (plan->err)
		ofi_coll_plan_free(plan);
	return plan->err;
}

void ofi_coll_plan_free(struct ofi_coll_plan *plan)
{
	free(plan->step);
	free(plan->scratch);
	plan->step = NULL;
	plan->scratch = NULL;
	plan->count = 0;
}
