/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Functions that the device memory interfaces share: opening a runtime, errors and reasons. */
#include "hmem.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <rdma/fi_errno.h>

bool ofi_hmem_cannot(struct ofi_hmem_why *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return false;
}

const char *ofi_hmem_resolve(void *library, const struct ofi_hmem_symbol *symbols)
{
	void *found;

	for (; symbols->name; symbols++) {
		found = dlsym(library, symbols->name);
		if (!found && !symbols->optional)
			return symbols->name;
		memcpy(symbols->to, &found, sizeof(found));
	}
	return NULL;
}

bool ofi_hmem_open(const struct ofi_hmem *hmem, void *library, struct ofi_hmem_why *why)
{
	const char *missing = ofi_hmem_resolve(library, hmem->symbols);

	if (missing)
		return ofi_hmem_cannot(why, "the installed %s is too old: it has no %s",
				       hmem->library, missing);
	return hmem->start(why);
}

int ofi_hmem_errno(const struct ofi_hmem *hmem, int result)
{
	const struct ofi_hmem_error *error;

	if (!result)
		return 0;
	for (error = hmem->errors; error->result; error++)
		if (error->result == result)
			return -error->err;
	return -FI_EIO;
}
