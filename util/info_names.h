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

/* Those that fi_tostr has for numbers of this type, or for bits, and those of a list. */
struct info_names {
	const char *what;
	enum fi_type type;
	size_t values; /* how many to ask fi_tostr for */
	bool bits;
	const struct info_name *list;
	size_t count;
};

extern const struct info_names info_caps;
extern const struct info_names info_modes;
extern const struct info_names info_ep_types;
extern const struct info_names info_addr_formats;
extern const struct info_names info_tclasses;

/* Case does not matter. 0, or -1 after it has said on standard error which names there are. */
int info_names_find(const struct info_names *names, const char *text, uint64_t *value);
/* Names joined by '|'; their values are or'ed. */
int info_names_parse(const struct info_names *names, const char *text, uint64_t *value);

#endif
