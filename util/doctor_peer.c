/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Resolves, routes, connects over FI_EP_MSG, exchanges a byte and full packets, and reports the
 * duration of each step.
 */
#include "doctor_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fi_errno.h>

#include "doctor_link.h"
#include "doctor_offer.h"
#include "doctor_time.h"

enum { PING = 0x5a, PONG = 0xa5 };

struct trial {
	struct doctor *doctor;
	const struct doctor_options *opts;
	const struct doctor_ports *ports;
	const struct doctor_addrs *addrs;
	struct addrinfo *ai;
	struct doctor_link link;
	unsigned int mtu; /* payload of packets in the step that fills them, otherwise 0 */
	long start;	  /* start of the step */
};

static void step(struct trial *trial)
{
	trial->start = doctor_usec();
}

static void took(struct trial *trial)
{
	trial->doctor->usec = doctor_usec() - trial->start;
}

/* Sets the remedy for a failed connection. */
static void fix_error(struct trial *trial, int ret)
{
	const char *peer = trial->opts->peer ? trial->opts->peer : "PEER";

	/* The side that waits longer sees that the other one has given up. */
	if (trial->mtu && (ret == -FI_ETIMEDOUT || ret == -FI_ECANCELED)) {
		doctor_fix(
			trial->doctor,
			"ip link set DEV mtu MTU (the same on all hosts and switches: packets of %u bytes are lost on the way, as ping -M do -s %u %s should show)",
			trial->mtu, trial->mtu, peer);
		return;
	}
	switch (-ret) {
	case FI_ECONNREFUSED:
		doctor_fix(trial->doctor, "fi_doctor --listen %s (on %s)", trial->opts->port, peer);
		break;
	case FI_ETIMEDOUT:
		doctor_fix(
			trial->doctor,
			"ping %s; then, on both hosts: iptables -I INPUT -p udp --dport 4791 -j ACCEPT (RoCE v2)",
			peer);
		break;
	case FI_ENODATA:
		doctor_fix(trial->doctor, "fi_info --why -t FI_EP_MSG%s%s",
			   trial->opts->peer ? " -n " : "",
			   trial->opts->peer ? trial->opts->peer : "");
		break;
	case FI_EADDRINUSE:
		doctor_fix(trial->doctor, "fi_doctor --listen PORT (another port)");
		break;
	case FI_ENOMEM:
		doctor_fix(trial->doctor, "ulimit -l unlimited");
		break;
	case FI_EHOSTUNREACH:
	case FI_ENETUNREACH:
	case FI_EADDRNOTAVAIL:
	case FI_ENODEV:
		doctor_fix(trial->doctor, "ip route get %s", peer);
		break;
	default:
		doctor_fix(trial->doctor, "FI_LOG_LEVEL=info fi_doctor (on both hosts)");
	}
}

/* Reports the result of a step on the link. Returns true on success. */
static bool ended(struct trial *trial, int ret, const char *what)
{
	const struct doctor_link *link = &trial->link;

	took(trial);
	if (!ret) {
		doctor_say(trial->doctor, DOCTOR_OK, "%s", what);
		return true;
	}
	fix_error(trial, ret);
	doctor_say(trial->doctor, DOCTOR_FAIL, "%s: %s: %s%s%s%s", what,
		   link->call ? link->call : "fi_getinfo", fi_strerror(-ret),
		   link->detail[0] ? " (" : "", link->detail, link->detail[0] ? ")" : "");
	return false;
}

/* Returns false, with an empty text, if the address has no text. */
static bool addr_text(const struct sockaddr *addr, socklen_t size, char *text, size_t len)
{
	text[0] = '\0';
	return !getnameinfo(addr, size, text, (socklen_t)len, NULL, 0, NI_NUMERICHOST);
}

static bool resolve_name(struct trial *trial)
{
	const struct doctor_options *opts = trial->opts;
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *ai;
	char text[NI_MAXHOST];
	int ret;

	step(trial);
	ret = getaddrinfo(opts->peer, opts->port, &hints, &trial->ai);
	took(trial);
	if (ret) {
		trial->ai = NULL;
		doctor_fix(trial->doctor, "getent hosts %s (put it into /etc/hosts or the DNS)",
			   opts->peer);
		doctor_say(trial->doctor, DOCTOR_FAIL, "resolve %s: %s", opts->peer,
			   ret == EAI_SYSTEM ? strerror(errno) : gai_strerror(ret));
		return false;
	}
	for (ai = trial->ai; ai; ai = ai->ai_next) {
		addr_text(ai->ai_addr, ai->ai_addrlen, text, sizeof(text));
		doctor_say(trial->doctor, DOCTOR_OK, "resolve %s: its address is %s", opts->peer,
			   text);
	}
	return true;
}

/*
 * Finds the source address of packets to the peer. Returns false with errno set if there is none.
 */
static bool find_source(const struct addrinfo *ai, char *text, size_t len)
{
	struct sockaddr_storage addr = { 0 };
	socklen_t size = sizeof(addr);
	int fd, err;
	bool good;

	fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	good = !connect(fd, ai->ai_addr, ai->ai_addrlen) &&
	       !getsockname(fd, (struct sockaddr *)&addr, &size);
	err = errno;
	close(fd);
	errno = err;
	return good && addr_text((struct sockaddr *)&addr, size, text, len);
}

static const struct doctor_port *port_of(const struct trial *trial, const char *text,
					 const char **netdev)
{
	const struct doctor_port *port = NULL;
	const struct doctor_addr *addr;
	size_t len = strcspn(text, "%");

	*netdev = "an unknown interface";
	STAILQ_FOREACH (addr, trial->addrs, next) {
		if (strncmp(addr->text, text, len) || addr->text[len])
			continue;
		*netdev = addr->netdev;
		port = doctor_port_of(trial->ports, addr->netdev);
		if (port)
			break;
	}
	return port;
}

/* A route that does not use an RDMA device is not fatal: a source may have been given. */
static bool find_route(struct trial *trial, const struct addrinfo *ai, enum doctor_level missing)
{
	char text[NI_MAXHOST] = "", peer[NI_MAXHOST];
	const struct doctor_port *port;
	const char *netdev;
	bool good;
	int err;

	addr_text(ai->ai_addr, ai->ai_addrlen, peer, sizeof(peer));
	step(trial);
	good = find_source(ai, text, sizeof(text));
	err = errno;
	took(trial);
	if (!good) {
		doctor_fix(trial->doctor, "ip route get %s", peer);
		doctor_say(trial->doctor, missing, "route to %s: %s", peer, strerror(err));
		return false;
	}
	port = port_of(trial, text, &netdev);
	if (port) {
		doctor_say(trial->doctor, DOCTOR_OK,
			   "route to %s: from %s on %s, which is %s port %s", peer, text, netdev,
			   port->device, port->num);
		return true;
	}
	doctor_fix(trial->doctor, "ip route get %s (use an address of the peer's RDMA interface)",
		   peer);
	doctor_say(trial->doctor, DOCTOR_WARN,
		   "route to %s: from %s on %s, which is not an interface of an RDMA device", peer,
		   text, netdev);
	return true;
}

/* One address with a route is enough. */
static bool find_routes(struct trial *trial)
{
	struct addrinfo *ai;
	bool any = false;

	for (ai = trial->ai; ai; ai = ai->ai_next)
		any |= find_route(trial, ai, any || ai->ai_next ? DOCTOR_WARN : DOCTOR_FAIL);
	return any;
}

static int set_source(const struct trial *trial, struct fi_info *hints)
{
	struct addrinfo *ai;

	if (!trial->opts->source)
		return 0;
	if (getaddrinfo(trial->opts->source, NULL, NULL, &ai))
		return -FI_EADDRNOTAVAIL;
	hints->src_addr = malloc(ai->ai_addrlen);
	if (hints->src_addr) {
		memcpy(hints->src_addr, ai->ai_addr, ai->ai_addrlen);
		hints->src_addrlen = ai->ai_addrlen;
	}
	freeaddrinfo(ai);
	return hints->src_addr ? 0 : -FI_ENOMEM;
}

/* Asks libfabric about the address. */
static bool find_device(struct trial *trial, const char *node, uint64_t flags)
{
	struct fi_info *hints = doctor_hints(FI_EP_MSG);
	struct doctor_link *link = &trial->link;
	char what[128], why[256] = "";
	int ret = -FI_ENOMEM;

	step(trial);
	if (hints)
		ret = flags ? 0 : set_source(trial, hints);
	if (!ret)
		ret = doctor_getinfo(node, trial->opts->port, flags, hints, &link->info, why,
				     sizeof(why));
	fi_freeinfo(hints);
	snprintf(link->detail, sizeof(link->detail), "%.159s", why);
	snprintf(what, sizeof(what), "device for %.40s%s%.40s", node ? node : "any address",
		 ret ? "" : ": ", ret ? "" : link->info->domain_attr->name);
	return ended(trial, ret, what);
}

static bool open_link(struct trial *trial)
{
	int ret;

	step(trial);
	ret = doctor_link_fabric(&trial->link);
	if (!ret)
		ret = doctor_link_endpoint(&trial->link);
	return ended(trial, ret, "open an endpoint");
}

static bool connect_link(struct trial *trial)
{
	struct doctor_link *link = &trial->link;
	char hello[DOCTOR_HELLO];
	int ret;

	step(trial);
	ret = fi_connect(link->ep, link->info->dest_addr, hello, doctor_link_hello(link, hello));
	link->call = "fi_connect";
	if (!ret)
		ret = doctor_link_event(link, FI_CONNECTED, trial->opts->timeout_ms);
	return ended(trial, ret, "connect");
}

/* Sends a message and receives its answer; the side that listens receives and answers. */
static int exchange(struct trial *trial, size_t len)
{
	int timeout = trial->opts->timeout_ms, ret;

	step(trial);
	if (trial->opts->listen) {
		ret = doctor_link_receive(&trial->link, (char)PING, timeout);
		return ret ? ret : doctor_link_send(&trial->link, (char)PONG, len, timeout);
	}
	ret = doctor_link_send(&trial->link, (char)PING, len, timeout);
	return ret ? ret : doctor_link_receive(&trial->link, (char)PONG, timeout);
}

static bool exchange_all(struct trial *trial)
{
	const char *where = trial->opts->listen ? "here" : "there";
	unsigned int peer_mtu = trial->link.peer_mtu;
	char what[64];
	bool good;

	snprintf(what, sizeof(what), "one byte %s and one back", where);
	good = ended(trial, exchange(trial, 1), what);
	if (!good || !peer_mtu)
		return good;
	/* The connection manager takes the MTU of the side that connects. */
	trial->mtu = trial->opts->listen ? peer_mtu : doctor_link_mtu(&trial->link);
	snprintf(what, sizeof(what), "packets of %u bytes %s and back", trial->mtu, where);
	good = ended(trial, exchange(trial, DOCTOR_FULL), what);
	trial->mtu = 0;
	return good;
}

static void finish(struct trial *trial)
{
	step(trial);
	trial->link.call = "fi_shutdown";
	ended(trial, fi_shutdown(trial->link.ep, 0), "disconnect");
}

void doctor_peer_connect(struct doctor *doctor, const struct doctor_options *opts,
			 const struct doctor_ports *ports, const struct doctor_addrs *addrs)
{
	struct trial trial = { .doctor = doctor, .opts = opts, .ports = ports, .addrs = addrs };

	doctor->topic = "peer";
	if (resolve_name(&trial) && find_routes(&trial) && find_device(&trial, opts->peer, 0) &&
	    open_link(&trial) && connect_link(&trial) && exchange_all(&trial))
		finish(&trial);
	doctor_link_close(&trial.link);
	if (trial.ai)
		freeaddrinfo(trial.ai);
}

static bool start_listening(struct trial *trial)
{
	struct doctor_link *link = &trial->link;
	char what[64];
	int ret;

	step(trial);
	ret = doctor_link_fabric(link);
	if (!ret) {
		link->call = "fi_passive_ep";
		ret = fi_passive_ep(link->fabric, link->info, &link->pep, NULL);
	}
	if (!ret)
		ret = fi_pep_bind(link->pep, &link->eq->fid, 0);
	if (!ret) {
		link->call = "fi_listen";
		ret = fi_listen(link->pep);
	}
	snprintf(what, sizeof(what), "listen on port %.16s", trial->opts->port);
	return ended(trial, ret, what);
}

static bool accept_link(struct trial *trial)
{
	struct doctor_link *link = &trial->link;
	char hello[DOCTOR_HELLO];
	int ret;

	step(trial);
	ret = doctor_link_event(link, FI_CONNREQ, trial->opts->listen_ms);
	if (!ended(trial, ret, "wait for a peer"))
		return false;
	step(trial);
	ret = doctor_link_endpoint(link);
	if (!ret) {
		link->call = "fi_accept";
		ret = fi_accept(link->ep, hello, doctor_link_hello(link, hello));
	}
	if (!ret)
		ret = doctor_link_event(link, FI_CONNECTED, trial->opts->timeout_ms);
	return ended(trial, ret, "accept");
}

void doctor_peer_listen(struct doctor *doctor, const struct doctor_options *opts)
{
	struct trial trial = { .doctor = doctor, .opts = opts };

	doctor->topic = "peer";
	if (find_device(&trial, opts->source, FI_SOURCE) && start_listening(&trial) &&
	    accept_link(&trial) && exchange_all(&trial)) {
		step(&trial);
		ended(&trial, doctor_link_event(&trial.link, FI_SHUTDOWN, opts->timeout_ms),
		      "disconnect");
	}
	doctor_link_close(&trial.link);
}
