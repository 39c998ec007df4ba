/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The process's mappings: their number and the limit. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "maps.h"

#define DEFAULT_LIMIT 65530 /* the kernel's default */

static size_t read_some(int fd, char *buf, size_t len)
{
	ssize_t n = read(fd, buf, len);

	return n > 0 ? (size_t)n : 0;
}

size_t ofi_maps_count(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t n, lines = 0;
	char buf[4096];

	if (fd < 0)
		return 0;
	while ((n = read_some(fd, buf, sizeof(buf))))
		while (n--)
			lines += buf[n] == '\n';
	close(fd);
	return lines;
}

size_t ofi_maps_limit(void)
{
	int fd = open("/proc/sys/vm/max_map_count", O_RDONLY | O_CLOEXEC);
	char buf[32];
	size_t n;

	if (fd < 0)
		return DEFAULT_LIMIT;
	n = read_some(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n] = '\0';
	return n ? strtoul(buf, NULL, 10) : DEFAULT_LIMIT;
}
