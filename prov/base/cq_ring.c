/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions in software: a ring that grows, read in each of the formats. */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "cq_ring.h"

#define SIZE_MIN   64u
#define SIZE_LIMIT (1u << 30)

int ofi_cq_ring_init(struct ofi_cq_ring *ring, size_t size)
{
	uint32_t items = SIZE_MIN;

	if (size > SIZE_LIMIT)
		return -FI_ENOMEM;
	while (items < size)
		items *= 2;
	*ring = (struct ofi_cq_ring){ .mask = items - 1 };
	ring->items = calloc(items, sizeof(*ring->items));
	return ring->items ? 0 : -FI_ENOMEM;
}

void ofi_cq_ring_fini(struct ofi_cq_ring *ring)
{
	free(ring->items);
	ring->items = NULL;
}

bool ofi_cq_ring_grow(struct ofi_cq_ring *ring)
{
	uint32_t i, used = ring->tail - ring->head, size = ring->mask + 1;
	struct ofi_cq_item *items = NULL;

	if (size < SIZE_LIMIT)
		items = calloc((size_t)size * 2, sizeof(*items));
	if (!items) {
		ring->overrun = true;
		ofi_cq_ring_show(ring);
		return false;
	}
	for (i = 0; i < used; i++)
		items[i] = ring->items[(ring->head + i) & ring->mask];
	free(ring->items);
	ring->items = items;
	ring->mask = size * 2 - 1;
	__atomic_store_n(&ring->head, 0, __ATOMIC_RELAXED);
	ring->tail = used;
	ofi_cq_ring_show(ring);
	return true;
}

bool ofi_cq_ring_has(const struct ofi_cq_ring *ring, const void *context)
{
	uint32_t i;

	for (i = ring->head; i != ring->tail; i++)
		if (ring->items[i & ring->mask].context == context)
			return true;
	return false;
}

ssize_t ofi_cq_ring_read(struct ofi_cq_ring *ring, enum fi_cq_format format, void *buf,
			 size_t count, fi_addr_t *src)
{
	const struct ofi_cq_item *item;
	uint32_t head = ring->head;
	size_t done = 0;

	if (head == ring->tail)
		return ring->overrun ? -FI_EAVAIL : -FI_EAGAIN;
	for (; done < count && head != ring->tail; done++, head++) {
		item = &ring->items[head & ring->mask];
		if (item->err)
			break;
		ofi_cq_put_entry(format, buf, done, item);
		if (src)
			src[done] = item->src;
	}
	__atomic_store_n(&ring->head, head, __ATOMIC_RELAXED);
	if (done)
		return (ssize_t)done;
	return count ? -FI_EAVAIL : -FI_EAGAIN;
}

const struct ofi_cq_item *ofi_cq_ring_take_error(struct ofi_cq_ring *ring)
{
	static const struct ofi_cq_item overrun = { .err = FI_EOVERRUN };
	const struct ofi_cq_item *item;

	if (ring->head == ring->tail) {
		if (!ring->overrun)
			return NULL;
		ring->overrun = false;
		ofi_cq_ring_show(ring);
		return &overrun;
	}
	item = &ring->items[ring->head & ring->mask];
	if (!item->err)
		return NULL;
	__atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELAXED);
	return item;
}
