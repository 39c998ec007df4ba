/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections between reliable-datagram endpoints: what is decided, not how it is done. Each step takes what
 * happened and says what to do. The clock and the randomness are the caller's.
 *
 * A peer is connected to when there is something to send. If both sides do so at once the request of the
 * side with the lower address counts. At most `window` young requests are out at a time.
 *
 * A request that is out is not taken back because the answer takes long. A peer that is stopped, or that shares a
 * CPU with many, answers when it runs, and its host's connection manager keeps the request for it until then. To
 * take it back would make the answer worthless that is on its way, and on a loaded machine no try would ever end.
 * Only what has failed is tried again, after a time that doubles and is partly random.
 *
 * Operations fail when `give_up` has passed in silence. The peer breaks it by any message, a refusal for want of room
 * included, and its host does by refusing a request to a port where nobody listens (KNOCK), for which no process has
 * to run. That nobody listens at the peer's own port breaks no silence: its process is gone, or not there yet. Time spent
 * waiting for room, or for other requests, does not count.
 *
 * At most `cap` connections are kept. For another one the one not used for longest has to go: what is to be sent by
 * it is held, both sides wait until nothing is under way, and agree on the end (BYE), so that nothing is lost. What
 * does not drain soon goes on, and another one is tried: it may wait for what comes from a third. Peers that were
 * refused for want of room and peers that wait here get the places by turns.
 *
 * Strangers get a part of the places, which their hosts share: when there is no place for one, a host that has more than
 * its host gives one up, and what is idle gives way on its own host. The next place is for the host that was refused.
 * Nobody waits for ever for a stranger that was told to go.
 *
 * An incarnation is the random number of a process's endpoint. A request of one that was here before the one
 * we know last is old; any other new one may be a peer that was restarted, or a stranger. Requests and replies also have
 * the number of requests that the sender made so far, which tells a request that comes late from a new one. All
 * that can be seen and copied: a connection that works does not end because of a request.
 */
#ifndef VRB_RDM_PCONN_H
#define VRB_RDM_PCONN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include "cmwire.h"
#include "due.h"

enum vrb_pconn_state {
	VRB_PCONN_IDLE,
	VRB_PCONN_WAITING,    /* wants to connect, but not yet */
	VRB_PCONN_CONNECTING, /* our request is out */
	VRB_PCONN_EXPECTING,  /* the peer's request is the one that counts; it will come */
	VRB_PCONN_ACCEPTING,  /* the peer's request was accepted */
	VRB_PCONN_UP,
	VRB_PCONN_DRAINING, /* held; BYE is sent when nothing is under way */
	VRB_PCONN_PARTING,  /* held; the peer's BYE is answered then */
	VRB_PCONN_LEAVING,  /* BYE sent; nothing else is until it is answered */
	VRB_PCONN_LEFT,	    /* the peer's BYE was agreed to; the peer disconnects */
	VRB_PCONN_STATES
};

enum vrb_pconn_event {
	VRB_PCONN_WANT,		/* there is something to send */
	VRB_PCONN_REQUEST,	/* the peer's; incarnation, expected, serial */
	VRB_PCONN_ESTABLISHED,	/* with ours: the peer's incarnation, serial */
	VRB_PCONN_REJECTED,	/* reason */
	VRB_PCONN_FAILED,	/* err: the attempt, or the connection */
	VRB_PCONN_DISCONNECTED, /* by the peer */
	VRB_PCONN_HEARD,	/* the peer's host is there */
	VRB_PCONN_EVICT,	/* it shall end; idle: whether nothing is under way */
	VRB_PCONN_BYE,		/* the peer's; idle */
	VRB_PCONN_DRAINED,	/* nothing is under way any more */
	VRB_PCONN_AGREED,	/* the answers to our BYE */
	VRB_PCONN_REFUSED,
	VRB_PCONN_ALIVE, /* what was asked after DO_ASK is answered */
	VRB_PCONN_CLOSE, /* the endpoint; err, or 0 */
	VRB_PCONN_EVENTS
};

/* What to do, in this order. */
enum {
	VRB_PCONN_DO_ABANDON = 1 << 0,	/* our request, or what we accepted, is no more */
	VRB_PCONN_DO_RELEASE = 1 << 1,	/* end the connection; what waits stays */
	VRB_PCONN_DO_TEARDOWN = 1 << 2, /* end the connection; all operations fail with err */
	VRB_PCONN_DO_FAIL = 1 << 3,	/* all operations fail with err */
	VRB_PCONN_DO_REJECT = 1 << 4,	/* the request, for the reason */
	VRB_PCONN_DO_ACCEPT = 1 << 5,	/* the request */
	VRB_PCONN_DO_CONNECT = 1 << 6,	/* send a request; `expected` is conn->known */
	VRB_PCONN_DO_UP = 1 << 7,	/* send what waits */
	VRB_PCONN_DO_HOLD = 1 << 8,	/* keep what is to be sent from now on waiting */
	VRB_PCONN_DO_BYE = 1 << 9,	/* send BYE */
	VRB_PCONN_DO_AGREE = 1 << 10,	/* answer the BYE, after HOLD */
	VRB_PCONN_DO_REFUSE = 1 << 11,
	VRB_PCONN_DO_RESUME = 1 << 12, /* HOLD is over */
	VRB_PCONN_DO_EVICT = 1 << 13,  /* EVICT the one of vrb_pconn_victim(), there are too many */
	VRB_PCONN_DO_ASK =
		1 << 14, /* the device at the other end whether the connection is there */
	VRB_PCONN_DO_KNOCK = 1 << 15, /* ask whether the host is there: HEARD */
	VRB_PCONN_DO_LOOK = 1 << 16,  /* DRAINED if nothing is under way */
};

struct vrb_pconn_input {
	enum vrb_pconn_event event;
	uint64_t incarnation;
	uint64_t expected;
	uint32_t serial; /* with the incarnation */
	uint8_t reason;	 /* enum vrb_cmwire_reason, or any number */
	bool idle;
	bool stranger; /* it is not known to the endpoint otherwise */
	bool tight;    /* what the device has left is not for strangers */
	int err;       /* FI_E* */
};

struct vrb_pconn_action {
	uint32_t what;
	bool make_room; /* with REJECT: EVICT the one of vrb_pconn_stranger_victim() for this stranger */
	enum vrb_cmwire_reason reason;
	int err; /* FI_E* */
};

struct vrb_pconn_params {
	uint64_t incarnation; /* ours */
	uint32_t window;
	uint32_t cap;
	uint32_t strangers; /* connections that they have at most; 0: as many as others */
	/* Milliseconds. */
	uint32_t attempt; /* that a request counts in `window`; to wait for the peer's own */
	uint32_t give_up; /* of silence, until operations fail */
	uint32_t prove;	  /* for a peer that was accepted to show that it may be; 0: for ever */
	uint32_t drain;	  /* until what does not drain goes on; twice that the next time */
	uint32_t backoff, backoff_max;
	uint32_t (*random)(void *arg); /* 32 bits */
	void *arg;
};

struct vrb_pconn {
	enum vrb_pconn_state state;
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
	uint32_t knocks;   /* since the silence began */
	uint64_t spared;   /* UP: not to be a victim until then */
	uint64_t used;	   /* when something was sent or came, as far as the caller has told */
	bool unused;	   /* nothing has, since it is UP */
	uint64_t told;	   /* when it was first told to end, and has not yet */
	bool queued;	   /* in set.ready */
	struct vrb_due_node due;
	TAILQ_ENTRY(vrb_pconn) link;   /* set.ready or set.ups */
	TAILQ_ENTRY(vrb_pconn) fellow; /* the host's strangers */
};

TAILQ_HEAD(vrb_pconns, vrb_pconn);

#define VRB_PCONN_HOSTS 256

/* A host, or the few whose addresses the caller maps to the same number. */
struct vrb_pconn_host {
	uint32_t open;		     /* connections and attempts of its strangers */
	uint64_t asked;		     /* until then no further one has to make room for it */
	struct vrb_pconns strangers; /* those that may have to go; not used for longest first */
};

struct vrb_pconn_set {
	struct vrb_pconn_params params;
	uint64_t now;	     /* ms, the caller's to set before each step */
	uint32_t connecting; /* requests out */
	uint32_t open;	     /* connections and attempts */
	uint32_t strangers;  /* of them, those of strangers */
	uint32_t serial;     /* of our last request; what requests and replies carry */
	uint32_t going;	     /* those that make room soon */
	uint32_t queued;     /* in ready */
	uint64_t yield;	     /* until then the last place is for a peer that was refused */
	struct vrb_due due;  /* those for which time has something to do */
	struct vrb_pconns
		ready; /* WAITING until there is room, or fewer requests are out; in order */
	struct vrb_pconns ups; /* the one not used for longest first */
	uint64_t held;	       /* until then a stranger's place is for a host that was refused */
	uint8_t held_for;      /* that host */
	struct vrb_pconn_host hosts[VRB_PCONN_HOSTS];
};

void vrb_pconn_set_init(struct vrb_pconn_set *set, const struct vrb_pconn_params *params);
void vrb_pconn_init(struct vrb_pconn *conn, int order);
void vrb_pconn_step(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		    const struct vrb_pconn_input *input, struct vrb_pconn_action *action);
/* The next one that time has something to do for; NULL if there is none. */
struct vrb_pconn *vrb_pconn_poll(struct vrb_pconn_set *set, struct vrb_pconn_action *action);
/* When to poll again, UINT64_MAX if nothing is to be waited for. O(1). */
uint64_t vrb_pconn_next(const struct vrb_pconn_set *set);
/* It is the peer's turn: a request of ours, or the answer to the peer's, is out, or the peer's request is to come. */
static inline bool vrb_pconn_is_out(const struct vrb_pconn *conn)
{
	return conn->state == VRB_PCONN_CONNECTING || conn->state == VRB_PCONN_EXPECTING ||
	       conn->state == VRB_PCONN_ACCEPTING;
}
/* Whether it is a stranger's; who wants a connection knows the peer. */
void vrb_pconn_mark(struct vrb_pconn_set *set, struct vrb_pconn *conn, bool stranger);
/* Something was sent or came on one that is UP. */
void vrb_pconn_used(struct vrb_pconn_set *set, struct vrb_pconn *conn);
/* The connection not used for longest that may go; NULL if there is none. */
struct vrb_pconn *vrb_pconn_victim(struct vrb_pconn_set *set);
/* The one that has to go for a stranger of a host; NULL if none has to. */
struct vrb_pconn *vrb_pconn_stranger_victim(struct vrb_pconn_set *set, uint8_t host);

#endif
