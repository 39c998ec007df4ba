/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The names that fi_info takes on its command line. */
#ifndef INFO_NAMES_H
#define INFO_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>

struct info_name {
	const char *name;
	uint64_t value;
};

/* The names that fi_tostr has for values or bits of a type, plus a list. */
struct info_names {
	const char *what;
	enum fi_type type;
	size_t values; /* number of values to try with fi_tostr */
	bool bits;
	const struct info_name *list;
	size_t count;
};

extern const struct info_names info_caps;
extern const struct info_names info_modes;
extern const struct info_names info_ep_types;
extern const struct info_names info_addr_formats;
extern const struct info_names info_tclasses;

/* Ignores case. Returns 0, or -1 after printing the valid names to standard error. */
int info_names_find(const struct info_names *names, const char *text, uint64_t *value);
/* Parses names joined by '|' and ORs their values. */
int info_names_parse(const struct info_names *names, const char *text, uint64_t *value);

#endif
