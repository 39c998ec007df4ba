/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections between reliable-datagram endpoints: what is decided, not how it is done. Each step
 * takes what happened and says what to do. The clock and the randomness are the caller's.
 *
 * A peer is connected to when there is something to send. If both sides do so at once the request
 * of the side with the lower address counts. At most `window` young requests are out at a time.
 *
 * A request that is out is not taken back because the answer takes long. A peer that is stopped, or
 * that shares a CPU with many, answers when it runs, and its host's connection manager keeps the
 * request for it until then. To take it back would make the answer worthless that is on its way,
 * and on a loaded machine no try would ever end. Only what has failed is tried again, after a time
 * that doubles and is partly random.
 *
 * Operations fail when `give_up` has passed in silence. The peer breaks it by any message, a
 * refusal for want of room included, and its host does by refusing a request to a port where nobody
 * listens (KNOCK), for which no process has to run. That nobody listens at the peer's own port
 * breaks no silence: its process is gone, or not there yet. Time spent waiting for room, or for
 * other requests, does not count.
 *
 * At most `cap` connections are kept. For another one the one not used for longest has to go: what
 * is to be sent by it is held, both sides wait until nothing is under way, and agree on the end
 * (BYE), so that nothing is lost. What does not drain soon goes on, and another one is tried: it
 * may wait for what comes from a third. Peers that were refused for want of room and peers that
 * wait here take turns.
 *
 * Strangers get a part of the places, which their hosts share: when there is no place for one, a
 * host that has more than its host gives one up, and what is idle gives way on its own host. The
 * next place is for the host that was refused. Nobody waits forever for a stranger that was told
 * to go.
 *
 * An incarnation is the random number of a process's endpoint. A request of one that was here
 * before the one we know last is old; any other new one may be a peer that was restarted, or a
 * stranger. Requests and replies also have the number of requests that the sender made so far,
 * which tells a request that comes late from a new one. All that can be seen and copied: a
 * connection that works does not end because of a request. With a job secret the sender of a
 * request has proved nothing until its first packet comes. Until then the request neither counts
 * for which ones are late, nor takes the place of a request of ours, nor delays our next one.
 */
#ifndef OFI_RDM_POLICY_H
#define OFI_RDM_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "cmwire.h"
#include "due.h"

enum ofi_rdm_conn_state {
	OFI_RDM_CONN_IDLE,
	OFI_RDM_CONN_WAITING,	 /* wants to connect, but not yet */
	OFI_RDM_CONN_CONNECTING, /* our request is out */
	OFI_RDM_CONN_EXPECTING,	 /* the peer's request is the one that counts; it will come */
	OFI_RDM_CONN_ACCEPTING,	 /* the peer's request was accepted */
	OFI_RDM_CONN_UP,
	OFI_RDM_CONN_DRAINING, /* held; BYE is sent when nothing is under way */
	OFI_RDM_CONN_PARTING,  /* held; the peer's BYE is answered then */
	OFI_RDM_CONN_LEAVING,  /* BYE sent; nothing else is until it is answered */
	OFI_RDM_CONN_LEFT,     /* the peer's BYE was agreed to; the peer disconnects */
	OFI_RDM_CONN_STATES
};

enum ofi_rdm_conn_event {
	OFI_RDM_CONN_WANT,	   /* there is something to send */
	OFI_RDM_CONN_REQUEST,	   /* the peer's; incarnation, expected, serial */
	OFI_RDM_CONN_ESTABLISHED,  /* with ours: the peer's incarnation, serial */
	OFI_RDM_CONN_REJECTED,	   /* reason */
	OFI_RDM_CONN_FAILED,	   /* err: the attempt, or the connection */
	OFI_RDM_CONN_DISCONNECTED, /* by the peer */
	OFI_RDM_CONN_ASKED,	   /* DO_KNOCK is done: the question is on its way, or cannot be */
	OFI_RDM_CONN_HEARD,	   /* the peer's host is there */
	OFI_RDM_CONN_EVICT,	   /* it shall end; idle: whether nothing is under way */
	OFI_RDM_CONN_BYE,	   /* the peer's; idle */
	OFI_RDM_CONN_DRAINED,	   /* nothing is under way any more */
	OFI_RDM_CONN_AGREED,	   /* the answers to our BYE */
	OFI_RDM_CONN_REFUSED,
	OFI_RDM_CONN_ALIVE, /* what was asked after DO_ASK is answered */
	OFI_RDM_CONN_CLOSE, /* the endpoint; err, or 0 */
	OFI_RDM_CONN_EVENTS,
	OFI_RDM_CONN_TIME = OFI_RDM_CONN_EVENTS, /* no event: time has passed */
};

/* For messages. */
const char *ofi_rdm_conn_state_name(enum ofi_rdm_conn_state state);
const char *ofi_rdm_conn_state_waits(enum ofi_rdm_conn_state state);
const char *ofi_rdm_conn_cause_name(enum ofi_rdm_conn_event cause);

/* What to do, in this order. */
enum {
	OFI_RDM_CONN_DO_ABANDON = 1 << 0,  /* our request, or the one that we accepted, is over */
	OFI_RDM_CONN_DO_RELEASE = 1 << 1,  /* end the connection; what waits stays */
	OFI_RDM_CONN_DO_TEARDOWN = 1 << 2, /* end the connection; all operations fail with err */
	OFI_RDM_CONN_DO_FAIL = 1 << 3,	   /* all operations fail with err */
	OFI_RDM_CONN_DO_REJECT = 1 << 4,   /* the request, for the reason */
	OFI_RDM_CONN_DO_ACCEPT = 1 << 5,   /* the request */
	OFI_RDM_CONN_DO_CONNECT = 1 << 6,  /* send a request; `expected` is conn->known */
	OFI_RDM_CONN_DO_UP = 1 << 7,	   /* send what waits */
	OFI_RDM_CONN_DO_HOLD = 1 << 8,	   /* keep what is to be sent from now on waiting */
	OFI_RDM_CONN_DO_BYE = 1 << 9,	   /* send BYE */
	OFI_RDM_CONN_DO_AGREE = 1 << 10,   /* answer the BYE, after HOLD */
	OFI_RDM_CONN_DO_REFUSE = 1 << 11,
	OFI_RDM_CONN_DO_RESUME = 1 << 12, /* HOLD is over */
	OFI_RDM_CONN_DO_EVICT =
		1 << 13, /* EVICT the one of ofi_rdm_conn_victim(), there are too many */
	OFI_RDM_CONN_DO_ASK =
		1 << 14, /* the device at the other end whether the connection is there */
	OFI_RDM_CONN_DO_KNOCK = 1 << 15, /* ask whether the host is there: ASKED, HEARD */
	OFI_RDM_CONN_DO_LOOK = 1 << 16,	 /* DRAINED if nothing is under way */
};

struct ofi_rdm_conn_input {
	enum ofi_rdm_conn_event event;
	uint64_t incarnation;
	uint64_t expected;
	uint32_t serial; /* with the incarnation */
	uint8_t reason;	 /* enum ofi_rdm_cmwire_reason, or any number */
	bool idle;
	bool stranger; /* it is not known to the endpoint otherwise */
	bool tight;    /* what the device has left is not for strangers */
	int err;       /* FI_E* */
};

struct ofi_rdm_conn_action {
	uint32_t what;
	bool make_room; /* with REJECT: EVICT ofi_rdm_conn_stranger_victim() for this stranger */
	enum ofi_rdm_cmwire_reason reason;
	int err; /* FI_E* */
};

struct ofi_rdm_conn;

struct ofi_rdm_conn_params {
	uint64_t incarnation; /* ours */
	uint32_t window;
	uint32_t cap;
	uint32_t strangers; /* connections that they have at most; 0: as many as others */
	/* Milliseconds. */
	uint32_t attempt; /* that a request counts in `window`; to wait for the peer's own */
	uint32_t give_up; /* of silence, until operations fail */
	uint32_t prove;	  /* for an accepted peer to prove itself; 0: forever */
	uint32_t drain;	  /* until what does not drain goes on; twice that the next time */
	uint32_t backoff, backoff_max;
	uint32_t (*random)(void *arg); /* 32 bits */
	void *arg;
	/* Told of each change of state, if it is not NULL. */
	void (*entered)(const struct ofi_rdm_conn *conn, enum ofi_rdm_conn_state from,
			enum ofi_rdm_conn_event cause);
};

struct ofi_rdm_conn {
	enum ofi_rdm_conn_state state;
	int order;     /* our address compared with the peer's; 0: it is us */
	bool stranger; /* it asked, and is not known otherwise */
	uint8_t host;  /* in set.hosts; the caller's to set */
	bool listed;   /* among its host's strangers */
	bool wanted;
	bool agreed;	   /* LEAVING: to the peer's BYE too */
	bool young;	   /* CONNECTING: counts in set.connecting */
	bool going;	   /* counts in set.going */
	uint32_t drains;   /* in vain */
	uint32_t attempts; /* since the last success */
	int err;	   /* of the last attempt */
	uint64_t known;	   /* the peer's incarnation, 0 if not known */
	uint64_t past;	   /* the one before */
	uint64_t offered;  /* of the request that was accepted */
	uint32_t offered_serial;
	uint64_t heard;	   /* the incarnation that `serial` is of */
	uint32_t serial;   /* of the peer's latest request, as far as we know */
	uint64_t fresh;	   /* until when past and serial tell a late request */
	uint64_t expects;  /* EXPECTING: the incarnation whose request will come, 0 if not known */
	uint64_t proof;	   /* ACCEPTING: until when the peer has to have shown that it may be */
	uint64_t since;	   /* when it entered its state, or was queued */
	uint64_t alive;	   /* until when the other end need not be asked again */
	uint64_t deadline; /* the end of silence, while WAITING or an attempt is out */
	uint64_t timer;	   /* when poll has something to do */
	uint64_t knock;	   /* when its host is asked next */
	uint32_t knocks;   /* ASKED since the silence began */
	uint64_t spared;   /* UP: not to be a victim until then */
	uint64_t used;	   /* when something was sent or came, as far as the caller has told */
	bool unused;	   /* nothing has, since it is UP */
	uint64_t told;	   /* when it was first told to end, and has not yet */
	bool queued;	   /* in set.ready */
	struct ofi_rdm_due_node due;
	TAILQ_ENTRY(ofi_rdm_conn) link;	  /* set.ready or set.ups */
	TAILQ_ENTRY(ofi_rdm_conn) fellow; /* the host's strangers */
};

TAILQ_HEAD(ofi_rdm_conns, ofi_rdm_conn);

#define OFI_RDM_CONN_HOSTS 256

/* A host, or the few whose addresses the caller maps to the same number. */
struct ofi_rdm_conn_host {
	uint32_t open;			/* connections and attempts of its strangers */
	uint64_t asked;			/* until then no further one has to make room for it */
	struct ofi_rdm_conns strangers; /* those that may have to go; not used for longest first */
};

struct ofi_rdm_conn_set {
	struct ofi_rdm_conn_params params;
	uint64_t now; /* ms, the caller's to set before each step */
	bool behind;  /* answers may have come that nobody has read: the silence may be ours */
	enum ofi_rdm_conn_event cause; /* of what happens now */
	uint32_t connecting;	       /* requests out */
	uint32_t open;		       /* connections and attempts */
	uint32_t strangers;	       /* of them, those of strangers */
	uint32_t serial;	       /* of our last request; what requests and replies carry */
	uint32_t going;		       /* those that make room soon */
	uint32_t queued;	       /* in ready */
	uint64_t yield;		/* until then the last place is for a peer that was refused */
	struct ofi_rdm_due due; /* those for which time has something to do */
	struct ofi_rdm_conns
		ready; /* WAITING until there is room, or fewer requests are out; in order */
	struct ofi_rdm_conns ups; /* the one not used for longest first */
	uint64_t held;		  /* until then a stranger's place is for a host that was refused */
	uint8_t held_for;	  /* that host */
	struct ofi_rdm_conn_host hosts[OFI_RDM_CONN_HOSTS];
};

void ofi_rdm_conn_set_init(struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn_params *params);
void ofi_rdm_conn_init(struct ofi_rdm_conn *conn, int order);
void ofi_rdm_conn_step(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
		       const struct ofi_rdm_conn_input *input, struct ofi_rdm_conn_action *action);
/* The next one that time has something to do for; NULL if there is none. */
struct ofi_rdm_conn *ofi_rdm_conn_poll(struct ofi_rdm_conn_set *set,
				       struct ofi_rdm_conn_action *action);
/* When to poll again, UINT64_MAX if nothing is to be waited for. O(1). */
uint64_t ofi_rdm_conn_next(const struct ofi_rdm_conn_set *set);
/*
 * It is the peer's turn: a request of ours, or the answer to the peer's, is out, or the peer's
 * request is to come.
 */
static inline bool ofi_rdm_conn_is_out(const struct ofi_rdm_conn *conn)
{
	return conn->state == OFI_RDM_CONN_CONNECTING || conn->state == OFI_RDM_CONN_EXPECTING ||
	       conn->state == OFI_RDM_CONN_ACCEPTING;
}
/* Whether it is a stranger's. An endpoint that wants a connection knows the peer. */
void ofi_rdm_conn_mark(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, bool stranger);
/* Something was sent or came on one that is UP. */
void ofi_rdm_conn_used(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* The connection not used for longest that may go; NULL if there is none. */
struct ofi_rdm_conn *ofi_rdm_conn_victim(struct ofi_rdm_conn_set *set);
/* The one that has to go for a stranger of a host; NULL if none has to. */
struct ofi_rdm_conn *ofi_rdm_conn_stranger_victim(struct ofi_rdm_conn_set *set, uint8_t host);

#endif
