/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Watches the machine for changes that make a snapshot of its devices outdated. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "src/ds/clock.h"
#include "src/ds/process.h"
#include "watch.h"

enum { SETTLE_MS = 1000, LIST_BYTES = 4096, MESSAGES_AT_ONCE = 1000 };

static void drop_ports(struct vrb_watch *watch)
{
	size_t i;

	ofi_own_fd_drop(&watch->devices);
	for (i = 0; i < watch->count; i++)
		ofi_own_fd_drop(&watch->ports[i].state);
	free(watch->ports);
	watch->ports = NULL;
	watch->count = 0;
}

static int open_link(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK,
				    .nl_groups =
					    RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	int least = 1;

	if (fd < 0)
		return fd;
	/* Only the existence of messages matters, so the kernel need not buffer much. */
	(void)!setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	if (!bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	close(fd);
	return -1;
}

/* Empties the socket. Returns true if it had messages, or if that is unknown. */
static bool link_news(const struct vrb_watch *watch)
{
	bool news = false;
	char byte;
	int i;

	for (i = 0; i < MESSAGES_AT_ONCE; i++) {
		if (recv(watch->link.fd, &byte, sizeof(byte), MSG_DONTWAIT) < 0) {
			if (errno == EAGAIN)
				return news;
			if (errno != ENOBUFS && errno != EINTR)
				return true;
		}
		news = true;
	}
	return true;
}

/* Returns true if the directory lists the same devices as the snapshot. */
static bool list_same(int fd, const struct vrb_snapshot *snapshot)
{
	char buf[LIST_BYTES] __attribute__((aligned(__alignof__(struct dirent64))));
	const struct vrb_device *dev;
	const struct dirent64 *entry;
	size_t left = 0;
	ssize_t len, at;

	STAILQ_FOREACH (dev, snapshot, next)
		left++;
	if (lseek(fd, 0, SEEK_SET))
		return false;
	while ((len = getdents64(fd, buf, sizeof(buf))) > 0) {
		for (at = 0; at < len; at += entry->d_reclen) {
			entry = (const void *)(buf + at);
			if (entry->d_name[0] == '.')
				continue;
			STAILQ_FOREACH (dev, snapshot, next)
				if (!strcmp(dev->name, entry->d_name))
					break;
			if (!dev || !left--)
				return false;
		}
	}
	return !len && !left;
}

/* The file of a removed device cannot be read, even if another device has its name by now. */
static bool port_same(const struct vrb_watch_port *port)
{
	char text[32];
	ssize_t len;

	if (!ofi_own_fd_valid(&port->state))
		return false;
	len = pread(port->state.fd, text, sizeof(text) - 1, 0);
	if (len <= 0)
		return false;
	text[len] = '\0';
	return atoi(text) == port->is;
}

static bool all_same(const struct vrb_watch *watch, const struct vrb_snapshot *snapshot)
{
	size_t i;

	if (!ofi_own_fd_valid(&watch->devices) || !list_same(watch->devices.fd, snapshot))
		return false;
	for (i = 0; i < watch->count; i++)
		if (!port_same(&watch->ports[i]))
			return false;
	return true;
}

void vrb_watch_begin(struct vrb_watch *watch)
{
	drop_ports(watch);
	if (watch->process != ofi_process() || !ofi_own_fd_valid(&watch->link)) {
		ofi_own_fd_drop(&watch->link);
		watch->process = ofi_process();
		ofi_own_fd_take(&watch->link, open_link());
	} else if (link_news(watch)) {
		watch->unsettled_until = ofi_now_ms() + SETTLE_MS;
	}
}

static bool watch_ports(struct vrb_watch *watch, const struct vrb_device *dev)
{
	struct vrb_watch_port *port;
	char path[PATH_MAX];
	int i;

	for (i = 0; i < dev->num_ports; i++) {
		port = &watch->ports[watch->count];
		snprintf(path, sizeof(path), "%s/ports/%u/state", dev->path, dev->ports[i].num);
		if (!ofi_own_fd_take(&port->state, open(path, O_RDONLY | O_CLOEXEC)))
			return false;
		port->is = dev->ports[i].attr.state;
		watch->count++;
	}
	return true;
}

static bool watch_devices(struct vrb_watch *watch, const struct vrb_snapshot *snapshot)
{
	const struct vrb_device *dev = STAILQ_FIRST(snapshot);
	char path[sizeof(dev->path)];
	const char *slash;
	size_t ports = 0;

	slash = dev ? strrchr(dev->path, '/') : NULL;
	if (!slash)
		return false;
	snprintf(path, sizeof(path), "%.*s", (int)(slash - dev->path), dev->path);
	if (!ofi_own_fd_take(&watch->devices, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)))
		return false;
	STAILQ_FOREACH (dev, snapshot, next)
		ports += (size_t)dev->num_ports;
	watch->ports = calloc(ports ? ports : 1, sizeof(*watch->ports));
	if (!watch->ports)
		return false;
	STAILQ_FOREACH (dev, snapshot, next) {
		/* A failure may be temporary. */
		if ((dev->err && !dev->left_out) ||
		    (dev->ud_err && !vrb_device_lacks(dev->ud_err)) || !watch_ports(watch, dev))
			return false;
	}
	return true;
}

bool vrb_watch_keep(struct vrb_watch *watch, const struct vrb_snapshot *snapshot)
{
	if (watch->link.fd >= 0 && watch_devices(watch, snapshot) && all_same(watch, snapshot))
		return true;
	drop_ports(watch);
	return false;
}

bool vrb_watch_same(struct vrb_watch *watch, const struct vrb_snapshot *snapshot)
{
	uint64_t now = ofi_now_ms();

	if (watch->process != ofi_process() || !ofi_own_fd_valid(&watch->link))
		return false;
	if (link_news(watch) || !all_same(watch, snapshot)) {
		watch->unsettled_until = now + SETTLE_MS;
		return false;
	}
	return now >= watch->unsettled_until;
}

void vrb_watch_end(struct vrb_watch *watch)
{
	drop_ports(watch);
	ofi_own_fd_drop(&watch->link);
	watch->unsettled_until = 0;
}
