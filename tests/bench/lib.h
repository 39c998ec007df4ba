/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The library under test, loaded at run time, so one program measures any libfabric.so.1. The
 * symbol versions are those of 1.9 to 1.17, which every later library has, too.
 */
#ifndef BENCH_LIB_H
#define BENCH_LIB_H

#include <rdma/fabric.h>

#define BENCH_API FI_VERSION(1, 17)

struct lib {
	int (*getinfo)(uint32_t version, const char *node, const char *service, uint64_t flags,
		       const struct fi_info *hints, struct fi_info **info);
	void (*freeinfo)(struct fi_info *info);
	struct fi_info *(*dupinfo)(const struct fi_info *info);
	int (*fabric)(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
	const char *(*strerror)(int err);
	uint32_t (*version)(void);
};

/*
 * Loads the library; path is a file, or a name for the dynamic linker. Ends the program on failure.
 */
void lib_load(struct lib *lib, const char *path);

/* Prints "error: what: why" and ends the program with status 1. */
void bench_die(const char *what, const char *why) __attribute__((noreturn));
/* Ends the program if ret, the result of a library call, is negative. Returns ret. */
static inline ssize_t bench_check(const struct lib *lib, ssize_t ret, const char *what)
{
	if (ret < 0)
		bench_die(what, lib->strerror((int)-ret));
	return ret;
}

/* Parses a positive number from the command line. */
int bench_number(const char *what, const char *text);

#endif
