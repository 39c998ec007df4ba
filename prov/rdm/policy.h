/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection policy of reliable-datagram endpoints: it decides, and the caller acts. Each step
 * takes an event and returns the actions to perform. The caller supplies the clock and the
 * randomness.
 *
 * A connection is made when there is something to send. If both sides request one at the same time,
 * the request of the side with the lower address wins. At most `window` young requests are
 * outstanding. While many peers are silent, requests are young for a shorter time: hosts that are
 * gone would occupy the window, and the others would wait for them in vain.
 *
 * An outstanding request is not withdrawn because the reply takes long. A peer that is stopped, or
 * that shares its CPU with many others, answers once it runs, and its host's connection manager
 * keeps the request until then. Withdrawing the request would invalidate a reply that is already on
 * its way, and on a loaded machine no attempt would ever finish. Only a failed attempt is repeated,
 * after a delay that doubles each time and is partly random.
 *
 * Operations fail after `give_up` of silence. Any message from the peer breaks the silence,
 * including a refusal for lack of room. So does its host when it refuses a request to a port on
 * which nobody listens (PROBE), for which no process has to run. A refusal at the peer's own port
 * does not break it: the process is gone, or has not started. Time spent waiting for room does not
 * count, nor does that for other requests unless the last one to this peer was in vain.
 *
 * At most `cap` connections are kept. To make room, the least recently used one is evicted: new
 * operations on it are held back, both sides wait until nothing is in flight, and they agree to
 * disconnect (BYE), so nothing is lost. A connection that does not drain soon is resumed and
 * another one is tried, because it may be waiting for data from a third peer. Peers that were
 * refused for lack of room and peers that wait here take turns. When the device is full, the cap is
 * what there is; it then grows by one each second, because others may have left some room.
 *
 * Strangers get a share of the connections, which their hosts divide among themselves. When no
 * connection is free, a host that has more than the requesting host gives one up; a host can also
 * replace its own idle ones. The next free one is reserved for the host that was refused. Nobody
 * waits forever for a stranger that was told to disconnect.
 *
 * An incarnation is the random number of one opening of an endpoint. A request with an incarnation
 * older than the peer's current one is stale; any other new incarnation may be a restarted peer, or
 * a stranger. Requests and replies also carry the number of requests that the sender has made so
 * far, which tells a late request from a new one. An observer can copy all of this, so a request
 * never ends a working connection. With a job secret, the sender of a request has proved nothing
 * until its first packet arrives. Until then the request does not affect which requests are
 * considered late, does not replace a request of ours, and does not delay our next one.
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
	OFI_RDM_CONN_WAITING,	 /* a connection is wanted but not yet requested */
	OFI_RDM_CONN_CONNECTING, /* our request is outstanding */
	OFI_RDM_CONN_EXPECTING,	 /* the peer's request wins and is expected */
	OFI_RDM_CONN_ACCEPTING,	 /* we accepted the peer's request */
	OFI_RDM_CONN_UP,
	OFI_RDM_CONN_DRAINING, /* held; BYE is sent once nothing is in flight */
	OFI_RDM_CONN_PARTING,  /* held; the peer's BYE is answered once nothing is in flight */
	OFI_RDM_CONN_LEAVING,  /* BYE sent; nothing else is sent until it is answered */
	OFI_RDM_CONN_LEFT,     /* we agreed to the peer's BYE; the peer disconnects */
	OFI_RDM_CONN_STATES
};

enum ofi_rdm_conn_event {
	OFI_RDM_CONN_WANT,	   /* there is something to send */
	OFI_RDM_CONN_REQUEST,	   /* a request arrived; uses incarnation, expected, serial */
	OFI_RDM_CONN_ESTABLISHED,  /* uses incarnation and serial if the request was ours */
	OFI_RDM_CONN_REJECTED,	   /* our request was rejected; uses reason and incarnation */
	OFI_RDM_CONN_FAILED,	   /* the attempt or the connection failed; uses err */
	OFI_RDM_CONN_DISCONNECTED, /* the peer disconnected */
	OFI_RDM_CONN_PROBED,	   /* DO_PROBE is done: the probe is sent, or cannot be */
	OFI_RDM_CONN_ANSWERED,	   /* the peer's host has answered a probe */
	OFI_RDM_CONN_EVICT,	   /* make room; uses idle */
	OFI_RDM_CONN_BYE,	   /* BYE arrived; uses idle */
	OFI_RDM_CONN_DRAINED,	   /* nothing is in flight any more */
	OFI_RDM_CONN_AGREED,	   /* the peer agrees to our BYE */
	OFI_RDM_CONN_REFUSED,	   /* the peer does not agree to it */
	OFI_RDM_CONN_ALIVE,	   /* the peer's device has answered DO_ASK */
	OFI_RDM_CONN_CLOSE,	   /* the endpoint or peer goes away; uses err, or 0 */
	OFI_RDM_CONN_EVENTS,
	OFI_RDM_CONN_TIME = OFI_RDM_CONN_EVENTS, /* not an event: time has passed */
};

/* Return texts for messages: the name of a state, what is waited for in it, and an event. */
const char *ofi_rdm_conn_state_name(enum ofi_rdm_conn_state state);
const char *ofi_rdm_conn_state_waits(enum ofi_rdm_conn_state state);
const char *ofi_rdm_conn_cause_name(enum ofi_rdm_conn_event cause);

/* The actions, to be performed in this order. */
enum {
	OFI_RDM_CONN_DO_ABANDON = 1 << 0,  /* drop our request, or the peer's that we accepted */
	OFI_RDM_CONN_DO_RELEASE = 1 << 1,  /* end the connection; queued operations stay queued */
	OFI_RDM_CONN_DO_TEARDOWN = 1 << 2, /* end the connection; all operations fail with err */
	OFI_RDM_CONN_DO_FAIL = 1 << 3,	   /* all operations fail with err */
	OFI_RDM_CONN_DO_REJECT = 1 << 4,   /* reject the request with `reason` */
	OFI_RDM_CONN_DO_ACCEPT = 1 << 5,   /* accept the request */
	OFI_RDM_CONN_DO_CONNECT = 1 << 6,  /* send a request with conn->known as `expected` */
	OFI_RDM_CONN_DO_UP = 1 << 7,	   /* send what is queued */
	/* Goes with UP. The peer is another process than before: queued RMA must not reach it. */
	OFI_RDM_CONN_DO_RENEW = 1 << 17,
	OFI_RDM_CONN_DO_HOLD = 1 << 8,	 /* queue new operations instead of sending them */
	OFI_RDM_CONN_DO_BYE = 1 << 9,	 /* send BYE */
	OFI_RDM_CONN_DO_AGREE = 1 << 10, /* answer the BYE, after HOLD */
	OFI_RDM_CONN_DO_REFUSE = 1 << 11,
	OFI_RDM_CONN_DO_RESUME = 1 << 12, /* end HOLD */
	/* Too many connections: EVICT ofi_rdm_conn_victim(). */
	OFI_RDM_CONN_DO_EVICT = 1 << 13,
	/* Probe the peer's device over the connection. */
	OFI_RDM_CONN_DO_ASK = 1 << 14,
	OFI_RDM_CONN_DO_PROBE = 1 << 15, /* probe the peer's host: PROBED, ANSWERED */
	OFI_RDM_CONN_DO_LOOK = 1 << 16,	 /* report DRAINED if nothing is in flight */
};

struct ofi_rdm_conn_input {
	enum ofi_rdm_conn_event event;
	uint64_t incarnation;
	uint64_t expected;
	uint32_t serial; /* comes with the incarnation */
	uint8_t reason;	 /* enum ofi_rdm_cmwire_reason, or a number from a later version */
	bool idle;	 /* nothing is in flight */
	bool stranger;	 /* the endpoint knows the peer only from this request */
	bool tight;	 /* strangers may not use the device's remaining resources */
	bool own;	 /* FAILED: this process or its device lacks resources for the attempt */
	bool full; /* FAILED and own: other connections of the endpoint have what is lacking */
	int err;   /* FI_E* */
};

struct ofi_rdm_conn_action {
	uint32_t what;
	/* With REJECT: EVICT ofi_rdm_conn_stranger_victim() to make room for this stranger. */
	bool make_room;
	enum ofi_rdm_cmwire_reason reason;
	int err; /* FI_E* */
};

struct ofi_rdm_conn;

struct ofi_rdm_conn_params {
	uint64_t incarnation; /* the endpoint's own */
	uint32_t window;
	uint32_t cap;
	uint32_t strangers; /* limit of strangers' connections; 0: no separate limit */
	/* Times in milliseconds. */
	/*
	 * How long a request counts as young while no peer is silent, and the peer's is expected,
	 * which doubles up to 3 times.
	 */
	uint32_t attempt;
	uint32_t give_up; /* silence after which operations fail */
	/* Time for an accepted peer to prove itself; 0 without a job secret: no limit. */
	uint32_t prove;
	uint32_t drain; /* time to drain before the connection is resumed; doubles each time */
	uint32_t backoff, backoff_max;
	uint32_t (*random)(void *arg); /* returns 32 random bits */
	void *arg;
	/* Called on each change of state, if not NULL. */
	void (*entered)(const struct ofi_rdm_conn *conn, enum ofi_rdm_conn_state from,
			enum ofi_rdm_conn_event cause);
};

/* The policy keeps one for each peer, also while the peer has no queue pair. */
struct ofi_rdm_conn {
	enum ofi_rdm_conn_state state;
	int order;     /* our address compared with the peer's; 0 for ourselves */
	bool stranger; /* the endpoint knows the peer only from its request */
	uint8_t host;  /* index into set.hosts; set by the caller */
	bool listed;   /* in its host's list of strangers */
	bool wanted;
	bool agreed;	   /* LEAVING: we have also agreed to the peer's BYE */
	bool young;	   /* CONNECTING: counted in set.connecting */
	bool going;	   /* counted in set.going */
	bool queued;	   /* in set.ready */
	bool silent;	   /* counted in set.silent */
	bool unused;	   /* no traffic since it became UP */
	uint32_t drains;   /* unsuccessful attempts to drain */
	uint32_t attempts; /* attempts since the last success */
	int err;	   /* error of the last attempt */
	uint32_t probes;   /* number of PROBED since the silence began */
	uint64_t known;	   /* the peer's incarnation, 0 if unknown */
	uint64_t past;	   /* the peer's incarnation before `known` */
	uint64_t offered;  /* incarnation of the accepted request */
	uint64_t sender;   /* the incarnation that `serial` belongs to */
	uint32_t serial;   /* of the peer's latest request known to us */
	uint32_t offered_serial;
	uint64_t fresh;	   /* end of the time in which past and serial identify late requests */
	uint64_t expects;  /* EXPECTING: incarnation of the expected request, 0 if unknown */
	uint64_t proof;	   /* ACCEPTING: deadline for the peer to prove itself */
	uint64_t since;	   /* time when it entered its state or was queued */
	uint64_t alive;	   /* until then the peer's device need not be probed again */
	uint64_t deadline; /* end of the allowed silence while WAITING or an attempt is out */
	uint64_t timer;	   /* time of the next action of poll */
	uint64_t probe;	   /* time of the next probe */
	uint64_t spared;   /* UP: not a victim before this time */
	uint64_t used;	   /* time of the last traffic that the caller reported */
	uint64_t asked;	   /* time when it was first asked to end, if it has not ended */
	uint64_t refused;  /* time when the peer first lacked resources for us; 0: it does not */
	struct ofi_rdm_due_node due;
	TAILQ_ENTRY(ofi_rdm_conn) link;	  /* in set.ready or set.ups */
	TAILQ_ENTRY(ofi_rdm_conn) fellow; /* in the host's list of strangers */
};

TAILQ_HEAD(ofi_rdm_conns, ofi_rdm_conn);

#define OFI_RDM_CONN_HOSTS 256

/* A host, or several whose addresses the caller maps to the same number. */
struct ofi_rdm_conn_host {
	uint32_t open;			/* number of its strangers' connections and attempts */
	uint64_t asked;			/* until then no other connection is evicted for it */
	struct ofi_rdm_conns strangers; /* candidates for eviction, least recently used first */
};

struct ofi_rdm_conn_set {
	struct ofi_rdm_conn_params params;
	uint64_t now; /* in ms; the caller sets it before each step */
	bool behind;  /* unread replies may be pending: the silence may be ours */
	/* Valid during a step only. The input is NULL if the step is due to the time. */
	const struct ofi_rdm_conn_input *input;
	struct ofi_rdm_conn_action *action;
	uint32_t connecting; /* number of young requests */
	/* Number of peers that did not answer a request while it was young, nor since then. */
	uint32_t silent;
	uint64_t slow;	    /* until then silent peers count as slow, not as gone */
	uint32_t open;	    /* number of connections and attempts */
	uint32_t strangers; /* how many of these are strangers' */
	uint32_t ending;    /* number of ended ones that still use the device; the caller counts */
	uint32_t cap;	    /* number of connections, ended or not, when the device was last full */
	uint64_t full;	    /* time when it was */
	uint64_t cramped;   /* time when a peer last waited for room, or for reserved room */
	/* Number of our last request; sent in requests and replies. */
	uint32_t serial;
	uint32_t going;	 /* number of connections that are about to make room */
	uint32_t queued; /* length of ready */
	/* Until then the last free connection is for a peer that was refused. */
	uint64_t yield;
	struct ofi_rdm_due due; /* connections with a timer */
	/* WAITING for room or for other requests; FIFO. */
	struct ofi_rdm_conns ready;
	struct ofi_rdm_conns ups; /* connections that are UP, least recently used first */
	uint64_t held;		  /* until then a stranger's place is reserved for held_for */
	uint8_t held_for;	  /* host that was refused */
	struct ofi_rdm_conn_host hosts[OFI_RDM_CONN_HOSTS];
};

void ofi_rdm_conn_set_init(struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn_params *params);
void ofi_rdm_conn_init(struct ofi_rdm_conn *conn, int order);
void ofi_rdm_conn_step(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
		       const struct ofi_rdm_conn_input *input, struct ofi_rdm_conn_action *action);
/* Returns the next connection whose timer has expired, with its actions; NULL if there is none. */
struct ofi_rdm_conn *ofi_rdm_conn_poll(struct ofi_rdm_conn_set *set,
				       struct ofi_rdm_conn_action *action);
/* Returns the time of the next poll, UINT64_MAX if there is none. O(1). */
uint64_t ofi_rdm_conn_next(const struct ofi_rdm_conn_set *set);
/*
 * Returns true if we wait for the peer: our request or our reply is out, or its request is
 * expected.
 */
static inline bool ofi_rdm_conn_is_out(const struct ofi_rdm_conn *conn)
{
	return conn->state == OFI_RDM_CONN_CONNECTING || conn->state == OFI_RDM_CONN_EXPECTING ||
	       conn->state == OFI_RDM_CONN_ACCEPTING;
}
/*
 * Sets whether the connection is a stranger's. A peer that the endpoint itself connects to is not a
 * stranger.
 */
void ofi_rdm_conn_mark(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, bool stranger);
/* Called when something was sent or received on a connection that is UP. */
void ofi_rdm_conn_used(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* Returns the least recently used connection that may be evicted; NULL if there is none. */
struct ofi_rdm_conn *ofi_rdm_conn_victim(struct ofi_rdm_conn_set *set);
/* Returns the connection to evict for a stranger of the host; NULL if none must go. */
struct ofi_rdm_conn *ofi_rdm_conn_stranger_victim(struct ofi_rdm_conn_set *set, uint8_t host);

#endif
