/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lists the statistics in a record, which is in the process itself or in the mapped file of
 * another.
 */
#include <ofi/stats_layout.h>

/*
 * Returns the index of the slot that a pointer points to. `where` is the offset of the pointer from
 * the record.
 */
static uint64_t index_at(const struct ofi_stats *stats, int64_t where)
{
	const uint64_t *pointer = (const uint64_t *)((const char *)stats + where);

	if (!stats->stride || !stats->entries)
		return 0;
	return (__atomic_load_n(pointer, __ATOMIC_ACQUIRE) - stats->ring) / stats->stride %
	       stats->entries;
}

static uint64_t counter_distance(const struct ofi_stats *stats, uint64_t from, uint64_t to)
{
	return to >= from ? to - from : to + stats->entries - from;
}

/*
 * The mark is set before the head gets a whole round ahead of it, so the distance is not ambiguous.
 */
uint64_t ofi_stats_posted(const struct ofi_stats *stats)
{
	uint64_t mark, head;
	int tries = 100;

	if (!stats->entries)
		return 0;
	do {
		mark = __atomic_load_n(&stats->mark, __ATOMIC_ACQUIRE);
		head = index_at(stats, stats->head);
	} while (__atomic_load_n(&stats->mark, __ATOMIC_ACQUIRE) != mark && --tries);
	return mark + counter_distance(stats, mark % stats->entries, head);
}

/* The tail is read first: it never passes the head. */
uint64_t ofi_stats_outstanding(const struct ofi_stats *stats)
{
	uint64_t tail = index_at(stats, stats->tail);

	return stats->entries ? counter_distance(stats, tail, index_at(stats, stats->head)) : 0;
}

struct list {
	struct fi_stats_item *items;
	size_t count;
};

static void stats_list_add(struct list *list, const char *name, uint64_t value, bool level)
{
	list->items[list->count++] =
		(struct fi_stats_item){ .name = name, .value = value, .level = level };
}

static void add_counter(struct list *list, const char *name, const struct ofi_stats *stats,
			int counter)
{
	stats_list_add(list, name, ofi_stats_value(stats, counter), false);
}

static void list_tx(const struct ofi_stats *stats, struct list *list)
{
	uint64_t others = ofi_stats_value(stats, OFI_STATS_WRITES) +
			  ofi_stats_value(stats, OFI_STATS_READS) +
			  ofi_stats_value(stats, OFI_STATS_ATOMICS);
	uint64_t left = ofi_stats_outstanding(stats), posted = ofi_stats_posted(stats);

	stats_list_add(list, "sends", ofi_stats_minus(posted, others), false);
	add_counter(list, "send_bytes", stats, OFI_STATS_SEND_BYTES);
	add_counter(list, "writes", stats, OFI_STATS_WRITES);
	add_counter(list, "write_bytes", stats, OFI_STATS_WRITE_BYTES);
	add_counter(list, "reads", stats, OFI_STATS_READS);
	add_counter(list, "read_bytes", stats, OFI_STATS_READ_BYTES);
	add_counter(list, "atomics", stats, OFI_STATS_ATOMICS);
	add_counter(list, "atomic_bytes", stats, OFI_STATS_ATOMIC_BYTES);
	stats_list_add(list, "tx_completed", ofi_stats_minus(posted, left), false);
	stats_list_add(list, "tx_outstanding", left, true);
	stats_list_add(list, "doorbells",
		       ofi_stats_minus(posted, ofi_stats_value(stats, OFI_STATS_SHARED)), false);
	add_counter(list, "tx_eagain", stats, OFI_STATS_EAGAIN);
	add_counter(list, "tx_refused", stats, OFI_STATS_REFUSED);
	add_counter(list, "tx_errors", stats, OFI_STATS_ERRORS);
	add_counter(list, "rnr_exceeded", stats, OFI_STATS_RNR);
}

static void list_rx(const struct ofi_stats *stats, struct list *list)
{
	uint64_t left = ofi_stats_outstanding(stats), posted = ofi_stats_posted(stats);

	stats_list_add(list, "receives", posted, false);
	stats_list_add(list, "rx_completed", ofi_stats_minus(posted, left), false);
	add_counter(list, "receive_bytes", stats, OFI_STATS_RECEIVE_BYTES);
	stats_list_add(list, "rx_outstanding", left, true);
	add_counter(list, "rx_eagain", stats, OFI_STATS_EAGAIN);
	add_counter(list, "rx_refused", stats, OFI_STATS_REFUSED);
	add_counter(list, "rx_errors", stats, OFI_STATS_ERRORS);
}

static void list_cq(const struct ofi_stats *stats, struct list *list)
{
	add_counter(list, "completed", stats, OFI_STATS_COMPLETED);
	add_counter(list, "errors", stats, OFI_STATS_ERRORS);
	add_counter(list, "events", stats, OFI_STATS_EVENTS);
	add_counter(list, "sleeps", stats, OFI_STATS_SLEEPS);
}

static void list_domain(const struct ofi_stats *stats, struct list *list)
{
	uint64_t closed = ofi_stats_value(stats, OFI_STATS_MRS_CLOSED);
	uint64_t opened = ofi_stats_value(stats, OFI_STATS_MRS);

	stats_list_add(list, "registrations", opened, false);
	stats_list_add(list, "regions", ofi_stats_minus(opened, closed), true);
	stats_list_add(list, "registered_bytes", ofi_stats_value(stats, OFI_STATS_MR_BYTES), true);
	add_counter(list, "registration_errors", stats, OFI_STATS_MR_ERRORS);
	add_counter(list, "device_events", stats, OFI_STATS_EVENTS);
}

/* Lists a reliable-datagram endpoint. */
static void list_ep(const struct ofi_stats *stats, struct list *list)
{
	uint64_t ended = ofi_stats_value(stats, OFI_STATS_CONNECTS_ENDED);
	uint64_t made = ofi_stats_value(stats, OFI_STATS_CONNECTS);

	add_counter(list, "sends", stats, OFI_STATS_SENDS);
	add_counter(list, "send_bytes", stats, OFI_STATS_SEND_BYTES);
	add_counter(list, "writes", stats, OFI_STATS_WRITES);
	add_counter(list, "write_bytes", stats, OFI_STATS_WRITE_BYTES);
	add_counter(list, "reads", stats, OFI_STATS_READS);
	add_counter(list, "read_bytes", stats, OFI_STATS_READ_BYTES);
	add_counter(list, "atomics", stats, OFI_STATS_ATOMICS);
	add_counter(list, "atomic_bytes", stats, OFI_STATS_ATOMIC_BYTES);
	add_counter(list, "tx_eagain", stats, OFI_STATS_EAGAIN);
	add_counter(list, "tx_errors", stats, OFI_STATS_ERRORS);
	add_counter(list, "fenced", stats, OFI_STATS_FENCED);
	add_counter(list, "messages", stats, OFI_STATS_RECEIVES);
	add_counter(list, "receive_bytes", stats, OFI_STATS_RECEIVE_BYTES);
	add_counter(list, "unexpected", stats, OFI_STATS_UNEXPECTED);
	add_counter(list, "unexpected_bytes", stats, OFI_STATS_UNEXPECTED_BYTES);
	add_counter(list, "rx_errors", stats, OFI_STATS_RX_ERRORS);
	add_counter(list, "connects", stats, OFI_STATS_CONNECTS);
	stats_list_add(list, "connections", ofi_stats_minus(made, ended), true);
	add_counter(list, "evictions", stats, OFI_STATS_EVICTIONS);
	add_counter(list, "connect_failures", stats, OFI_STATS_CONNECTS_FAILED);
}

size_t ofi_stats_list(const struct ofi_stats *stats, struct fi_stats_item *items)
{
	struct list list = { .items = items };

	switch (stats->fclass) {
	case FI_CLASS_TX_CTX:
		list_tx(stats, &list);
		break;
	case FI_CLASS_RX_CTX:
		list_rx(stats, &list);
		break;
	case FI_CLASS_EP:
		list_ep(stats, &list);
		break;
	case FI_CLASS_CQ:
		list_cq(stats, &list);
		break;
	case FI_CLASS_DOMAIN:
		list_domain(stats, &list);
		break;
	default:
		break;
	}
	return list.count;
}
