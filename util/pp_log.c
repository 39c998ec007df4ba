/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages of fi_pingpong. */
#include "pp_log.h"

#include <stdarg.h>
#include <stdio.h>

#include <rdma/fi_errno.h>

bool pp_verbose;

static void pp_print(const char *level, const char *fmt, va_list args)
{
	flockfile(stderr);
	fprintf(stderr, "fi_pingpong: %s", level);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void pp_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	pp_print("", fmt, args);
	va_end(args);
}

void pp_debug(const char *fmt, ...)
{
	va_list args;

	if (!pp_verbose)
		return;
	va_start(args, fmt);
	pp_print("debug: ", fmt, args);
	va_end(args);
}

int pp_failed(const char *call, int ret)
{
	pp_error("%s: %s", call, fi_strerror(-ret));
	return ret;
}
