/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The control connection of fi_pingpong, a TCP stream beside the fabric. On the wire:
 *
 *	name	u32 length (network order), u32 address format (host order), the raw address
 *	sync	client "q\0", server "a\0", before each size
 *	agree	both "r\0" and 64 bytes of decimal text padded with NUL, before each size of --rate: the
 *		window, the number of messages and their size
 *	count	client 10 bytes of decimal text padded with NUL, server "cnt ok\0", after each size
 */
#ifndef PP_CTRL_H
#define PP_CTRL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pp_options.h"

#define PP_NAME_MAX 512

struct pp_ctrl {
	int fd;	      /* -1: not open */
	int listener; /* -1: not open */
	bool client;
};

/* What both ends have to know of a stream. */
struct pp_agree {
	unsigned int window;
	unsigned int count;
	size_t size;
};

struct pp_name {
	uint32_t format; /* FI_SOCKADDR_IN ... */
	uint32_t len;
	unsigned char addr[PP_NAME_MAX] __attribute__((aligned(8)));
};

/* On the server, clients can connect from here on. Does nothing on a client. */
int pp_ctrl_listen(struct pp_ctrl *ctrl, const struct pp_options *opts);
/* The server waits here for its client. */
int pp_ctrl_open(struct pp_ctrl *ctrl, const struct pp_options *opts);
/* Accepts a connection that is not open. */
void pp_ctrl_close(struct pp_ctrl *ctrl);

int pp_ctrl_send_name(struct pp_ctrl *ctrl, const struct pp_name *name);
int pp_ctrl_recv_name(struct pp_ctrl *ctrl, struct pp_name *name);
int pp_ctrl_sync(struct pp_ctrl *ctrl);
/*
 * Sets the window to the smaller one of both ends. Fails if the peer means to transfer something
 * else, or does not stream.
 */
int pp_ctrl_agree(struct pp_ctrl *ctrl, struct pp_agree *agree);
/* On the server, *peer is the client's count. */
int pp_ctrl_count(struct pp_ctrl *ctrl, unsigned int mine, unsigned int *peer);
bool pp_ctrl_peer_gone(const struct pp_ctrl *ctrl);

#endif
