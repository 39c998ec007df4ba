/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What statistics look like in memory, for the process that keeps them and for those that read
 * them. A counter has one writer at a time; readers take no lock. What is posted is not counted at
 * all: a record says where its queue's head is and how often it had moved at the last look.
 */
#ifndef OFI_STATS_LAYOUT_H
#define OFI_STATS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_stats.h>

#define OFI_STATS_FILE	  "libfabric-stats"
#define OFI_STATS_MAGIC	  0x315441545349464fULL /* "OFISTAT1" */
#define OFI_STATS_VERSION 2
#define OFI_STATS_SLOT	  1024 /* a record, at its end, and what it is embedded in */
#define OFI_STATS_SLOTS	  16384
#define OFI_STATS_ALIGN	  64

/* Counters. The posting and the polling side of a queue write different cache lines. */
enum {
	OFI_STATS_SEND_BYTES,
	OFI_STATS_WRITES,
	OFI_STATS_WRITE_BYTES,
	OFI_STATS_READS,
	OFI_STATS_READ_BYTES,
	OFI_STATS_ATOMICS,
	OFI_STATS_ATOMIC_BYTES,
	OFI_STATS_EAGAIN,
	OFI_STATS_RECEIVE_BYTES = 8,
	OFI_STATS_ERRORS,
	OFI_STATS_RNR,
	OFI_STATS_EVENTS,
	OFI_STATS_SLEEPS,
	OFI_STATS_COMPLETED,   /* of a CQ's queues that are closed */
	OFI_STATS_SHARED = 16, /* work requests that had no doorbell of their own */
	OFI_STATS_REFUSED,
	OFI_STATS_MRS,
	OFI_STATS_MRS_CLOSED,
	OFI_STATS_MR_BYTES, /* registered now */
	OFI_STATS_MR_ERRORS,
	OFI_STATS_COUNTERS = 24
};

/* Of a reliable-datagram endpoint, besides those before OFI_STATS_RNR. */
enum {
	OFI_STATS_SENDS = OFI_STATS_RNR,
	OFI_STATS_RECEIVES,
	OFI_STATS_RX_ERRORS,
	OFI_STATS_UNEXPECTED,
	OFI_STATS_UNEXPECTED_BYTES,
	OFI_STATS_FENCED,
	OFI_STATS_CONNECTS,
	OFI_STATS_CONNECTS_ENDED,
	OFI_STATS_CONNECTS_FAILED,
	OFI_STATS_EVICTIONS,
};

struct ofi_stats {
	uint32_t id; /* 0: not shown; atomic */
	uint32_t fclass, group, domain;
	uint32_t cq;		  /* atomic */
	uint32_t heap;		  /* it is no part of a file */
	uint32_t entries, stride; /* of the ring: its slots, bytes of each */
	char name[FI_STATS_NAME];
	uint64_t ring;	    /* address of its first slot, in its process */
	int64_t head, tail; /* where the pointers are, from the record on */
	uint64_t mark;	    /* how often head had moved when it was looked at last; atomic */
	uint64_t reserved[4];
	uint64_t value[OFI_STATS_COUNTERS];
} __attribute__((aligned(OFI_STATS_ALIGN)));

/*
 * Where the file begins; the slots follow from OFI_STATS_SLOT on. An object that is larger has
 * `wide` slots in a row and its record at their end; these are taken from the last slot of the file
 * down.
 */
struct ofi_stats_header {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;
	uint32_t slot_size, record_size;
	uint32_t slots;
	uint32_t used; /* slots from the first that were ever in use; atomic */
	uint64_t more; /* objects that found no slot; atomic */
	uint32_t wide;
	uint32_t wide_used; /* of these objects; atomic */
};

static inline uint64_t ofi_stats_value(const struct ofi_stats *stats, int counter)
{
	return __atomic_load_n(&stats->value[counter], __ATOMIC_RELAXED);
}

/*
 * What a record tells; count is FI_STATS_MAX or less. Returns the number of items (stats_list.c).
 */
size_t ofi_stats_list(const struct ofi_stats *stats, struct fi_stats_item *items);
/* Operations taken in, and those of them that are not over. */
uint64_t ofi_stats_posted(const struct ofi_stats *stats);
uint64_t ofi_stats_outstanding(const struct ofi_stats *stats);

#endif
