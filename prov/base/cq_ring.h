/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Software completions: a queue of completions for the application to read, used by providers that
 * complete operations themselves. The ring grows, so completions are lost only when out of memory.
 * The owner's lock guards it.
 */
#ifndef OFI_CQ_RING_H
#define OFI_CQ_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <rdma/fi_eq.h>
#include "src/ds/compiler.h"

struct ofi_cq_item {
	void *context;
	uint64_t flags;
	size_t len;
	void *buf;
	uint64_t data;
	uint64_t tag;
	union {
		fi_addr_t src;	  /* set if the operation succeeded */
		size_t olen;	  /* set if the operation failed */
		const void *from; /* for FI_EADDRNOTAVAIL: the sender's address, or NULL */
	};
	int err; /* FI_E*, 0 on success */
	int prov_errno;
};

struct ofi_cq_ring {
	struct ofi_cq_item *items;
	uint32_t mask;	     /* size - 1; the size is a power of two */
	uint32_t head, tail; /* numbers of items read and written */
	/*
	 * Tail, plus 1 after an overrun; atomic, like head, so both can be read without the lock.
	 */
	uint32_t ahead;
	bool overrun; /* items were lost because memory was exhausted */
};

/* Allocates room for at least `size` items. Returns 0 or -FI_ENOMEM. */
int ofi_cq_ring_init(struct ofi_cq_ring *ring, size_t size);
void ofi_cq_ring_fini(struct ofi_cq_ring *ring);
/*
 * Grows the ring. Returns false when out of memory: the completion is lost and the ring is overrun.
 */
bool ofi_cq_ring_grow(struct ofi_cq_ring *ring);
/*
 * Copies successful completions in order into entries of the format, and their sources if src is
 * not NULL. Returns their number; -FI_EAVAIL if a failure is next; -FI_EAGAIN if the ring is empty.
 */
ssize_t ofi_cq_ring_read(struct ofi_cq_ring *ring, enum fi_cq_format format, void *buf,
			 size_t count, fi_addr_t *src);
/*
 * Removes the failure that is next. Returns NULL if there is none. The result is valid until the
 * next item is added.
 */
const struct ofi_cq_item *ofi_cq_ring_take_error(struct ofi_cq_ring *ring);

/* Returns true if an unread item has the context. */
bool ofi_cq_ring_has(const struct ofi_cq_ring *ring, const void *context);

/*
 * Returns true if there is neither an item nor an overrun to read. Without the lock, a ring that is
 * growing may look empty.
 */
static inline bool ofi_cq_ring_empty(const struct ofi_cq_ring *ring)
{
	return __atomic_load_n(&ring->head, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&ring->ahead, __ATOMIC_ACQUIRE);
}

/* Returns the number of unread items, where an overrun counts as one. The caller holds the lock. */
static inline size_t ofi_cq_ring_used(const struct ofi_cq_ring *ring)
{
	return (uint32_t)(ring->ahead - ring->head);
}

/* Makes a change of tail or overrun visible to readers without the lock. */
static inline void ofi_cq_ring_show(struct ofi_cq_ring *ring)
{
	__atomic_store_n(&ring->ahead, ring->tail + ring->overrun, __ATOMIC_RELEASE);
}

/* Writes the i-th entry of buf. Each format begins with the fields of the previous one. */
static inline void ofi_cq_put_entry(enum fi_cq_format format, void *buf, size_t i,
				    const struct ofi_cq_item *item)
{
	switch (format) {
	case FI_CQ_FORMAT_TAGGED:
		((struct fi_cq_tagged_entry *)buf)[i] =
			(struct fi_cq_tagged_entry){ item->context, item->flags, item->len,
						     item->buf,	    item->data,	 item->tag };
		break;
	case FI_CQ_FORMAT_DATA:
		((struct fi_cq_data_entry *)buf)[i] =
			(struct fi_cq_data_entry){ item->context, item->flags, item->len, item->buf,
						   item->data };
		break;
	case FI_CQ_FORMAT_MSG:
		((struct fi_cq_msg_entry *)buf)[i] =
			(struct fi_cq_msg_entry){ item->context, item->flags, item->len };
		break;
	default:
		((struct fi_cq_entry *)buf)[i].op_context = item->context;
		break;
	}
}

/* Returns the item to fill before ofi_cq_ring_push(), or NULL when out of memory. */
static inline struct ofi_cq_item *ofi_cq_ring_next(struct ofi_cq_ring *ring)
{
	if (ofi_unlikely(ring->tail - ring->head > ring->mask) && !ofi_cq_ring_grow(ring))
		return NULL;
	return &ring->items[ring->tail & ring->mask];
}

static inline void ofi_cq_ring_push(struct ofi_cq_ring *ring)
{
	ring->tail++;
	ofi_cq_ring_show(ring);
}

#endif
