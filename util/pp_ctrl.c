/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control connection of fi_pingpong. */
#include "pp_ctrl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "pp_log.h"

#define PP_CTRL_TIMEOUT_SEC 30
#define PP_COUNT_LEN	    10
#define PP_AGREE_LEN	    64

static const char pp_sync_question[] = "q";
static const char pp_sync_answer[] = "a";
static const char pp_agree_lead[] = "r";
static const char pp_count_answer[] = "cnt ok";

static int pp_ctrl_error(const char *what)
{
	int ret = -errno;

	pp_error("%s: %s", what, strerror(-ret));
	return ret;
}

static int pp_ctrl_send(struct pp_ctrl *ctrl, const void *buf, size_t len)
{
	const char *next = buf;
	ssize_t sent;

	while (len) {
		sent = send(ctrl->fd, next, len, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return pp_ctrl_error("ctrl/write");
		next += sent;
		len -= (size_t)sent;
	}
	return 0;
}

static int pp_ctrl_recv(struct pp_ctrl *ctrl, void *buf, size_t len)
{
	char *next = buf;
	ssize_t got;

	while (len) {
		got = recv(ctrl->fd, next, len, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN) {
			pp_error("ctrl/read: the peer sent nothing for %d seconds",
				 PP_CTRL_TIMEOUT_SEC);
			return -ETIMEDOUT;
		}
		if (got < 0)
			return pp_ctrl_error("ctrl/read");
		if (!got) {
			pp_error(
				"ctrl/read: no data or remote connection closed (see the peer's output)");
			return -ECONNABORTED;
		}
		next += got;
		len -= (size_t)got;
	}
	return 0;
}

static int pp_ctrl_protocol_error(const char *what)
{
	pp_error("ctrl/read: unexpected %s: is the peer fi_pingpong with the same options?", what);
	return -EPROTO;
}

static int pp_ctrl_expect(struct pp_ctrl *ctrl, const char *want, size_t len)
{
	char got[16];
	int ret;

	ret = pp_ctrl_recv(ctrl, got, len);
	if (ret)
		return ret;
	return memcmp(got, want, len) ? pp_ctrl_protocol_error("message") : 0;
}

static int pp_ctrl_bind(int fd, int family, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int one = 1;
	int ret;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)))
		return pp_ctrl_error("setsockopt(SO_REUSEADDR)");
	if (family == AF_INET6)
		ret = bind(fd, (struct sockaddr *)&in6, sizeof(in6));
	else
		ret = bind(fd, (struct sockaddr *)&in, sizeof(in));
	if (!ret)
		return 0;
	ret = -errno;
	pp_error("cannot use control port %u: %s; choose another with -B", port, strerror(-ret));
	return ret;
}

int pp_ctrl_listen(struct pp_ctrl *ctrl, const struct pp_options *opts)
{
	int family = opts->ipv6 ? AF_INET6 : AF_INET;
	int ret;

	ctrl->fd = -1;
	ctrl->listener = -1;
	ctrl->client = opts->dst_addr != NULL;
	if (ctrl->client)
		return 0;
	ctrl->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (ctrl->listener < 0)
		return pp_ctrl_error("socket");
	ret = pp_ctrl_bind(ctrl->listener, family, opts->src_port ? opts->src_port : PP_CTRL_PORT);
	if (!ret && listen(ctrl->listener, 10))
		ret = pp_ctrl_error("listen");
	return ret;
}

static int pp_ctrl_accept(struct pp_ctrl *ctrl)
{
	pp_debug("SERVER: waiting for connection");
	do {
		ctrl->fd = accept4(ctrl->listener, NULL, NULL, SOCK_CLOEXEC);
	} while (ctrl->fd < 0 && errno == EINTR);
	if (ctrl->fd < 0)
		return pp_ctrl_error("accept");
	close(ctrl->listener);
	ctrl->listener = -1;
	return 0;
}

static int pp_ctrl_try(const struct addrinfo *ai, uint16_t src_port, int *sock)
{
	int fd;
	int ret = 0;

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return pp_ctrl_error("socket");
	if (src_port)
		ret = pp_ctrl_bind(fd, ai->ai_family, src_port);
	if (!ret && connect(fd, ai->ai_addr, ai->ai_addrlen))
		ret = -errno;
	if (ret)
		close(fd);
	else
		*sock = fd;
	return ret;
}

static int pp_ctrl_connect(struct pp_ctrl *ctrl, const struct pp_options *opts)
{
	struct addrinfo hints = { .ai_family = opts->ipv6 ? AF_INET6 : AF_INET,
				  .ai_socktype = SOCK_STREAM };
	uint16_t port = opts->dst_port ? opts->dst_port : PP_CTRL_PORT;
	struct addrinfo *list, *ai;
	char service[8];
	int ret;

	snprintf(service, sizeof(service), "%u", port);
	ret = getaddrinfo(opts->dst_addr, service, &hints, &list);
	if (ret) {
		pp_error("getaddrinfo : %s: %s", opts->dst_addr, gai_strerror(ret));
		return -1;
	}
	ret = -EADDRNOTAVAIL;
	for (ai = list; ai && ret; ai = ai->ai_next)
		ret = pp_ctrl_try(ai, opts->src_port, &ctrl->fd);
	freeaddrinfo(list);
	if (ret)
		pp_error("failed to connect: %s (control port %u of %s)", strerror(-ret), port,
			 opts->dst_addr);
	return ret;
}

int pp_ctrl_open(struct pp_ctrl *ctrl, const struct pp_options *opts)
{
	struct timeval timeout = { .tv_sec = PP_CTRL_TIMEOUT_SEC };
	int ret;

	ret = ctrl->client ? pp_ctrl_connect(ctrl, opts) : pp_ctrl_accept(ctrl);
	if (ret)
		return ret;
	if (setsockopt(ctrl->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)))
		return pp_ctrl_error("setsockopt(SO_RCVTIMEO)");
	pp_debug("Control messages initialized");
	return 0;
}

void pp_ctrl_close(struct pp_ctrl *ctrl)
{
	if (ctrl->fd >= 0)
		close(ctrl->fd);
	if (ctrl->listener >= 0)
		close(ctrl->listener);
	ctrl->fd = -1;
	ctrl->listener = -1;
}

/*
 * If an endpoint listens on all addresses, its name gets the address that the peer used for this
 * connection.
 */
static void pp_name_fill(const struct pp_ctrl *ctrl, bool remote, struct pp_name *name)
{
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} end;
	struct sockaddr_in *in = (struct sockaddr_in *)name->addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)name->addr;
	socklen_t len = sizeof(end);

	if (remote ? getpeername(ctrl->fd, &end.sa, &len) : getsockname(ctrl->fd, &end.sa, &len))
		return;
	if (name->len >= sizeof(*in) && in->sin_family == AF_INET && end.sa.sa_family == AF_INET &&
	    in->sin_addr.s_addr == htonl(INADDR_ANY))
		in->sin_addr = end.in.sin_addr;
	else if (name->len >= sizeof(*in6) && in6->sin6_family == AF_INET6 &&
		 end.sa.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)) {
		in6->sin6_addr = end.in6.sin6_addr;
		in6->sin6_scope_id = end.in6.sin6_scope_id;
	}
}

static bool pp_name_is_ip(const struct pp_name *name)
{
	return name->format <= FI_SOCKADDR_IN6 || name->format == FI_SOCKADDR_IP;
}

int pp_ctrl_send_name(struct pp_ctrl *ctrl, const struct pp_name *name)
{
	struct pp_name out = *name;
	uint32_t len = htonl(name->len);
	int ret;

	if (pp_name_is_ip(&out))
		pp_name_fill(ctrl, false, &out);
	pp_debug("Sending name, %u bytes", name->len);
	ret = pp_ctrl_send(ctrl, &len, sizeof(len));
	if (!ret)
		ret = pp_ctrl_send(ctrl, &out.format, sizeof(out.format));
	return ret ? ret : pp_ctrl_send(ctrl, out.addr, out.len);
}

int pp_ctrl_recv_name(struct pp_ctrl *ctrl, struct pp_name *name)
{
	uint32_t len;
	int ret;

	memset(name, 0, sizeof(*name));
	ret = pp_ctrl_recv(ctrl, &len, sizeof(len));
	if (ret)
		return ret;
	name->len = ntohl(len);
	if (!name->len || name->len > sizeof(name->addr))
		return pp_ctrl_protocol_error("length of address");
	ret = pp_ctrl_recv(ctrl, &name->format, sizeof(name->format));
	/* In this format, an address vector takes pointers. */
	if (!ret && name->format == FI_ADDR_STR)
		return pp_ctrl_protocol_error("format of address");
	if (!ret)
		ret = pp_ctrl_recv(ctrl, name->addr, name->len);
	if (!ret && pp_name_is_ip(name))
		pp_name_fill(ctrl, true, name);
	pp_debug("Received name, %u bytes", name->len);
	return ret;
}

int pp_ctrl_sync(struct pp_ctrl *ctrl)
{
	int ret;

	if (ctrl->client) {
		ret = pp_ctrl_send(ctrl, pp_sync_question, sizeof(pp_sync_question));
		if (!ret)
			ret = pp_ctrl_expect(ctrl, pp_sync_answer, sizeof(pp_sync_answer));
	} else {
		ret = pp_ctrl_expect(ctrl, pp_sync_question, sizeof(pp_sync_question));
		if (!ret)
			ret = pp_ctrl_send(ctrl, pp_sync_answer, sizeof(pp_sync_answer));
	}
	return ret;
}

static int pp_ctrl_send_agree(struct pp_ctrl *ctrl, const struct pp_agree *agree)
{
	char text[PP_AGREE_LEN] = "";
	int ret;

	snprintf(text, sizeof(text), "%u %u %zu", agree->window, agree->count, agree->size);
	ret = pp_ctrl_send(ctrl, pp_agree_lead, sizeof(pp_agree_lead));
	return ret ? ret : pp_ctrl_send(ctrl, text, sizeof(text));
}

static int pp_ctrl_recv_agree(struct pp_ctrl *ctrl, struct pp_agree *peer)
{
	char text[PP_AGREE_LEN + 1] = "";
	int ret;

	ret = pp_ctrl_expect(ctrl, pp_agree_lead, sizeof(pp_agree_lead));
	if (!ret)
		ret = pp_ctrl_recv(ctrl, text, PP_AGREE_LEN);
	if (ret)
		return ret;
	if (sscanf(text, "%u %u %zu", &peer->window, &peer->count, &peer->size) == 3 &&
	    peer->window)
		return 0;
	return pp_ctrl_protocol_error("agreement");
}

int pp_ctrl_agree(struct pp_ctrl *ctrl, struct pp_agree *agree)
{
	struct pp_agree peer;
	int ret;

	ret = pp_ctrl_send_agree(ctrl, agree);
	if (!ret)
		ret = pp_ctrl_recv_agree(ctrl, &peer);
	if (ret)
		return ret;
	if (peer.count != agree->count || peer.size != agree->size) {
		pp_error(
			"the peer transfers %u messages of %zu bytes, this end %u of %zu: give both ends the same -I and -S",
			peer.count, peer.size, agree->count, agree->size);
		return -EPROTO;
	}
	if (agree->window > peer.window)
		agree->window = peer.window;
	return 0;
}

static int pp_ctrl_recv_count(struct pp_ctrl *ctrl, unsigned int *count)
{
	char text[PP_COUNT_LEN + 1] = "";
	char *end;
	int ret;

	ret = pp_ctrl_recv(ctrl, text, PP_COUNT_LEN);
	if (ret)
		return ret;
	*count = (unsigned int)strtoul(text, &end, 10);
	if (end == text || *end)
		return pp_ctrl_protocol_error("count");
	return pp_ctrl_send(ctrl, pp_count_answer, sizeof(pp_count_answer));
}

int pp_ctrl_count(struct pp_ctrl *ctrl, unsigned int mine, unsigned int *peer)
{
	char text[PP_COUNT_LEN + 1] = "";
	int ret;

	if (!ctrl->client)
		return pp_ctrl_recv_count(ctrl, peer);
	snprintf(text, sizeof(text), "%u", mine);
	*peer = mine;
	ret = pp_ctrl_send(ctrl, text, PP_COUNT_LEN);
	return ret ? ret : pp_ctrl_expect(ctrl, pp_count_answer, sizeof(pp_count_answer));
}

bool pp_ctrl_peer_gone(const struct pp_ctrl *ctrl)
{
	char byte;
	ssize_t got = recv(ctrl->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return !got || (got < 0 && errno != EAGAIN && errno != EINTR);
}
