/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Logs refused calls in one line each. */
#include "refuse.h"

#include <stdarg.h>
#include <stdio.h>

int ofi_refused(const struct fi_provider *prov, enum fi_log_level level, enum fi_log_subsys subsys,
		const char *func, int line, int err, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (!fi_log_enabled(prov, level, subsys))
		return err;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fi_log(prov, level, subsys, func, line, "%s", text);
	return err;
}
