/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The layout of statistics in memory, for the process that keeps them and for those that read them.
 * A counter has one writer at a time, or is updated atomically; readers take no lock. Posted work
 * requests are not counted: a record says where the head of its queue is, and how often the head
 * had moved when it was last checked.
 */
#ifndef OFI_STATS_LAYOUT_H
#define OFI_STATS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_stats.h>

#define OFI_STATS_FILE	  "libfabric-stats"
#define OFI_STATS_MAGIC	  0x315441545349464fULL /* "OFISTAT1" */
#define OFI_STATS_VERSION 4
#define OFI_STATS_SLOT	  1024 /* size of a slot: an object with its record at the end */
#define OFI_STATS_SLOTS	  16384
#define OFI_STATS_ALIGN	  64
#define OFI_STATS_PEERS	  ((size_t)8 << 20) /* bytes for peers, after the slots */
#define OFI_STATS_TEXTS	  128		    /* texts about peers, after these; the first is "" */
#define OFI_STATS_TEXT	  64
/* The offset of the first peer. */
#define OFI_STATS_FIRST ((size_t)OFI_STATS_SLOT * (OFI_STATS_SLOTS + 1))
#define OFI_STATS_SIZE	(OFI_STATS_FIRST + OFI_STATS_PEERS + OFI_STATS_TEXTS * OFI_STATS_TEXT)

/* Indices of counters. The posting and polling sides of a queue write different cache lines. */
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
	OFI_STATS_COMPLETED,   /* completions of a CQ's queues that are closed */
	OFI_STATS_SHARED = 16, /* work requests that had no doorbell of their own */
	OFI_STATS_REFUSED,
	OFI_STATS_MRS,
	OFI_STATS_MRS_CLOSED,
	OFI_STATS_MR_BYTES, /* registered now */
	OFI_STATS_MR_ERRORS,
	OFI_STATS_COUNTERS = 24
};

/* More counters of a reliable-datagram endpoint, which also has those before OFI_STATS_RNR. */
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
	uint32_t id; /* 0 if not published; atomic */
	uint32_t fclass, group, domain;
	uint32_t cq;		  /* atomic */
	uint32_t heap;		  /* not 0 if it is on the heap, not in a file */
	uint32_t entries, stride; /* number of the ring's slots, and the size of each */
	char name[FI_STATS_NAME];
	uint64_t ring;	    /* address of the ring's first slot in the owning process */
	int64_t head, tail; /* offsets of these pointers from the record */
	uint64_t mark;	    /* how often head had moved when it was last checked; atomic */
	uint64_t reserved[4];
	uint64_t value[OFI_STATS_COUNTERS];
} __attribute__((aligned(OFI_STATS_ALIGN)));

/* Live fields of a peer, which are read in the place where the data path keeps them. */
enum ofi_stats_peer_field {
	OFI_STATS_PEER_UP,	 /* it has a connection to send on */
	OFI_STATS_PEER_CREDITS,	 /* work requests that its send queue has room for */
	OFI_STATS_PEER_RESERVE,	 /* credits reserved for control packets */
	OFI_STATS_PEER_QUEUED,	 /* messages sent to it that are not complete */
	OFI_STATS_PEER_KEPT,	 /* messages from it that are kept here */
	OFI_STATS_PEER_BYTES,	 /* memory that these take, in bytes */
	OFI_STATS_PEER_RETRIES,	 /* attempts to connect since the last success */
	OFI_STATS_PEER_ERROR,	 /* FI_E* of the last attempt */
	OFI_STATS_PEER_NO_PLACE, /* it waits until other connections or attempts end */
	OFI_STATS_PEER_STOPPED,	 /* the peer asked for announcements instead of messages */
	OFI_STATS_PEER_HALTED,	 /* the peer asked us to send nothing */
	OFI_STATS_PEER_LEVEL,	 /* not 0 if we asked the peer for one of these two */
	OFI_STATS_PEER_HELD,	 /* messages wait for the end of the connection */
	OFI_STATS_PEER_FENCED,	 /* operations wait behind FI_FENCE */
	OFI_STATS_PEER_RMA,	 /* not 0 if RMA or atomics wait to be posted */
	OFI_STATS_PEER_ANSWERS,	 /* not 0 if atomics wait for the peer's answer */
	OFI_STATS_PEER_FIELDS
};

/* The offset of a field from the record, and its size: 1, 4 or 8, or 0 if there is no field. */
struct ofi_stats_place {
	int16_t at;
	uint16_t size;
};

/*
 * The record at the end of a peer's object. Texts are given by their numbers. `since` and the texts
 * are consistent if `turn` is even and the same before and after they are read.
 */
struct ofi_stats_peer {
	uint32_t id; /* 0 if not published; atomic */
	uint32_t ep;
	uint32_t heap;	     /* not 0 if it is on the heap, not in a file */
	uint32_t turn;	     /* atomic */
	uint64_t since;	     /* when it entered its state, in ms of CLOCK_MONOTONIC */
	uint32_t most;	     /* credits with nothing in flight; atomic */
	uint8_t address[28]; /* a sockaddr_in, a sockaddr_in6 or a struct ofi_qp_name */
	uint8_t transport, state, cause, waits;
};

/*
 * The beginning of the file; the slots follow at offset OFI_STATS_SLOT. An object that is larger
 * than a slot takes `wide` consecutive slots, with its record at their end. Such objects are placed
 * from the last slot downward.
 */
struct ofi_stats_header {
	uint64_t magic;
	uint32_t version;
	uint32_t pid;
	uint32_t slot_size, record_size;
	uint32_t slots;
	uint32_t used; /* number of slots, from the first, that were ever in use; atomic */
	uint64_t more; /* number of objects that found no slot; atomic */
	uint32_t wide;
	uint32_t wide_used; /* number of these objects that were ever in use; atomic */
	uint32_t peer_slot; /* bytes of a peer's object; 0 while there is none; atomic */
	uint32_t peers;	    /* number of peers that were ever in use; atomic */
	/* The object of each peer has its fields at these places. */
	struct ofi_stats_place place[OFI_STATS_PEER_FIELDS];
};

static inline uint64_t ofi_stats_value(const struct ofi_stats *stats, int counter)
{
	return __atomic_load_n(&stats->value[counter], __ATOMIC_RELAXED);
}

/* Returns 0 instead of a negative result, because the two values were read at different times. */
static inline uint64_t ofi_stats_minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Lists the statistics of a record in items, which has room for FI_STATS_MAX. Returns the number of
 * items (stats_list.c).
 */
size_t ofi_stats_list(const struct ofi_stats *stats, struct fi_stats_item *items);
/* Return the number of operations posted, and the number of those that are not complete. */
uint64_t ofi_stats_posted(const struct ofi_stats *stats);
uint64_t ofi_stats_outstanding(const struct ofi_stats *stats);

#endif
