/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One interface of device memory on its fake GPU, and what the tests of all interfaces check: whose
 * an address is, copies, exports, and the errors of the runtime.
 */
#ifndef HMEM_RUNTIME_H
#define HMEM_RUNTIME_H

#include "unit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "prov/base/hmem.h"

enum { RUNTIME_PAGE = 4096, RUNTIME_SIZE = 4 * RUNTIME_PAGE };

/* A call that fails, such as cuInit:100, and what a copy then gives. */
struct runtime_failure {
	const char *fail;
	int err;
};

extern char *runtime_memory; /* RUNTIME_SIZE bytes of the device */

/* Opens the interface with its fake library, in which it looks up the test's own symbols. */
void runtime_open(const struct ofi_hmem *hmem, const char *file,
		  const struct ofi_hmem_symbol *symbols);
/* Returns 0. */
int runtime_close(void);
/* Undoes what a test has asked of the fake GPU. Returns 0. */
int runtime_end_test(void **state);

/* Starts it once more, as the variable wants it, and fails if that works. */
void runtime_starts_not(const char *name, const char *value, const char *text);
/* A copy of one byte, with each of these failures. The last has no call. */
void runtime_copy_fails(const struct runtime_failure *failures);
/* Copies the text there and back. */
void runtime_copy(const char *text);
/* Exports a range of the memory, which is at its offset in the descriptor. */
void runtime_check_export(size_t at, size_t len);

/* Tests. */
void runtime_too_old(void **state);
void runtime_owns(void **state);
void runtime_copies(void **state);
void runtime_export(void **state);

#endif
