/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each system call and C library call that can fail does so in turn. */
#include <stddef.h>
#include "run.h"

int main(int argc, char **argv)
{
	static const char *const functions[] = {
		"pthread_create", "epoll_create1", "epoll_ctl",	 "epoll_wait",	"eventfd",
		"fcntl",	  "poll",	   "socket",	 "setsockopt",	"bind",
		"connect",	  "getsockname",   "open",	 "opendir",	"scandir",
		"stat",		  "readlink",	   "getifaddrs", "getaddrinfo", "memfd_create",
		"fchmod",	  "ftruncate",	   "fstat",	 "mmap",	NULL,
	};

	return run_faults(argc, argv, functions);
}
