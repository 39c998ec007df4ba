/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Loads the library under test, and ends the program if a call fails. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib.h"

void bench_die(const char *what, const char *why)
{
	fflush(stdout);
	fprintf(stderr, "error: %s: %s\n", what, why);
	exit(1);
}

int bench_number(const char *what, const char *text)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || value < 1 || value > 100000000)
		bench_die(what, "wants a number greater than 0");
	return (int)value;
}

static void *symbol(void *handle, const char *name, const char *version)
{
	void *address = dlvsym(handle, name, version);

	if (!address)
		bench_die(name, dlerror());
	return address;
}

void lib_load(struct lib *lib, const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);

	if (!handle)
		bench_die(path, dlerror());
	lib->getinfo = symbol(handle, "fi_getinfo", "FABRIC_1.3");
	lib->freeinfo = symbol(handle, "fi_freeinfo", "FABRIC_1.3");
	lib->dupinfo = symbol(handle, "fi_dupinfo", "FABRIC_1.3");
	lib->fabric = symbol(handle, "fi_fabric", "FABRIC_1.1");
	lib->strerror = symbol(handle, "fi_strerror", "FABRIC_1.0");
	lib->version = symbol(handle, "fi_version", "FABRIC_1.0");
}
